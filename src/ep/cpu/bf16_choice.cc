// Which products and convolutions split their factors into planes of bfloat16, and into how many: the attribute `bf16`.
//   1 at level `bf16`, where the CPU has products of bfloat16 that pay;
//   2 at level `fast` and 3 at `fp32`, on a tile unit only, where they are faster than fp32 and hold what the level
//     promises.
// Weights are constant and finite. Where Winograd needs fewer multiplications than the unit saves, it stays.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "ep/cpu/fusion.h"
#include "kernels/gemm_bf16.h"
#include "kernels/gemm_split.h"
#include "ops/nn/conv_detail.h"
#include "ops/nn/conv_planar_detail.h"

namespace trunnion::ep {
namespace {

using passes::is_op;

constexpr int64_t kFewRows = 16;  // a tile unit works on so many at a time

int planes_of(Precision level) {
  switch (level) {
    case Precision::bf16:
      return 1;
    case Precision::fast:
      return kernels::split_unit() ? 2 : 0;
    case Precision::fp32:
      return kernels::split_unit() ? 3 : 0;
    case Precision::strict:
      break;
  }
  return 0;
}

bool is_weight(const ir::Value* w) { return w && w->is_constant() && w->constant().dtype() == DType::f32; }

bool is_finite(const Tensor& w) {
  const std::byte* at = w.data<std::byte>();  // any byte of a file
  for (int64_t i = 0; i < w.count(); ++i, at += sizeof(float)) {
    float x;
    std::memcpy(&x, at, sizeof x);
    if (!std::isfinite(x)) return false;
  }
  return true;
}

bool product_fits(const ir::Node& n) {
  const ir::Value *a = n.input(0), *b = n.input(1);
  if (!is_weight(b) || b->constant().rank() != 2) return false;
  const auto dims = b->constant().shape();
  const bool transposed = n.attr("transB", 0) != 0;
  const int64_t k = dims[transposed ? 1 : 0], columns = dims[transposed ? 0 : 1];
  if (!kernels::split_unit() || !kernels::split_fits(k, columns))
    return kernels::bf16_gemm_pays() && kernels::bf16_gemm_fits(columns);
  if (!a->fact.has_rank()) return true;
  int64_t rows = 1;
  for (int i = 0; i + 1 < a->fact.rank(); ++i) {
    if (!a->fact.dim(i).is_int()) return true;
    rows *= std::min<int64_t>(a->fact.dim(i).value(), kFewRows);
  }
  return rows >= kFewRows;
}

// By the weights: the size of the picture does not matter to it.
bool conv_fits(const ir::Node& n, int planes) {
  const ir::Value* w = n.input(1);
  if (!is_weight(w) || w->constant().rank() < 3 || w->constant().rank() > 5 || w->constant().count() == 0) return false;
  const bool transposed = n.op_type() == "ConvTranspose" || n.attr("transposed", 0) != 0;
  const ops::ConvParams params = ops::read_conv(n, transposed);
  if (n.op_type() != "NhwcConv" && ops::runs_on_planes(n, params)) return false;
  const auto channels = ops::conv_channels(params, w->constant().shape());
  if (!channels.ok()) return false;
  kernels::ConvShape s;
  s.rank = w->constant().rank() - 2;
  s.transposed = transposed;
  s.cin = channels->cin;
  s.cout = channels->cout;
  s.groups = params.groups;
  for (int i = 0; i < s.rank; ++i) s.in[i] = s.kernel[i] = channels->kernel[static_cast<size_t>(i)];
  s.bf16 = planes;
  const kernels::ConvPlan plan = kernels::conv_plan(s, 1);
  const int64_t winograd = n.attr("winograd", 0);
  // A tile unit is worth 6, 3 and 1.6 times the multiplications of fp32; vectors of bfloat16 twice as many.
  if (plan.algorithm == kernels::ConvAlgorithm::split ? winograd != 0 && planes > 1 : winograd == 4) return false;
  return plan.shape.bf16 != 0;
}

}  // namespace

Status bf16_choice(ir::Graph& graph, passes::PassContext& context) {
  if (!kernels::bf16_gemm_pays() && !kernels::split_unit()) return {};
  ir::Rewriter rw(graph, "Bf16Choice", context.log);
  for (ir::Node* n = graph.first(); n; n = n->next()) {
    const bool ours = n->domain() == "trunnion";
    const bool product = is_op(n, "MatMul") || (ours && n->op_type() == "FusedMatMul");
    const bool conv = is_op(n, "Conv") || is_op(n, "ConvTranspose") ||
                      (ours && (n->op_type() == "NhwcConv" || n->op_type() == "FusedConv"));
    if ((!product && !conv) || n->attr("bf16", 0) != 0 || !n->output(0) || n->output(0)->fact.dtype() != DType::f32)
      continue;
    const int planes = planes_of(context.precision.of(n->name(), n->origins));
    if (planes == 0 || !(product ? product_fits(*n) : conv_fits(*n, planes))) continue;
    if (kernels::split_unit() && !is_finite(n->input(1)->constant())) continue;
    rw.begin("bf16", {n});
    if (!ours && !as_fused(rw, n)) continue;
    rw.remove_attr(n, "winograd");
    rw.set_attr(n, "bf16", int64_t{planes});
  }
  context.changes += rw.changes();
  return {};
}

}  // namespace trunnion::ep
