// ConstantNodes: the output of a Constant node becomes a constant of the graph.
#include "ops/catalog.h"
#include "passes/clean.h"
#include "passes/rules.h"

namespace trunnion::passes {
namespace {

// The tensor that the node makes; invalid for what only the operator itself can read (an attribute of a function, ...).
Tensor tensor_of(const ir::Node& n) {
  if (const Tensor* t = n.tensor_attr("value")) return *t;  // shares the elements
  if (!n.def || n.attrs().size() != 1 || !n.attrs()[0].ref.empty()) return {};
  auto values = ops::evaluate(n, {});
  return values.ok() && values->size() == 1 && (*values)[0].is_tensor() ? (*values)[0].tensor() : Tensor();
}

}  // namespace

Status constant_nodes(ir::Graph& graph, PassContext& context) {
  ir::Rewriter rw(graph, "ConstantNodes", context.log);
  for (ir::Node* n = graph.first(); n;) {
    ir::Node* next = n->next();
    ir::Value* out = n->output(0);
    if (is_op(n, "Constant") && out && !out->users().empty()) {
      if (Tensor t = tensor_of(*n); t.valid()) {
        rw.begin("constant", {n});
        rw.replace_by_constant(out, std::move(t));
        rw.erase_if_unused(n);
      }
    }
    n = next;
  }
  context.changes += rw.changes();
  return {};
}

}  // namespace trunnion::passes
