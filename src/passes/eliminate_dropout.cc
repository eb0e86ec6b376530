// EliminateDropout: a Dropout that does nothing at inference is removed.
#include "passes/clean.h"
#include "passes/rules.h"

namespace trunnion::passes {
namespace {

bool does_nothing(const ir::Node& n) {
  if (!is_op(&n, "Dropout")) return false;
  if (const ir::Value* mask = n.output(1); mask && !mask->unused()) return false;
  if (n.since() < 7) return n.attr("is_test", 0) != 0;
  if (n.since() < 12 || !n.input(2)) return true;
  const Tensor* training = constant_input(n, 2);
  return training && training->dtype() == DType::boolean && training->count() == 1 && !*training->data<bool>();
}

}  // namespace

Status eliminate_dropout(ir::Graph& graph, PassContext& context) {
  ir::Rewriter rw(graph, "EliminateDropout", context.log);
  TRN_TRY(bypass_all(graph, rw, "dropout", [](ir::Node& n) { return does_nothing(n) ? n.input(0) : nullptr; }));
  context.changes += rw.changes();
  return {};
}

}  // namespace trunnion::passes
