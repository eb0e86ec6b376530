// Which logical processor a thread runs on.
#pragma once

namespace trunnion::os {

int current_core();  // of the calling thread at this moment; -1 where the system does not say

}  // namespace trunnion::os
