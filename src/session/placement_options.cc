#include "session/placement_options.h"

#include "base/error.h"
#include "base/thread_pool.h"

namespace trunnion::session {

Result<plan::PlacementOptions> placement_options(const Options& options,
                                                 std::span<const std::unique_ptr<ep::Provider>> providers, int cpu) {
  plan::PlacementOptions how;
  how.cpu = cpu;
  // One provider alone hands nothing over: its edges are kept for those who ask.
  how.values = providers.size() > 1 || options.flag("session.record_ep_graph_assignment_info");
  const auto mode = options.entry("session.placement").value_or("order");
  const auto costs = options.entry("session.placement_costs");
  if (mode != "order" && mode != "cost")
    return invalid_argument("configuration entry 'session.placement' must be order or cost, it is '{}'", mode);
  if (mode == "order") {
    if (costs)
      return invalid_argument(
          "configuration entry 'session.placement_costs' has a meaning only where 'session.placement' is cost");
    return how;
  }
  const int threads = options.intra_op_threads > 0 ? options.intra_op_threads : default_thread_count();
  std::vector<std::string> names;
  for (const auto& p : providers) {
    names.push_back(p->identity().name);
    how.costs.push_back(plan::assumed_costs(p->identity(), threads));
  }
  TRN_TRY(plan::read_costs(costs.value_or(""), names, how.costs));
  return how;
}

}  // namespace trunnion::session
