// ConstantIf: an If whose condition is known is replaced by the nodes of the branch that it takes.
#include "passes/clean.h"
#include "passes/rules.h"

namespace trunnion::passes {

Status constant_if(ir::Graph& graph, PassContext& context) {
  ir::Rewriter rw(graph, "ConstantIf", context.log);
  for (ir::Node* n = graph.first(); n;) {
    ir::Node* next = n->next();
    const Tensor* condition = is_op(n, "If") ? constant_input(*n, 0) : nullptr;
    ir::Graph* body = nullptr;
    if (condition && condition->dtype() == DType::boolean && condition->count() == 1)
      body = n->graph_attr(*condition->data<bool>() ? "then_branch" : "else_branch");
    if (body && body->inputs().empty() && body->outputs().size() == n->outputs().size()) {
      rw.begin("inline the branch taken", {n});
      const auto results = rw.inline_body(n, *body);
      for (size_t k = 0; k < results.size(); ++k)
        if (ir::Value* old = n->output(static_cast<int>(k)); old && !old->unused())
          rw.replace_or_copy(old, results[k], n, n->opset());
      rw.erase(n);
    }
    n = next;
  }
  context.changes += rw.changes();
  return {};
}

}  // namespace trunnion::passes
