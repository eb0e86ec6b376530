#include "abi/plugin/subgraph.h"

#include <unordered_map>

#include "base/error.h"

namespace trunnion::abi {

Result<Subgraph> subgraph_of(const ep::Region& region) {
  Subgraph sub;
  sub.graph = std::make_unique<ir::Graph>();
  ir::Graph& to = *sub.graph;
  std::unordered_map<const ir::Value*, ir::Value*> map;
  const auto constant = [&](const ir::Value* v) {
    auto& made = map[v];
    if (made) return made;
    made = to.add_constant(v->name(), v->constant());
    made->fact = v->fact;
    return made;
  };
  to.name = region.nodes.front()->graph()->name;
  for (const ir::Value* v : region.inputs) {
    if (!v->is_constant()) map[v] = to.add_input(v->name(), v->fact);
    sub.inputs.push_back(v->is_constant() ? constant(v) : map[v]);
  }
  for (const ir::Node* n : region.nodes) {
    if (!n->bodies().empty())
      return not_implemented("{} has bodies, and cannot become part of a graph of its own", n->label());
    std::vector<ir::Value*> inputs;
    for (const ir::Value* v : n->inputs()) inputs.push_back(!v ? nullptr : v->is_constant() ? constant(v) : map.at(v));
    std::vector<std::string_view> names;
    for (const ir::Value* v : n->outputs()) names.push_back(v ? std::string_view(v->name()) : std::string_view());
    ir::Node* made = to.add_node(n->op_type(), n->domain(), n->opset(), inputs, names,
                                 {n->attrs().begin(), n->attrs().end()}, nullptr, n->name());
    made->schema = n->schema;
    made->def = n->def;
    made->origins = n->origins;
    for (size_t k = 0; k < n->outputs().size(); ++k) {
      if (!n->outputs()[k]) continue;
      made->outputs()[k]->fact = n->outputs()[k]->fact;
      map[n->outputs()[k]] = made->outputs()[k];
    }
  }
  for (const ir::Value* v : region.outputs) {
    sub.outputs.push_back(map.at(v));
    to.add_output(map.at(v));
  }
  return sub;
}

}  // namespace trunnion::abi
