// ExpandElimination: an Expand whose result has the input's shape repeats nothing.
#include "passes/clean.h"
#include "passes/rules.h"

namespace trunnion::passes {

Status expand_elimination(ir::Graph& graph, PassContext& context) {
  ir::Rewriter rw(graph, "ExpandElimination", context.log);
  TRN_TRY(bypass_all(graph, rw, "expand to the same shape", [](ir::Node& n) {
    return is_op(&n, "Expand") && same_type(n.input(0)->fact, n.output(0)->fact) ? n.input(0) : nullptr;
  }));
  context.changes += rw.changes();
  return {};
}

}  // namespace trunnion::passes
