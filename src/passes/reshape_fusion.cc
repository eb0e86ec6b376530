// ReshapeFusion: a Reshape whose target is computed (from a Shape, usually) gets a constant target when the result's
// shape is known well enough: integers, at most one -1, or zeros for dimensions that the input has at the same place.
#include "passes/clean.h"
#include "passes/rules.h"

namespace trunnion::passes {
namespace {

// The constant target that means the same for every size of the symbolic dimensions, empty batches included; nullopt
// when there is none.
std::optional<std::vector<int64_t>> constant_target(const ir::Fact& in, const ir::Fact& out) {
  if (!out.has_rank()) return std::nullopt;
  std::vector<int64_t> target;
  int open = 0, open_at = -1;
  bool copies = true;  // all symbolic dimensions stand at the same place in the input
  for (int i = 0; i < out.rank(); ++i) {
    if (out.dim(i).is_int()) {
      if (out.dim(i).value() <= 0) return std::nullopt;  // a zero would mean "copy"
      target.push_back(out.dim(i).value());
      continue;
    }
    ++open;
    open_at = i;
    copies = copies && in.has_rank() && i < in.rank() && in.dim(i) == out.dim(i);
    target.push_back(0);
  }
  if (open == 1)
    target[static_cast<size_t>(open_at)] = -1;
  else if (open > 1 && !copies)
    return std::nullopt;  // -1 beside copied dimensions has no meaning when one of them is zero
  return target;
}

}  // namespace

Status reshape_fusion(ir::Graph& graph, PassContext& context) {
  ir::Rewriter rw(graph, "ReshapeFusion", context.log);
  for (ir::Node* n = graph.first(); n; n = n->next()) {
    if (!is_op(n, "Reshape") || n->inputs().size() != 2 || !n->input(0) || !n->input(1) || n->input(1)->is_constant())
      continue;
    const auto target = constant_target(n->input(0)->fact, n->output(0)->fact);
    if (!target) continue;
    TRN_ASSIGN(Tensor t, int64_tensor(*target));
    rw.begin("constant target", {n});
    rw.set_input(n, 1, rw.constant(n->output(0)->name() + "_shape", std::move(t)));
    rw.remove_attr(n, "allowzero");  // zeros of the new target mean "copy"
  }
  context.changes += rw.changes();
  return {};
}

}  // namespace trunnion::passes
