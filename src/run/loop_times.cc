#include "run/loop_times.h"

#include <algorithm>

#include "base/os.h"
#include "base/os_core.h"

namespace trunnion::run {

void LoopTimes::add(int64_t ns) {
  const uint64_t id = os::thread_id();
  const int core = os::current_core();
  std::lock_guard guard(mutex);
  auto it = std::find_if(threads.begin(), threads.end(), [&](const ThreadShare& t) { return t.thread == id; });
  if (it == threads.end()) it = threads.insert(threads.end(), ThreadShare{id});
  it->core = core;
  ++it->ranges;
  it->ns += ns;
}

}  // namespace trunnion::run
