// What the sessions of a process share: the log, the thread pool, packed operands.
#pragma once
#include <memory>

#include "base/log.h"
#include "base/thread_pool.h"

namespace trunnion::session {

class PackStore;

struct Environment {
  Logger logger;
  std::shared_ptr<ThreadPool> pool;  // null: ThreadPool::shared() when first needed
  std::shared_ptr<PackStore> packs;  // null: sessions share no packed operands
  bool flush_denormals = false;      // the pool's threads do, and so do their callers
};

}  // namespace trunnion::session
