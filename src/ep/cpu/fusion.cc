#include "ep/cpu/fusion.h"

#include <algorithm>

namespace trunnion::ep {

using passes::is_op;

ir::Node* only_user(const ir::Value* v) {
  return v && v->users().size() == 1 && v->output_uses() == 0 ? v->users()[0] : nullptr;
}

std::optional<float> scalar(const ir::Value* v) {
  if (!v || !v->is_constant() || v->constant().count() != 1) return std::nullopt;
  const Tensor& t = v->constant();
  if (t.dtype() == DType::f32) return *t.data<float>();
  if (t.dtype() == DType::f64) return static_cast<float>(*t.data<double>());
  return std::nullopt;
}

bool same_rank(const ir::Value* x, const ir::Value* result) {
  return x->fact.has_rank() && result->fact.has_rank() && x->fact.rank() == result->fact.rank();
}

std::optional<ScalarOperand> scalar_operand(const ir::Node& n) {
  if (n.inputs().size() != 2) return std::nullopt;
  for (int i : {1, 0})
    if (auto s = scalar(n.input(i)); s && n.input(1 - i) && n.input(i)->constant().rank() <= 1)
      return ScalarOperand{n.input(1 - i), *s, i == 0};
  return std::nullopt;
}

bool can_fuse(const ir::Node& n) {
  if (!n.output(0) || n.output(0)->fact.dtype() != DType::f32 || n.outputs().size() != 1) return false;
  if (n.domain() == "trunnion")
    return n.op_type() == "FusedConv" || n.op_type() == "FusedMatMul" || n.op_type() == "ScaleShift";
  return is_op(&n, "Conv") || is_op(&n, "ConvTranspose") || is_op(&n, "MatMul");
}

ir::Node* as_fused(ir::Rewriter& rw, ir::Node* n) {
  if (!can_fuse(*n)) return nullptr;
  if (n->domain() == "trunnion") return n;
  const bool conv = n->op_type() != "MatMul";
  if (n->op_type() == "ConvTranspose") rw.set_attr(n, "transposed", int64_t{1});
  rw.change_op(n, conv ? "FusedConv" : "FusedMatMul", "trunnion", 1);
  return n;
}

}  // namespace trunnion::ep
