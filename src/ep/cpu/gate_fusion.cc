// The product with a gate per channel (the end of a squeeze-and-excite block) and the 1x1 convolution, channels last,
// that alone reads it -> GatedConv.
#include <algorithm>

#include "ep/cpu/fusion.h"

namespace trunnion::ep {
namespace {

using passes::is_op;

bool all_are(const std::vector<int64_t>& v, int64_t number) {
  return std::ranges::all_of(v, [&](int64_t e) { return e == number; });
}

// 1x1, stride 1, one group, no padding; weights known.
bool is_pointwise(const ir::Node& n) {
  if (n.domain() != "trunnion" || n.op_type() != "NhwcConv" || n.attr("group", 1) != 1 ||
      n.attr("transposed", 0) != 0 || !all_are(n.ints("strides"), 1) || !all_are(n.ints("pads"), 0))
    return false;
  const Tensor* w = passes::constant_input(n, 1);
  return w && w->dtype() == DType::f32 && w->rank() == 4 && w->shape()[0] >= 8 && w->shape()[1] >= 1 &&
         w->shape()[2] == 1 && w->shape()[3] == 1;
}

// The input of a product that scales the channels of the other one.
int gate_of(const ir::Node& mul) {
  const ir::Fact& y = mul.output(0)->fact;
  for (int i : {1, 0}) {
    const ir::Value *gate = mul.input(i), *x = mul.input(1 - i);
    if (!gate || !x || gate->is_constant() || !gate->fact.has_rank() || gate->fact.rank() != y.rank() ||
        !passes::same_shape(x->fact, y))
      continue;
    bool fits = gate->fact.dim(0).is_int(1) || gate->fact.dim(0) == y.dim(0);
    for (int d = 1; d + 1 < y.rank(); ++d) fits = fits && gate->fact.dim(d).is_int(1);
    const Dim &channels = gate->fact.dim(y.rank() - 1), &wanted = y.dim(y.rank() - 1);
    if (fits && channels.is_int() && wanted.is_int(channels.value())) return i;
  }
  return -1;
}

}  // namespace

Status gate_fusion(ir::Graph& graph, passes::PassContext& context) {
  ir::Rewriter rw(graph, "GateFusion", context.log);
  for (ir::Node* n = graph.first(); n; n = n->next()) {
    if (!is_pointwise(*n)) continue;
    const Precision level = context.precision.of(n->name(), n->origins);
    if (level == Precision::strict || level == Precision::bf16) continue;  // keep the order of factors; have kernels
    ir::Node* mul = n->input(0)->producer();
    if (!is_op(mul, "Mul") || mul->since() < 7 || only_user(n->input(0)) != n || !mul->output(0)->fact.has_rank() ||
        mul->output(0)->fact.rank() != 4 || mul->output(0)->fact.dtype() != DType::f32)
      continue;
    const int gate = gate_of(*mul);
    if (gate < 0) continue;
    rw.begin("gate", {mul, n});
    ir::Value *bias = n->input(2), *residual = n->input(3);
    rw.resize_inputs(n, residual ? 5 : bias ? 4 : 3);
    rw.set_input(n, 0, mul->input(1 - gate));
    rw.set_input(n, 2, mul->input(gate));
    if (residual || bias) rw.set_input(n, 3, bias);
    if (residual) rw.set_input(n, 4, residual);
    for (const char* name : {"auto_pad", "dilations", "group", "kernel_shape", "output_padding", "output_shape", "pads",
                             "strides", "transposed", "winograd"})
      rw.remove_attr(n, name);
    rw.change_op(n, "GatedConv", "trunnion", 1);
    rw.absorb(n, mul);
    rw.erase_if_unused(mul);
  }
  context.changes += rw.changes();
  return {};
}

}  // namespace trunnion::ep
