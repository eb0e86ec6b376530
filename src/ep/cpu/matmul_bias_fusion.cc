// MatMul + Add of a constant row -> FusedMatMul with bias; Gemm with constant weights -> FusedMatMul.
#include "ep/cpu/fusion.h"

namespace trunnion::ep {
namespace {

using passes::is_op;

// A constant that is one row of n numbers: [n] or [1, n] (any number of ones in front), no longer than `rank`
// dimensions.
bool is_row(const ir::Value* v, const Dim& n, int rank) {
  if (!v || !v->is_constant() || v->constant().dtype() != DType::f32 || !n.is_int() || v->constant().rank() < 1 ||
      v->constant().rank() > rank)
    return false;
  const Tensor& t = v->constant();
  return t.shape()[static_cast<size_t>(t.rank()) - 1] == n.value() && t.count() == n.value();
}

void fuse_add(ir::Rewriter& rw, ir::Node* add) {
  for (int side : {0, 1}) {
    ir::Value* product = add->input(side);
    ir::Node* n = product ? product->producer() : nullptr;
    const bool plain = n && is_op(n, "MatMul");
    const bool fused_already = n && n->domain() == "trunnion" && n->op_type() == "FusedMatMul" && !n->input(2) &&
                               !n->input(3) && n->attr("activation", "none") == "none";
    if ((!plain && !fused_already) || !can_fuse(*n) || only_user(product) != add || !n->input(1)->fact.has_rank() ||
        n->input(1)->fact.rank() < 2 || !product->fact.has_rank() || product->fact.rank() < 2)
      continue;
    ir::Value* bias = add->input(1 - side);
    if (!is_row(bias, product->fact.shape().back(), product->fact.rank()) ||
        !ir::Rewriter::can_replace(add->output(0), product))
      continue;
    rw.begin("bias", {n, add});
    ir::Node* fused = as_fused(rw, n);
    if (fused->inputs().size() < 3) rw.resize_inputs(fused, 3);
    rw.set_input(fused, 2, bias);
    rw.absorb(fused, add);
    rw.bypass(add, fused->output(0));
    return;
  }
}

void fuse_gemm(ir::Rewriter& rw, ir::Node* n) {
  if (n->attr("transA", 0) != 0 || n->attr("alpha", 1.0f) != 1.0f || !n->output(0) ||
      n->output(0)->fact.dtype() != DType::f32 || n->since() < 7)
    return;
  if (!n->input(1) || !n->input(1)->is_constant() || !n->output(0)->fact.has_rank()) return;
  if (n->input(2) && (n->attr("beta", 1.0f) != 1.0f || !is_row(n->input(2), n->output(0)->fact.shape().back(), 2)))
    return;
  rw.begin("gemm", {n});
  const int64_t trans = n->attr("transB", 0);
  for (const char* name : {"alpha", "beta", "transA"}) rw.remove_attr(n, name);
  rw.set_attr(n, "transB", trans);
  rw.change_op(n, "FusedMatMul", "trunnion", 1);
}

}  // namespace

Status matmul_bias_fusion(ir::Graph& graph, passes::PassContext& context) {
  ir::Rewriter rw(graph, "MatMulBiasFusion", context.log);
  for (ir::Node* n = graph.first(); n;) {
    ir::Node* next = n->next();
    if (is_op(n, "Gemm"))
      fuse_gemm(rw, n);
    else if (is_op(n, "Add") && n->inputs().size() == 2 && n->since() >= 7)
      fuse_add(rw, n);
    n = next;
  }
  context.changes += rw.changes();
  return {};
}

}  // namespace trunnion::ep
