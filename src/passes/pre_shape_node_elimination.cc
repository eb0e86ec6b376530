// PreShapeNodeElimination: the shape of a Cast is the shape of what it casts.
#include "passes/clean.h"
#include "passes/rules.h"

namespace trunnion::passes {

Status pre_shape_node_elimination(ir::Graph& graph, PassContext& context) {
  ir::Rewriter rw(graph, "PreShapeNodeElimination", context.log);
  for (ir::Node* n = graph.first(); n; n = n->next()) {
    if (!is_op(n, "Shape") && !is_op(n, "Size")) continue;
    ir::Node* cast = n->input(0) ? n->input(0)->producer() : nullptr;
    if (!is_op(cast, "Cast") || !cast->input(0)) continue;
    rw.begin("shape of a cast", {n});
    rw.set_input(n, 0, cast->input(0));
  }
  context.changes += rw.changes();
  return {};
}

}  // namespace trunnion::passes
