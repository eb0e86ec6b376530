// Layer normalization spelled as primitives: d = x - mean(x); d / sqrt(mean(d^2) + eps) * scale + bias, last axis.
#include <cmath>

#include "ep/cpu/fusion.h"

namespace trunnion::ep {
namespace {

using passes::is_op;

// A ReduceMean over the last axis that keeps it.
bool is_last_mean(const ir::Node* n) {
  if (!is_op(n, "ReduceMean") || n->attr("keepdims", 1) == 0 || !n->input(0) || !n->input(0)->fact.has_rank())
    return false;
  const auto axes = passes::ints_of(*n, "axes", 1);
  const int rank = n->input(0)->fact.rank();
  return axes && axes->size() == 1 && ((*axes)[0] == -1 || (*axes)[0] == rank - 1);
}

// A constant vector along the last axis: of shape [n], or with ones in front.
bool is_vector(const ir::Value* v, const Dim& n) {
  return v && v->is_constant() && v->constant().dtype() == DType::f32 && n.is_int() && v->constant().rank() >= 1 &&
         v->constant().count() == n.value() &&
         v->constant().shape()[static_cast<size_t>(v->constant().rank()) - 1] == n.value();
}

// The square of d: Pow(d, 2) or Mul(d, d).
ir::Node* square_of(const ir::Value* v, const ir::Value* d) {
  ir::Node* n = v->producer();
  if (is_op(n, "Pow") && n->input(0) == d && scalar(n->input(1)) == 2.0f) return n;
  if (is_op(n, "Mul") && n->inputs().size() == 2 && n->input(0) == d && n->input(1) == d) return n;
  return nullptr;
}

bool fuse(ir::Rewriter& rw, ir::Node* div) {
  ir::Value* d = div->input(0);
  ir::Node* sub = d ? d->producer() : nullptr;
  if (!is_op(sub, "Sub") || d->output_uses() || d->fact.dtype() != DType::f32) return false;
  ir::Value* x = sub->input(0);
  ir::Node* mean = sub->input(1)->producer();
  if (!is_last_mean(mean) || mean->input(0) != x || only_user(sub->input(1)) != sub) return false;
  ir::Value* root = div->input(1);
  ir::Node* sqrt = root->producer();
  if (!is_op(sqrt, "Sqrt") || only_user(root) != div) return false;
  ir::Node* add = sqrt->input(0)->producer();
  if (!is_op(add, "Add") || !only_user(sqrt->input(0))) return false;
  const auto eps = scalar_operand(*add);
  if (!eps) return false;
  ir::Node* var = eps->other->producer();
  if (!is_last_mean(var) || !only_user(eps->other)) return false;
  ir::Node* square = square_of(var->input(0), d);
  if (!square || !only_user(var->input(0))) return false;
  for (const ir::Node* user : d->users())
    if (user != div && user != square) return false;

  ir::Node* scale_node = only_user(div->output(0));
  if (!is_op(scale_node, "Mul")) return false;
  ir::Value* scale = scale_node->input(0) == div->output(0) ? scale_node->input(1) : scale_node->input(0);
  const Dim n = x->fact.has_rank() && x->fact.rank() > 0 ? x->fact.shape().back() : Dim();
  if (!is_vector(scale, n)) return false;
  ir::Node* last = scale_node;
  ir::Value* bias = nullptr;
  if (ir::Node* bias_node = only_user(scale_node->output(0)); is_op(bias_node, "Add")) {
    ir::Value* b = bias_node->input(0) == scale_node->output(0) ? bias_node->input(1) : bias_node->input(0);
    if (is_vector(b, n)) {
      bias = b;
      last = bias_node;
    }
  }
  if (!same_rank(x, last->output(0))) return false;
  // The vectors may carry ones in front; LayerNormalization wants them flat.
  const auto flat = [&](ir::Value* v) -> ir::Value* {
    if (v->constant().rank() == 1) return v;
    const int64_t dims[] = {v->constant().count()};
    return rw.constant(v->name(), v->constant().reshaped(dims));
  };
  std::vector<const ir::Node*> all{mean, sub, square, var, add, sqrt, div, scale_node};
  if (last != scale_node) all.push_back(last);
  rw.begin("layer norm", all);
  std::vector<ir::Value*> inputs{x, flat(scale)};
  if (bias) inputs.push_back(flat(bias));
  const std::string_view name = last->output(0)->name();
  ir::Node* made = rw.insert("LayerNormalization", "", 17, inputs, std::span(&name, 1),
                             {{"axis", int64_t{-1}, {}}, {"epsilon", eps->number, {}}}, last, last->name());
  rw.bypass(last, made->output(0));
  for (ir::Node* node : {scale_node, div, sqrt, add, var, square, sub, mean})
    if (node != last) rw.erase_if_unused(node);
  return true;
}

}  // namespace

Status layer_norm_fusion(ir::Graph& graph, passes::PassContext& context) {
  ir::Rewriter rw(graph, "LayerNormFusion", context.log);
  std::vector<ir::Node*> divisions;  // each belongs to one normalization: no rewrite erases another's
  for (ir::Node* n = graph.first(); n; n = n->next())
    if (is_op(n, "Div") && n->inputs().size() == 2 && n->since() >= 7) divisions.push_back(n);
  for (ir::Node* n : divisions) fuse(rw, n);
  context.changes += rw.changes();
  return {};
}

}  // namespace trunnion::ep
