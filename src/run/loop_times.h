// LoopTimes: who did how much in the loops of one step, for a profile.
#pragma once
#include <mutex>
#include <vector>

#include "run/executor.h"

namespace trunnion::run {

struct LoopTimes {
  std::mutex mutex;
  std::vector<int64_t> grains;
  std::vector<ThreadShare> threads;

  void add(int64_t ns);  // a range that the calling thread has done; from any thread
};

}  // namespace trunnion::run
