// Which logical processor a thread runs on.
#pragma once

namespace trunnion::os {

int current_core();  // of the calling thread at this moment; -1 where the system does not say. About 10 ns

// Moves the calling thread to another of the processors that it may use, when there is one. Where it may run stays what
// it was.
void leave_core(int core);

}  // namespace trunnion::os
