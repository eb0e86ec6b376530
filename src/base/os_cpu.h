// Where threads run right now; see os.h for the processors that they may use.
#pragma once

namespace trunnion::os {

// The logical processor that the calling thread runs on; -1 where unknown. Costs about 10 ns.
int current_cpu();

// Moves the calling thread to another of the processors it may use, when it runs on `cpu` and there is another one.
// Where it may run stays what it was.
void leave_cpu(int cpu);

}  // namespace trunnion::os
