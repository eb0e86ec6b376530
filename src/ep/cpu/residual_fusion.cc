// An Add or Sum of two equally shaped values becomes the residual input of the convolution or product that makes one of
// them.
#include "ep/cpu/fusion.h"

namespace trunnion::ep {
namespace {

using passes::is_op;

// The node that can take `other` as residual, when it makes input `side` of the Add.
ir::Node* candidate(const ir::Node& add, int side) {
  const ir::Value *sum = add.input(side), *other = add.input(1 - side);
  ir::Node* n = sum ? sum->producer() : nullptr;
  if (!n || !other || sum == other || only_user(sum) != &add || !can_fuse(*n) || n->op_type() == "ScaleShift" ||
      n->input(3))
    return nullptr;
  if (!passes::same_shape(sum->fact, other->fact) || other->fact.dtype() != DType::f32 || other->is_constant())
    return nullptr;
  if (sum->fact.rank() < 2) return nullptr;
  return ir::Rewriter::can_replace(add.output(0), sum) ? n : nullptr;
}

}  // namespace

Status residual_fusion(ir::Graph& graph, passes::PassContext& context) {
  ir::Rewriter rw(graph, "ResidualFusion", context.log);
  // By id: where the node stands. Even numbers at first; a node that moves goes right before an Add, one below it.
  std::vector<int> place(static_cast<size_t>(graph.node_id_bound()), 0);
  const auto place_of = [&](const ir::Node* n) -> int& { return place[static_cast<size_t>(n->id())]; };
  int next_place = 0;
  for (ir::Node* n = graph.first(); n; n = n->next()) place_of(n) = next_place += 2;
  for (ir::Node* n = graph.first(); n;) {
    ir::Node* next = n->next();
    if (((is_op(n, "Add") && n->since() >= 7) || is_op(n, "Sum")) && n->inputs().size() == 2) {
      ir::Node *first = candidate(*n, 0), *second = candidate(*n, 1);
      // Of two, the later one: the other's result exists when it runs.
      ir::Node* take = first && second ? (place_of(first) < place_of(second) ? second : first) : first ? first : second;
      if (take) {
        ir::Value* residual = take == first ? n->input(1) : n->input(0);
        rw.begin("residual", {take, n});
        ir::Node* fused = as_fused(rw, take);
        rw.move_before(fused, n);
        place_of(fused) = place_of(n) - 1;
        if (fused->inputs().size() < 4) rw.resize_inputs(fused, 4);
        rw.set_input(fused, 3, residual);
        if (fused->attr("activation", "none") != "none") rw.set_attr(fused, "residual_after_activation", int64_t{1});
        rw.absorb(fused, n);
        rw.bypass(n, fused->output(0));
      }
    }
    n = next;
  }
  context.changes += rw.changes();
  return {};
}

}  // namespace trunnion::ep
