#include "plan/regions.h"

#include <algorithm>
#include <unordered_set>

#include "base/error.h"

namespace trunnion::plan {
namespace {

using Nodes = std::unordered_set<const ir::Node*>;

// fn(value) for everything that the node reads, by its bodies too.
template <class F>
void for_each_read(const ir::Node& n, F&& fn) {
  for (ir::Value* v : n.inputs())
    if (v) fn(v);
  for (const ir::Graph* body : n.bodies())
    for (const auto& c : body->captures()) fn(c.outer);
}

bool reads_from(const ir::Node& n, const Nodes& producers) {
  bool found = false;
  for_each_read(n, [&](const ir::Value* v) { found |= v->producer() && producers.contains(v->producer()); });
  return found;
}

// Nodes outside that stand between those of the region and need one of them, in order. Stops, and gives the node, at
// one of the region that needs one of those.
const ir::Node* dependents(const ep::Region& region, const Nodes& members, std::vector<const ir::Node*>& found) {
  Nodes outside;
  for (const ir::Node* n = region.nodes.front(); n != region.nodes.back()->next(); n = n->next()) {
    if (members.contains(n)) {
      if (!outside.empty() && reads_from(*n, outside)) return n;
    } else if (reads_from(*n, members) || reads_from(*n, outside)) {
      outside.insert(n);
      found.push_back(n);
    }
  }
  return nullptr;
}

}  // namespace

void find_ports(ir::Graph& graph, ep::Region& region) {
  const Nodes members(region.nodes.begin(), region.nodes.end());
  region.nodes.clear();
  for (const ir::Node* n = graph.first(); n; n = n->next())
    if (members.contains(n)) region.nodes.push_back(n);
  std::unordered_set<const ir::Value*> seen;
  for (const ir::Node* n : region.nodes) {
    for_each_read(*n, [&](ir::Value* v) {
      if (v->producer() && members.contains(v->producer())) return;
      if (v->is_constant() && !region.constants_are_inputs) return;
      if (seen.insert(v).second) region.inputs.push_back(v);
    });
    for (ir::Value* v : n->outputs()) {
      if (!v) continue;
      const auto outside = [&](const ir::Node* user) { return !members.contains(user); };
      if (v->output_uses() > 0 || std::ranges::any_of(v->users(), outside)) region.outputs.push_back(v);
    }
  }
}

Status check_convex(const ir::Graph&, const ep::Region& region) {
  const Nodes members(region.nodes.begin(), region.nodes.end());
  std::vector<const ir::Node*> found;
  if (const ir::Node* n = dependents(region, members, found))
    return error(Code::invalid_argument,
                 "the {} nodes cannot run as one: {} needs {}, which is not one of them and needs one of them",
                 region.nodes.size(), n->label(), found.back()->label());
  return {};
}

void fuse(ir::Graph& graph, const ep::Region& region, const ep::Fused& fused, const std::string& provider) {
  const Nodes members(region.nodes.begin(), region.nodes.end());
  std::vector<const ir::Node*> behind;
  dependents(region, members, behind);
  ir::Node* before = region.nodes.back()->next();
  std::vector<std::string> names;
  for (const ir::Value* v : region.outputs) names.push_back(v->name());
  const std::vector<std::string_view> views(names.begin(), names.end());
  ir::Node* one = graph.add_node(fused.name, provider, 1, region.inputs, views, {}, before, fused.name);
  one->def = fused.def;
  one->schema = fused.schema;
  for (const ir::Node* n : region.nodes) {
    if (n->origins.empty()) one->origins.push_back(n->name());
    one->origins.insert(one->origins.end(), n->origins.begin(), n->origins.end());
  }
  for (size_t k = 0; k < region.outputs.size(); ++k) {
    one->outputs()[k]->fact = region.outputs[k]->fact;
    graph.replace_uses(region.outputs[k], one->outputs()[k]);
  }
  for (const ir::Node* n : behind) graph.move_before(const_cast<ir::Node*>(n), before);
  for (size_t i = region.nodes.size(); i-- > 0;) graph.erase(const_cast<ir::Node*>(region.nodes[i]));
  for (size_t k = 0; k < names.size(); ++k) graph.rename(one->outputs()[k], names[k]);
}

}  // namespace trunnion::plan
