// Fused operators of com.microsoft in files that another runtime optimized become the provider's own (FusedConv, and
// FusedMatMul of a matrix B) or ONNX's (Gelu and its approximations). So they get channels last, packed weights and the
// fusions that come after.
#include "ep/cpu/fusion.h"
#include "ops/contrib/fused_activation_detail.h"
#include "ops/nn/conv_detail.h"

namespace trunnion::ep {
namespace {

bool is_saved(const ir::Node& n, std::string_view op) {
  return n.domain() == "com.microsoft" && n.op_type() == op && n.outputs().size() == 1 && n.output(0) &&
         n.output(0)->fact.dtype() == DType::f32;
}

void take_conv(ir::Rewriter& rw, ir::Node* n) {
  const auto activation = ops::read_listed_activation(*n);
  if (!activation.ok() || (!activation->none && activation->fast == kernels::Activation::none)) return;
  rw.begin("conv", {n});
  rw.remove_attr(n, "activation_params");
  rw.remove_attr(n, "activation");
  if (!activation->none) {
    rw.set_attr(n, "activation", std::string(ops::activation_name(activation->fast)));
    rw.set_attr(n, "activation_a", static_cast<float>(activation->params.a));
    rw.set_attr(n, "activation_b", static_cast<float>(activation->params.b));
  }
  rw.change_op(n, "FusedConv", "trunnion", 1);
}

void take_product(ir::Rewriter& rw, ir::Node* n) {
  for (const char* name : {"transA", "transBatchA", "transBatchB"})
    if (n->attr(name, 0) != 0) return;
  const ir::Fact &a = n->input(0)->fact, &b = n->input(1)->fact;
  if (!a.has_rank() || !b.has_rank() || a.rank() < 2 || b.rank() < 2 || (n->attr("transB", 0) != 0 && b.rank() != 2))
    return;
  rw.begin("product", {n});
  for (const char* name : {"transA", "transBatchA", "transBatchB"}) rw.remove_attr(n, name);
  rw.change_op(n, "FusedMatMul", "trunnion", 1);
}

void take_activation(ir::Rewriter& rw, ir::Node* n) {
  const std::string& op = n->op_type();
  if (n->inputs().size() != 1) return;  // FastGelu with a bias
  rw.begin("activation", {n});
  if (op == "QuickGelu") {
    rw.set_attr(n, "alpha", n->attr("alpha", 1.702f));
    rw.change_op(n, "Swish", "", 24);
    return;
  }
  if (op == "FastGelu") rw.set_attr(n, "approximate", std::string("tanh"));
  rw.change_op(n, "Gelu", "", 20);
}

}  // namespace

Status saved_fusion(ir::Graph& graph, passes::PassContext& context) {
  ir::Rewriter rw(graph, "SavedFusion", context.log);
  for (ir::Node* n = graph.first(); n; n = n->next()) {
    if (is_saved(*n, "FusedConv"))
      take_conv(rw, n);
    else if (is_saved(*n, "FusedMatMul"))
      take_product(rw, n);
    else if (is_saved(*n, "QuickGelu") || is_saved(*n, "Gelu") || is_saved(*n, "FastGelu"))
      take_activation(rw, n);
  }
  context.changes += rw.changes();
  return {};
}

}  // namespace trunnion::ep
