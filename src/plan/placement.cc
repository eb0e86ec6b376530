#include "plan/placement.h"

#include <unordered_map>

#include "base/error.h"
#include "plan/regions.h"

namespace trunnion::plan {

int Placement::count(int provider) const {
  int n = 0;
  for (const auto& p : nodes) n += p.provider == provider;
  return n;
}

namespace {

class Placer {
 public:
  Placer(std::span<const std::unique_ptr<ep::Provider>> providers, Placement& placement)
      : providers_(providers), placement_(placement) {}

  // A row for every node, before any of them becomes part of another.
  void record(const ir::Graph& graph) {
    auto& rows = rows_[&graph];
    rows.assign(static_cast<size_t>(graph.node_id_bound()), -1);
    for (const ir::Node* n = graph.first(); n; n = n->next()) {
      rows[static_cast<size_t>(n->id())] = static_cast<int>(placement_.nodes.size());
      placement_.nodes.push_back({n->label(), n->op_type(), n->domain(), n->name(), -1, -1, {}});
      for (const ir::Graph* body : n->bodies()) record(*body);
    }
  }

  Status place(ir::Graph& graph) {
    for (size_t i = 0; i < providers_.size(); ++i) {
      ep::Claims claims(graph.node_id_bound());
      TRN_TRY(providers_[i]->claim(graph, claims));
      for (const ir::Node* n = graph.first(); n; n = n->next())
        if (NodePlacement* at = open(*n); at && claims.taken(n)) at->provider = static_cast<int>(i);
      if (!claims.groups().empty()) compile(graph, static_cast<int>(i), claims);
      for (const ir::Node* n = graph.first(); n; n = n->next())
        if (NodePlacement* at = open(*n)) at->refused.push_back({placement_.providers[i], claims.reason(n)});
    }
    for (const ir::Node* n = graph.first(); n; n = n->next()) {
      if (const NodePlacement* at = open(*n)) {
        if (at->refused.size() == 1) return error(Code::not_implemented, "{}", at->refused[0].reason);
        std::string reasons;
        for (const auto& r : at->refused)
          reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", r.provider, r.reason);
        return error(Code::not_implemented, "{}: no provider can run it ({})", n->label(), reasons);
      }
      for (ir::Graph* body : n->bodies()) TRN_TRY(place(*body));
    }
    return {};
  }

 private:
  NodePlacement* row(const ir::Node& n) {
    const auto& rows = rows_[n.graph()];
    const auto id = static_cast<size_t>(n.id());
    return id < rows.size() && rows[id] >= 0 ? &placement_.nodes[static_cast<size_t>(rows[id])] : nullptr;
  }
  // Of a node that no provider has yet.
  NodePlacement* open(const ir::Node& n) {
    NodePlacement* at = row(n);
    return at && at->provider < 0 ? at : nullptr;
  }

  void compile(ir::Graph& graph, int provider, ep::Claims& claims) {
    ep::Provider& p = *providers_[static_cast<size_t>(provider)];
    const auto refuse = [&](const ep::Region& region, const std::string& reason) {
      for (const ir::Node* n : region.nodes) claims.refuse(n, reason);
    };
    std::vector<ep::Region> regions;
    std::unordered_map<const ir::Node*, bool> claimed;
    for (ep::Region& region : claims.groups()) {
      std::erase_if(region.nodes, [&](const ir::Node* n) { return !open(*n) || !claimed.emplace(n, true).second; });
      if (region.nodes.empty()) continue;
      find_ports(graph, region);
      if (const Status s = check_convex(graph, region); !s.ok())
        refuse(region, s.message());
      else
        regions.push_back(std::move(region));
    }
    if (regions.empty()) return;
    auto made = p.compile_regions(graph, regions);
    for (size_t k = 0; k < regions.size(); ++k) {
      if (made[k].ok()) {
        ep::Region region{regions[k].nodes, regions[k].constants_are_inputs, {}, {}};
        find_ports(graph, region);  // an earlier one may have become one node: then others make what this one reads
        const Status s = check_convex(graph, region);
        if (s.ok()) {
          for (const ir::Node* n : region.nodes) hold(*n, provider);
          ++placement_.regions;
          fuse(graph, region, *made[k], p.identity().name);
          if (made[k]->context && !graph.owner()) placement_.contexts.emplace(made[k]->name, made[k]->context);
        } else {
          refuse(region, s.message());
        }
      } else {
        refuse(regions[k], made[k].status().message());
      }
    }
  }

  void hold(const ir::Node& n, int provider) {
    if (NodePlacement* at = row(n)) {
      at->provider = provider;
      at->region = placement_.regions;
    }
    for (const ir::Graph* body : n.bodies())
      for (const ir::Node* inner = body->first(); inner; inner = inner->next()) hold(*inner, provider);
  }

  std::span<const std::unique_ptr<ep::Provider>> providers_;
  Placement& placement_;
  std::unordered_map<const ir::Graph*, std::vector<int>> rows_;
};

}  // namespace

Result<Placement> place(ir::Graph& graph, std::span<const std::unique_ptr<ep::Provider>> providers) {
  Placement placement;
  for (const auto& p : providers) placement.providers.push_back(p->identity().name);
  Placer placer(providers, placement);
  placer.record(graph);
  TRN_TRY(placer.place(graph));
  return placement;
}

}  // namespace trunnion::plan
