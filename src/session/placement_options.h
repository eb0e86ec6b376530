// What a session's options say of placement.
#pragma once
#include <memory>
#include <span>

#include "plan/placement.h"
#include "session/options.h"

namespace trunnion::session {

// By session.placement ("order", which is the default, or "cost") and session.placement_costs. `cpu` is the place of
// the CPU provider on the list.
Result<plan::PlacementOptions> placement_options(const Options& options,
                                                 std::span<const std::unique_ptr<ep::Provider>> providers, int cpu);

}  // namespace trunnion::session
