#include "plan/open_functions.h"

#include <algorithm>
#include <unordered_set>

#include "ops/catalog.h"
#include "passes/open_function.h"

namespace trunnion::plan {
namespace {

using Nodes = std::unordered_set<const ir::Node*>;

// What any of the providers takes.
Nodes taken_by(const ir::Graph& graph, std::span<const std::unique_ptr<ep::Provider>> providers) {
  Nodes taken;
  for (const auto& p : providers) {
    ep::Claims claims(graph.node_id_bound());
    if (!p->claim(graph, claims).ok()) continue;
    for (const ir::Node* n = graph.first(); n; n = n->next())
      if (claims.taken(n)) taken.insert(n);
    for (const ep::Region& r : claims.groups()) taken.insert(r.nodes.begin(), r.nodes.end());
  }
  return taken;
}

// The node alone, written out, in a graph of its own; null when that cannot be.
std::unique_ptr<ir::Graph> trial_of(const ir::Node& n) {
  auto graph = std::make_unique<ir::Graph>();
  std::vector<ir::Value*> inputs;
  for (const ir::Value* v : n.inputs()) {
    if (!v)
      inputs.push_back(nullptr);
    else if (v->is_constant())
      inputs.push_back(graph->add_constant(v->name(), v->constant()));
    else
      inputs.push_back(graph->add_input(v->name(), v->fact));
    if (v) inputs.back()->fact = v->fact;
  }
  std::vector<std::string_view> names;
  for (const ir::Value* v : n.outputs()) names.push_back(v ? std::string_view(v->name()) : std::string_view());
  ir::Node* made = graph->add_node(n.op_type(), n.domain(), n.opset(), inputs, names,
                                   {n.attrs().begin(), n.attrs().end()}, nullptr, n.name());
  made->schema = n.schema;
  made->def = n.def;
  for (size_t k = 0; k < n.outputs().size(); ++k) {
    if (!n.outputs()[k]) continue;
    made->outputs()[k]->fact = n.outputs()[k]->fact;
    graph->add_output(made->outputs()[k]);
  }
  if (!passes::open_function(made, nullptr).ok() || !ops::resolve(*graph).ok() || !ops::infer(*graph).ok())
    return nullptr;
  return graph;
}

}  // namespace

Status open_functions(ir::Graph& graph, std::span<const std::unique_ptr<ep::Provider>> providers, int cpu) {
  const auto ahead = providers.first(static_cast<size_t>(std::max(cpu, 0)));
  std::vector<ir::Node*> candidates;
  for (ir::Node* n = graph.first(); n; n = n->next()) {
    for (ir::Graph* body : n->bodies()) TRN_TRY(open_functions(*body, providers, cpu));
    if (!ahead.empty() && passes::can_open(*n)) candidates.push_back(n);
  }
  if (candidates.empty()) return {};
  const Nodes whole = taken_by(graph, ahead);
  bool changed = false;
  for (ir::Node* n : candidates) {
    if (whole.contains(n)) continue;
    const auto trial = trial_of(*n);
    if (!trial) continue;
    const Nodes parts = taken_by(*trial, ahead);
    if (static_cast<int>(parts.size()) * 2 < trial->node_count()) continue;  // the CPU does it better in one piece
    TRN_TRY(passes::open_function(n, nullptr));
    changed = true;
  }
  if (!changed) return {};
  TRN_TRY(ops::resolve(graph));
  return ops::infer(graph);
}

}  // namespace trunnion::plan
