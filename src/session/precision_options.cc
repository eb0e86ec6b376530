#include "session/precision_options.h"

#include <set>

#include "base/edit_distance.h"
#include "ir/graph.h"

namespace trunnion::session {

Result<PrecisionChoice> precision_options(const Options& options, const ir::Graph& graph, const Logger& logger) {
  const std::string_view level = options.entry("precision").value_or("");
  const std::string_view nodes = options.entry("precision.nodes").value_or("");
  if (auto alone = PrecisionChoice::parse(level, ""); !alone.ok())
    return alone.status().with_context("session configuration precision");
  auto choice = PrecisionChoice::parse(level, nodes);
  if (!choice.ok()) return choice.status().with_context("session configuration precision.nodes");
  if (choice->nodes().empty()) return choice;
  std::set<std::string, std::less<>> known;
  graph.for_each_node_deep([&](ir::Node* n) {
    known.insert(n->name());
    known.insert(n->origins.begin(), n->origins.end());
  });
  known.erase("");
  const std::vector<std::string_view> names(known.begin(), known.end());
  for (const auto& [name, precision] : choice->nodes()) {
    if (known.contains(name)) continue;
    const std::string text = fmt::format("precision.nodes names '{}', which has no effect: no node of that name runs{}",
                                         name, did_you_mean(name, names));
    if (options.flag("session.strict_config")) return invalid_argument("{}", text);
    TRN_LOG(logger, warning, "{}", text);
  }
  return choice;
}

}  // namespace trunnion::session
