// Linux: the processor that the calling thread is on.
#include <sched.h>

#include "base/os_core.h"

namespace trunnion::os {

int current_core() { return sched_getcpu(); }

void leave_core(int cpu) {
  constexpr int kMostCpus = 4096;
  union {
    cpu_set_t head;
    unsigned char bytes[kMostCpus / 8];
  } allowed, others;
  if (cpu < 0 || cpu >= kMostCpus || sched_getaffinity(0, sizeof allowed, &allowed.head) != 0) return;
  others = allowed;
  CPU_CLR_S(cpu, sizeof others, &others.head);
  if (CPU_COUNT_S(sizeof others, &others.head) == 0) return;
  // The thread has moved when the first call returns, and the second does not move it back.
  if (sched_setaffinity(0, sizeof others, &others.head) == 0) (void)sched_setaffinity(0, sizeof allowed, &allowed.head);
}

}  // namespace trunnion::os
