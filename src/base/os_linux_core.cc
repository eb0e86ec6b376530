// Linux: the processor that the calling thread is on.
#include <sched.h>

#include "base/os_core.h"

namespace trunnion::os {

int current_core() { return sched_getcpu(); }

}  // namespace trunnion::os
