// LayerNormalization (ai.onnx 17), RMSNormalization (23), and what ONNX Runtime has in that domain besides: the older
// LayerNormalization, and SimplifiedLayerNormalization, which is RMSNormalization with a second output. Rows made of
// the axes from `axis` on are normalized, then scaled and shifted by tensors that broadcast to the input.
#include <algorithm>
#include <cmath>

#include "kernels/binary.h"
#include "kernels/broadcast.h"
#include "kernels/convert.h"
#include "kernels/norm.h"
#include "ops/dispatch.h"
#include "ops/shape.h"
#include "ops/widen.h"

namespace trunnion::ops {
namespace {

struct Params {
  int64_t axis;
  float epsilon;
  bool rms;
  int mean, inv;  // outputs; 0: there is none
};
Params read(const ir::Node& n) {
  const bool rms = n.op_type() != "LayerNormalization";
  return {n.attr("axis", -1), n.attr("epsilon", 1e-5f), rms, rms ? 0 : 1, rms ? 1 : 2};
}

Status infer(const ir::Node& n, ir::Facts& f) {
  const Params p = read(n);
  const DType out = p.rms && f.has(1) ? f.dtype(1) : f.dtype(0);
  const int64_t stash = n.attr("stash_type", 1);
  const auto stash_type = dtype_from_code(stash);
  if (!stash_type || !(kFloats.has(*stash_type)))
    return invalid_argument("attribute stash_type is {}, expected a float type", stash);
  f.set(0, out);
  for (int i = 1; i < 3; ++i) f.set(i, *stash_type);
  if (!f.has_rank(0)) return {};
  SymShape x = f.in(0).shape();
  TRN_ASSIGN(const int axis, normalize_axis(p.axis, f.in(0).rank()));
  for (int i = 1; i < 3; ++i) {
    if (!f.has_rank(i)) continue;
    TRN_ASSIGN(const SymShape both, broadcast_shapes(x, f.in(i).shape()));
    bool fits = both.size() == x.size();
    for (size_t d = 0; fits && d < x.size(); ++d) fits = !both[d].is_int() || !x[d].is_int() || both[d] == x[d];
    if (!fits)
      return invalid_argument("input {} of shape {} does not broadcast to {}", i, shape_text(f.in(i).shape()),
                              shape_text(x));
  }
  f.set(0, out, x);
  std::fill(x.begin() + axis, x.end(), Dim(1));
  for (int i = 1; i < 3; ++i) f.set(i, *stash_type, x);
  return {};
}

struct NormState final : KernelState {
  int64_t rows = 1, cols = 1;
  bool by_row = true;                  // scale and bias have one value per column, or are absent
  kernels::BroadcastPlan scale, bias;  // else
};

// Whether dims, but for leading ones, are the trailing dimensions of x.
bool is_row(std::span<const int64_t> dims, std::span<const int64_t> row) {
  while (!dims.empty() && dims.size() > row.size() && dims[0] == 1) dims = dims.subspan(1);
  return std::equal(dims.begin(), dims.end(), row.begin(), row.end());
}

void layer_f64(const double* x, const double* scale, const double* bias, double* y, float* mean, float* inv,
               int64_t rows, int64_t cols, double epsilon, bool rms) {
  for (int64_t r = 0; r < rows; ++r, x += cols, y += cols) {
    double m = 0, v = 0;
    for (int64_t c = 0; c < cols && !rms; ++c) m += x[c];
    m /= static_cast<double>(cols);
    if (rms) m = 0;
    for (int64_t c = 0; c < cols; ++c) v += (x[c] - m) * (x[c] - m);
    const double factor = 1 / std::sqrt(v / static_cast<double>(cols) + epsilon);
    for (int64_t c = 0; c < cols; ++c) y[c] = (x[c] - m) * factor * (scale ? scale[c] : 1) + (bias ? bias[c] : 0);
    if (mean) mean[r] = static_cast<float>(m);
    if (inv) inv[r] = static_cast<float>(factor);
  }
}

class NormKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    return std::unique_ptr<Kernel>(new NormKernel(read(node)));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto s = std::make_unique<NormState>();
    const TensorView& x = ctx.in(0);
    TRN_ASSIGN(const int axis, normalize_axis(p_.axis, x.rank));
    s->rows = product(x.shape(), 0, axis);
    s->cols = product(x.shape(), axis, x.rank);
    const auto row = x.shape().subspan(axis);
    s->by_row = is_row(ctx.in(1).shape(), row) && (!ctx.has_in(2) || is_row(ctx.in(2).shape(), row));
    if (!s->by_row) {
      TRN_TRY(plan(x, ctx.in(1), s->scale));
      if (ctx.has_in(2)) TRN_TRY(plan(x, ctx.in(2), s->bias));
    }
    const DType type = p_.rms ? ctx.in(1).dtype : x.dtype;
    if (x.dtype != type) ctx.request_scratch(*storage_bytes(type, x.count));
    return std::unique_ptr<KernelState>(std::move(s));
  }

  Status run(KernelContext& ctx) const override {
    const auto& s = *ctx.state<NormState>();
    const TensorView& y = ctx.out(0);
    const void *x = ctx.in(0).data, *scale = ctx.in(1).data, *bias = ctx.has_in(2) ? ctx.in(2).data : nullptr;
    if (y.count == 0) return {};
    if (ctx.in(0).dtype != y.dtype) {
      kernels::convert(elem(ctx.in(0).dtype), elem(y.dtype))(x, ctx.scratch(), static_cast<size_t>(y.count), {});
      x = ctx.scratch();
    }
    float* mean = p_.mean && ctx.has_out(p_.mean) ? ctx.out(p_.mean).as<float>() : nullptr;
    float* inv = ctx.has_out(p_.inv) ? ctx.out(p_.inv).as<float>() : nullptr;
    ctx.parallel_for(s.rows, 8192 / s.cols + 1, [&](int64_t begin, int64_t end) {
      const int64_t at = begin * s.cols;
      float *m = mean ? mean + begin : nullptr, *v = inv ? inv + begin : nullptr;
      const void *row_scale = s.by_row ? scale : nullptr, *row_bias = s.by_row ? bias : nullptr;
      if (y.dtype == DType::f64)
        layer_f64(static_cast<const double*>(x) + at, static_cast<const double*>(row_scale),
                  static_cast<const double*>(row_bias), y.as<double>() + at, m, v, end - begin, s.cols, p_.epsilon,
                  p_.rms);
      else if (p_.rms)
        kernels::norm().rms(static_cast<const float*>(x) + at, static_cast<const float*>(row_scale), y.as<float>() + at,
                            v, end - begin, s.cols, p_.epsilon);
      else
        kernels::norm().layer(static_cast<const float*>(x) + at, static_cast<const float*>(row_scale),
                              static_cast<const float*>(row_bias), y.as<float>() + at, m, v, end - begin, s.cols,
                              p_.epsilon);
    });
    if (!s.by_row) {
      apply(ctx, kernels::BinaryOp::mul, s.scale, scale);
      if (bias) apply(ctx, kernels::BinaryOp::add, s.bias, bias);
    }
    return {};
  }

 private:
  explicit NormKernel(Params p) : p_(p) {}

  static Status plan(const TensorView& x, const TensorView& other, kernels::BroadcastPlan& plan) {
    const int64_t* shapes[] = {x.dims, other.dims};
    const int ranks[] = {x.rank, other.rank};
    if (!kernels::broadcast_plan_to(2, shapes, ranks, x.dims, x.rank, plan))
      return invalid_argument("shape {} does not broadcast to {}", shape_text(other.shape()), shape_text(x.shape()));
    return {};
  }

  // y = y op b.
  static void apply(KernelContext& ctx, kernels::BinaryOp op, const kernels::BroadcastPlan& plan, const void* b) {
    const TensorView& y = ctx.out(0);
    const auto fn = kernels::binary(op, elem(y.dtype), plan.shape());
    ctx.parallel_for(y.count, 32768, [&](int64_t begin, int64_t end) {
      kernels::broadcast_binary(plan, begin, end, fn, y.data, b, y.data, size_of(y.dtype), size_of(y.dtype));
    });
  }

  Params p_;
};

// The schema row serves opsets before 17.
constexpr OpDef kDefs[] = {
    {"LayerNormalization",
     infer,
     cpu_widened<NormKernel>(kFloats),
     {.reviewed = 17, .in_place = {{0, 0}}},
     "",
     "LayerNormalization 1 (X:T, Scale:V, B?:V) -> (Y:V, Mean?:U, InvStdDev?:U) {axis:i=-1, epsilon:f=1e-5, "
     "stash_type:i=1} T=float|bf16 U=f32|f64|bf16 V=float|bf16"},
    {"RMSNormalization", infer, cpu_widened<NormKernel>(kFloats), {.reviewed = 23, .in_place = {{0, 0}}}},
    {"SimplifiedLayerNormalization",
     infer,
     cpu_widened<NormKernel>(kFloats),
     {.reviewed = 1, .in_place = {{0, 0}}},
     "",
     "SimplifiedLayerNormalization 1 (X:T, scale:V) -> (Y:V, inv_std_var?:U) {axis:i=-1, epsilon:f=1e-5, "
     "stash_type:i=1} T=float|bf16 U=f32|f64 V=float|bf16"},
};

}  // namespace

TRUNNION_OPS(layer_normalization, kDefs);
}  // namespace trunnion::ops
