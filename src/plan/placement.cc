#include "plan/placement.h"

#include "base/error.h"

namespace trunnion::plan {

int Placement::count(int provider) const {
  int n = 0;
  for (const auto& p : nodes) n += p.provider == provider;
  return n;
}

namespace {

Status place_graph(const ir::Graph& graph, std::span<const std::unique_ptr<ep::Provider>> providers,
                   Placement& placement) {
  std::vector<ep::Claims> claims;
  for (const auto& p : providers) {
    claims.emplace_back(graph.node_id_bound());
    TRN_TRY(p->claim(graph, claims.back()));
  }
  for (const ir::Node* n = graph.first(); n; n = n->next()) {
    NodePlacement at{n->label(), n->op_type(), n->domain(), n->name(), -1, {}};
    for (size_t i = 0; i < providers.size() && at.provider < 0; ++i) {
      if (claims[i].taken(n))
        at.provider = static_cast<int>(i);
      else
        at.refused.push_back({placement.providers[i], claims[i].reason(n)});
    }
    if (at.provider < 0) {
      if (at.refused.size() == 1) return error(Code::not_implemented, "{}", at.refused[0].reason);
      std::string reasons;
      for (const auto& r : at.refused)
        reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", r.provider, r.reason);
      return error(Code::not_implemented, "{}: no provider can run it ({})", n->label(), reasons);
    }
    placement.nodes.push_back(std::move(at));
    for (const ir::Graph* body : n->bodies()) TRN_TRY(place_graph(*body, providers, placement));
  }
  return {};
}

}  // namespace

Result<Placement> place(const ir::Graph& graph, std::span<const std::unique_ptr<ep::Provider>> providers) {
  Placement placement;
  for (const auto& p : providers) placement.providers.push_back(p->identity().name);
  TRN_TRY(place_graph(graph, providers, placement));
  return placement;
}

}  // namespace trunnion::plan
