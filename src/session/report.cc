// What a session tells of itself: placement as JSON and in one line, the graph as text.
#include <map>
#include <set>
#include <utility>

#include "base/error.h"
#include "ir/text.h"
#include "session/session.h"

namespace trunnion::session {

std::string Session::placement_json() const {
  std::string out = "{\"providers\":[";
  for (size_t i = 0; i < placement_.providers.size(); ++i)
    out += fmt::format("{}{{\"name\":{},\"nodes\":{}}}", i ? "," : "", json_text(placement_.providers[i]),
                       placement_.count(static_cast<int>(i)));
  out += "],\"nodes\":[";
  for (size_t i = 0; i < placement_.nodes.size(); ++i) {
    const auto& n = placement_.nodes[i];
    out += fmt::format("{}{{\"name\":{},\"op_type\":{},\"domain\":{},\"provider\":{}", i ? "," : "", json_text(n.name),
                       json_text(n.op_type), json_text(n.domain),
                       json_text(n.provider < 0 ? "" : placement_.providers[static_cast<size_t>(n.provider)]));
    if (n.region >= 0) out += fmt::format(",\"region\":{}", n.region);
    out += ",\"refused\":[";
    for (size_t k = 0; k < n.refused.size(); ++k)
      out += fmt::format("{}{{\"provider\":{},\"reason\":{}}}", k ? "," : "", json_text(n.refused[k].provider),
                         json_text(n.refused[k].reason));
    out += "]}";
  }
  return out + "]}";
}

std::string Session::placement_summary() const {
  std::string parts;
  for (size_t i = 0; i < placement_.providers.size(); ++i) {
    parts += fmt::format("{}{} {}", i ? ", " : "", placement_.count(static_cast<int>(i)), placement_.providers[i]);
    std::set<int> regions;
    for (const auto& n : placement_.nodes)
      if (n.provider == static_cast<int>(i) && n.region >= 0) regions.insert(n.region);
    if (!regions.empty()) parts += fmt::format(" in {} region{}", regions.size(), regions.size() == 1 ? "" : "s");
  }
  std::string out =
      fmt::format("{} node{}: {}", placement_.nodes.size(), placement_.nodes.size() == 1 ? "" : "s", parts);
  if (placement_.providers.size() < 2) return out;
  // What the first provider on the list did not take, by operator and reason.
  std::map<std::pair<std::string, std::string>, int> left;
  for (const auto& n : placement_.nodes)
    if (n.provider > 0 && !n.refused.empty()) ++left[{n.op_type, n.refused[0].reason}];
  std::string reasons;
  for (const auto& [what, count] : left)
    reasons += fmt::format("{}{} {}: {}", reasons.empty() ? "" : "; ", count, what.first, what.second);
  return left.empty() ? out : fmt::format("{} (not on {}: {})", out, placement_.providers[0], reasons);
}

std::string Session::graph_text() const { return ir::print(*model_->graph, {.inner_types = true, .origins = true}); }

}  // namespace trunnion::session
