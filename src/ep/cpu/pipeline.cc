// The CPU provider's lowering: what runs over its nodes after placement, in order, by optimization level.
#include "ep/cpu/cpu_provider.h"

namespace trunnion::ep {

std::vector<passes::Pass> cpu_pipeline(Level) { return {}; }

}  // namespace trunnion::ep
