// EliminateSlice: a Slice with steps of one whose result has the input's shape takes everything.
#include "passes/clean.h"
#include "passes/rules.h"

namespace trunnion::passes {
namespace {

bool takes_all(const ir::Node& n) {
  if (!is_op(&n, "Slice") || !n.input(0) || !same_type(n.input(0)->fact, n.output(0)->fact)) return false;
  const ir::Value* steps = n.input(4);
  return !steps || (steps->is_constant() && all_elements_are(steps->constant(), 1));
}

}  // namespace

Status eliminate_slice(ir::Graph& graph, PassContext& context) {
  ir::Rewriter rw(graph, "EliminateSlice", context.log);
  TRN_TRY(
      bypass_all(graph, rw, "slice of everything", [](ir::Node& n) { return takes_all(n) ? n.input(0) : nullptr; }));
  context.changes += rw.changes();
  return {};
}

}  // namespace trunnion::passes
