#include "plan/placement.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "plan/open_functions.h"
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
  Placer(std::span<const std::unique_ptr<ep::Provider>> providers, Placement& placement,
         const PlacementOptions& options)
      : providers_(providers), placement_(placement), options_(options) {}

  // A row for every node, before any of them becomes part of another.
  void record(const ir::Graph& graph, int owner = -1) {
    auto& rows = rows_[&graph];
    rows.assign(static_cast<size_t>(graph.node_id_bound()), -1);
    for (const ir::Node* n = graph.first(); n; n = n->next()) {
      const int row = static_cast<int>(placement_.nodes.size());
      rows[static_cast<size_t>(n->id())] = row;
      NodePlacement& at = placement_.nodes.emplace_back();
      at.node = n->label();
      at.op_type = n->op_type();
      at.domain = n->domain();
      at.name = n->name();
      at.owner = owner;
      if (options_.values) {
        for (const ir::Value* v : n->inputs())
          if (v && !v->is_constant()) at.inputs.push_back(value(*v, -1));
        for (const ir::Value* v : n->outputs())
          if (v) at.outputs.push_back(value(*v, row));
      }
      for (const ir::Graph* body : n->bodies()) {
        if (options_.values)
          for (const auto& c : body->captures()) {
            if (c.outer->is_constant()) continue;
            values_.emplace(c.inner, value(*c.outer, -1));
            placement_.nodes[static_cast<size_t>(row)].inputs.push_back(values_[c.outer]);
          }
        record(*body, row);
      }
    }
    if (options_.values && owner < 0)
      for (const ir::Value* v : graph.outputs())
        if (const auto it = values_.find(v); it != values_.end())
          placement_.values[static_cast<size_t>(it->second)].output = true;
  }

  // Once every node has its provider: who hands which values to whom.
  void find_crossings() {
    std::set<std::pair<int, int>> seen;
    for (const NodePlacement& n : placement_.nodes) {
      for (const int v : n.inputs) {
        const int from = maker(placement_.values[static_cast<size_t>(v)], n);
        if (from != n.provider && seen.emplace(v, n.provider).second) cross(v, from, n.provider);
      }
      for (const int v : n.outputs)
        if (placement_.values[static_cast<size_t>(v)].output) cross(v, n.provider, -1);
    }
  }

  Status place(ir::Graph& graph) {
    for (size_t i = 0; i < providers_.size(); ++i) {
      ep::Claims claims(graph.node_id_bound());
      TRN_TRY(providers_[i]->claim(graph, claims));
      const Nodes losing = by_cost(i) ? judge_claims(graph, i, claims) : Nodes();
      for (const ir::Node* n = graph.first(); n; n = n->next())
        if (NodePlacement* at = open(*n); at && claims.taken(n) && !losing.contains(n))
          at->provider = static_cast<int>(i);
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

  using Nodes = std::unordered_set<const ir::Node*>;

  bool by_cost(size_t provider) const {
    return !options_.costs.empty() && static_cast<int>(provider) != options_.cpu && options_.cpu >= 0;
  }

  // Takes groups that lose out of the claims, and gives the nodes that lose among those that were taken one by one.
  // What the CPU cannot run stays, whatever it costs.
  Nodes judge_claims(ir::Graph& graph, size_t provider, ep::Claims& claims) {
    ep::Claims cpu(graph.node_id_bound());
    if (!providers_[static_cast<size_t>(options_.cpu)]->claim(graph, cpu).ok()) return {};
    Nodes single;
    for (const ir::Node* n = graph.first(); n; n = n->next())
      if (claims.taken(n) && open(*n)) single.insert(n);
    std::vector<ep::Region> islands = islands_of(graph, single);
    const size_t singles = islands.size();
    for (ep::Region& r : claims.groups()) islands.push_back(r);
    for (ep::Region& r : islands) {
      std::erase_if(r.nodes, [&](const ir::Node* n) { return !open(*n); });
      r.inputs.clear();
      r.outputs.clear();
      find_ports(graph, r);
    }
    std::vector<ep::Region> judged;
    std::vector<size_t> places;
    for (size_t k = 0; k < islands.size(); ++k) {
      const auto& nodes = islands[k].nodes;
      if (nodes.empty() || !std::ranges::all_of(nodes, [&](const ir::Node* n) { return cpu.taken(n); })) continue;
      judged.push_back(islands[k]);
      places.push_back(k);
    }
    const auto verdicts = judge(judged, providers_[provider]->identity(), options_.costs[provider],
                                options_.costs[static_cast<size_t>(options_.cpu)]);
    Nodes losing;
    for (size_t k = 0; k < verdicts.size(); ++k) {
      placement_.verdicts.push_back(verdicts[k]);
      placement_.verdicts.back().provider = static_cast<int>(provider);
      if (verdicts[k].kept) continue;
      for (const ir::Node* n : islands[places[k]].nodes) {
        claims.refuse(n, verdicts[k].text());
        losing.insert(n);
      }
      if (places[k] >= singles) claims.groups()[places[k] - singles].nodes.clear();
    }
    std::erase_if(claims.groups(), [](const ep::Region& r) { return r.nodes.empty(); });
    return losing;
  }

  // The row of a value, which is made where it is met first.
  int value(const ir::Value& v, int producer) {
    const auto [it, fresh] = values_.emplace(&v, static_cast<int>(placement_.values.size()));
    if (fresh) placement_.values.push_back({v.name(), v.fact.type, producer, false});
    return it->second;
  }

  // The provider whose memory a value is in when `reader` wants it. What a body is given comes from its owner.
  int maker(const PlacedValue& v, const NodePlacement& reader) const {
    const int node = v.producer >= 0 ? v.producer : reader.owner;
    return node >= 0 ? placement_.nodes[static_cast<size_t>(node)].provider : -1;
  }

  void cross(int value, int from, int to) {
    const auto own_memory = [&](int p) { return p >= 0 && placement_.identities[static_cast<size_t>(p)].own_memory; };
    const auto at_host = [&](int p) { return p < 0 || p == options_.cpu; };
    if (at_host(from) && at_host(to)) return;  // the caller's memory is the CPU's
    placement_.crossings.push_back({value, from, to, own_memory(from) || own_memory(to)});
  }

  // A group that cannot be compiled is tried in halves, so that only the nodes that stand in the way are lost; not
  // without end, and not when it is the provider that does not work.
  struct Attempts {
    int good = 0, bad = 0;
    bool go_on() const { return bad < (good ? 64 : 24); }
  };

  // Left over from a group: not worth two crossings; and QNN 2.7 dies over an Unsqueeze alone.
  static bool computes_nothing(const ep::Region& region) {
    constexpr std::string_view kMoves[] = {"Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"};
    return std::ranges::all_of(region.nodes, [&](const ir::Node* n) {
      return n->domain().empty() && std::ranges::find(kMoves, n->op_type()) != std::end(kMoves);
    });
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
    Attempts attempts;
    while (!regions.empty()) {
      const auto made = p.compile_regions(graph, regions);
      std::vector<ep::Region> halves;
      for (size_t k = 0; k < regions.size(); ++k) {
        ++(made[k].ok() ? attempts.good : attempts.bad);
        if (made[k].ok()) {
          ep::Region region{regions[k].nodes, regions[k].constants_are_inputs, {}, {}};
          find_ports(graph, region);  // an earlier one may have become one node: then others make what this one reads
          if (const Status s = check_convex(graph, region); !s.ok()) {
            refuse(region, s.message());
            continue;
          }
          for (const ir::Node* n : region.nodes) hold(*n, provider);
          ++placement_.regions;
          placement_.engines.push_back(made[k]->engine);
          fuse(graph, region, *made[k], p.identity().name);
          if (made[k]->context && !graph.owner()) placement_.contexts.emplace(made[k]->name, made[k]->context);
        } else if (regions[k].nodes.size() > 1 && attempts.go_on()) {
          const auto middle = regions[k].nodes.begin() + static_cast<std::ptrdiff_t>(regions[k].nodes.size() / 2);
          halves.push_back({{regions[k].nodes.begin(), middle}, regions[k].constants_are_inputs, {}, {}});
          halves.push_back({{middle, regions[k].nodes.end()}, regions[k].constants_are_inputs, {}, {}});
        } else {
          refuse(regions[k], made[k].status().message());
        }
      }
      // Once all of this round are nodes of the graph.
      for (ep::Region& half : halves) find_ports(graph, half);
      std::erase_if(halves, [&](const ep::Region& half) {
        Status s = check_convex(graph, half);
        if (s.ok() && computes_nothing(half))
          s = Status(Code::fail, "the group that it was in does not compile, and alone it computes nothing");
        if (!s.ok()) refuse(half, s.message());
        return !s.ok();
      });
      regions = std::move(halves);
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
  const PlacementOptions& options_;
  std::unordered_map<const ir::Graph*, std::vector<int>> rows_;
  std::unordered_map<const ir::Value*, int> values_;
};

}  // namespace

Result<Placement> place(ir::Graph& graph, std::span<const std::unique_ptr<ep::Provider>> providers,
                        const PlacementOptions& options) {
  Placement placement;
  for (const auto& p : providers) {
    placement.providers.push_back(p->identity().name);
    placement.identities.push_back(p->identity());
  }
  TRN_TRY(open_functions(graph, providers, options.cpu));
  Placer placer(providers, placement, options);
  placer.record(graph);
  // Of the graph as it was given to them.
  std::unique_ptr<ir::Graph> before;
  if (options.compatibility) before = graph.clone();
  TRN_TRY(placer.place(graph));
  if (!placement.contexts.empty() && before)
    for (const auto& p : providers)
      if (std::string text = p->compatibility_info(*before); !text.empty())
        placement.compatibility.emplace(p->identity().name, std::move(text));
  if (options.values) placer.find_crossings();
  return placement;
}

}  // namespace trunnion::plan
