// What the sessions of a process share: the log and the thread pool.
#pragma once
#include <memory>

#include "base/log.h"
#include "base/thread_pool.h"

namespace trunnion::session {

struct Environment {
  Logger logger;
  std::shared_ptr<ThreadPool> pool;  // null: ThreadPool::shared() when first needed
};

}  // namespace trunnion::session
