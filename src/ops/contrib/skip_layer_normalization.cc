// SkipLayerNormalization and SkipSimplifiedLayerNormalization (com.microsoft 1): a residual is added, then rows of the
// last dimension are normalized.
#include <cmath>

#include "kernels/norm.h"
#include "ops/dispatch.h"
#include "ops/shape.h"
#include "ops/widen.h"

namespace trunnion::ops {
namespace {

struct Params {
  bool rms;
  float epsilon;
  int beta, bias;  // inputs; -1: the operator has none
};
Params read(const ir::Node& n) {
  const bool rms = n.op_type() == "SkipSimplifiedLayerNormalization";
  return {rms, n.attr("epsilon", 1e-12f), rms ? -1 : 3, rms ? 3 : 4};
}

// The skip repeats over the leading dimensions of the input: it is its trailing dimensions, but for leading ones. It
// has whole rows.
bool repeats(const SymShape& skip, const SymShape& x) {
  if (skip.empty() || skip.size() > x.size()) return false;
  if (skip.back().is_int() && x.back().is_int() && !(skip.back() == x.back())) return false;
  const size_t more = x.size() - skip.size();
  bool leading = true;
  for (size_t i = 0; i < skip.size(); ++i) {
    const Dim &a = skip[i], &b = x[more + i];
    if (!a.is_int() || !b.is_int() || a == b) {
      leading = leading && (a.is_int(1) || !a.is_int());
      continue;
    }
    if (!leading || !a.is_int(1)) return false;
  }
  return true;
}

Status infer(const ir::Node&, ir::Facts& f) {
  for (int i : {0, 3}) f.set(i, f.dtype(0));
  for (int i : {1, 2}) f.set(i, DType::f32);
  if (!f.has_rank(0)) return {};
  const SymShape& x = f.in(0).shape();
  if (x.size() < 2 || x.size() > 3)
    return invalid_argument("input 0 has shape {}, needs 2 or 3 dimensions", shape_text(x));
  if (f.has_rank(1) && !repeats(f.in(1).shape(), x))
    return invalid_argument("skip of shape {} does not go with an input of shape {}", shape_text(f.in(1).shape()),
                            shape_text(x));
  for (int i = 2; i < f.inputs(); ++i) {
    if (!f.has_rank(i)) continue;
    TRN_TRY(expect_rank(f, i, 1));
    if (const Dim& d = f.in(i).dim(0); d.is_int() && x.back().is_int() && !(d == x.back()))
      return invalid_argument("input {} has {} elements, the rows have {}", i, d.value(), x.back().value());
  }
  for (int i : {0, 3}) f.set(i, f.dtype(0), x);
  SymShape moments = x;
  moments.back() = Dim(1);
  for (int i : {1, 2}) f.set(i, DType::f32, moments);
  return {};
}

class SkipNormKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    return std::unique_ptr<Kernel>(new SkipNormKernel(read(n)));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    const int64_t cols = x.dim(x.rank - 1);
    if (x.count == 0) return {};
    return dispatch<(DType::f32 | DType::f64).bits()>(x.dtype, [&]<class T>() {
      const Rows<T> all{x.as<T>(),
                        ctx.in(1).as<T>(),
                        input<T>(ctx, p_.bias),
                        ctx.in(2).as<T>(),
                        input<T>(ctx, p_.beta),
                        y.as<T>(),
                        ctx.has_out(3) ? ctx.out(3).as<T>() : nullptr,
                        ctx.has_out(1) ? ctx.out(1).as<float>() : nullptr,
                        ctx.has_out(2) ? ctx.out(2).as<float>() : nullptr,
                        cols,
                        ctx.in(1).count / cols};
      ctx.parallel_for(x.count / cols, 8192 / cols + 1,
                       [&](int64_t begin, int64_t end) { normalize(all, begin, end); });
    });
  }

 private:
  explicit SkipNormKernel(Params p) : p_(p) {}

  template <class T>
  struct Rows {
    const T *x, *skip, *bias, *gamma, *beta;
    T *y, *sum;
    float *mean, *inv;
    int64_t cols, skip_rows;
  };

  template <class T>
  static const T* input(KernelContext& ctx, int i) {
    return i >= 0 && ctx.has_in(i) ? ctx.in(i).as<const T>() : nullptr;
  }

  void normalize(const Rows<float>& a, int64_t begin, int64_t end) const {
    // In runs of rows whose skip rows follow each other.
    while (begin < end) {
      const int64_t skip = begin % a.skip_rows, rows = std::min(end - begin, a.skip_rows - skip), at = begin * a.cols;
      kernels::norm().skip(a.x + at, a.skip + skip * a.cols, a.bias, a.gamma, a.beta, a.y + at,
                           a.sum ? a.sum + at : nullptr, a.mean ? a.mean + begin : nullptr,
                           a.inv ? a.inv + begin : nullptr, rows, a.cols, rows, p_.epsilon, p_.rms);
      begin += rows;
    }
  }

  void normalize(const Rows<double>& a, int64_t begin, int64_t end) const {
    for (int64_t r = begin; r < end; ++r) {
      const double *x = a.x + r * a.cols, *skip = a.skip + r % a.skip_rows * a.cols;
      double* y = a.y + r * a.cols;
      double mean = 0, square = 0;
      for (int64_t c = 0; c < a.cols; ++c) {
        y[c] = x[c] + skip[c] + (a.bias ? a.bias[c] : 0);
        if (a.sum) a.sum[r * a.cols + c] = y[c];
        mean += y[c];
      }
      mean = p_.rms ? 0 : mean / static_cast<double>(a.cols);
      for (int64_t c = 0; c < a.cols; ++c) square += (y[c] - mean) * (y[c] - mean);
      const double inv = 1 / std::sqrt(square / static_cast<double>(a.cols) + static_cast<double>(p_.epsilon));
      for (int64_t c = 0; c < a.cols; ++c) y[c] = (y[c] - mean) * inv * a.gamma[c] + (a.beta ? a.beta[c] : 0);
      if (a.mean) a.mean[r] = static_cast<float>(mean);
      if (a.inv) a.inv[r] = static_cast<float>(inv);
    }
  }

  Params p_;
};

constexpr OpDef kDefs[] = {
    {"SkipLayerNormalization",
     infer,
     cpu_widened<SkipNormKernel>(kFloats),
     {.reviewed = 1, .in_place = {{0, 0}, {3, 0}}},
     "com.microsoft",
     "com.microsoft::SkipLayerNormalization 1 (input:T, skip:T, gamma:T, beta?:T, bias?:T) -> (output:T, mean?:U, "
     "inv_std_var?:U, input_skip_bias_sum?:T) {epsilon:f=1e-12} T=f32|f16|bf16|f64 U=f32"},
    {"SkipSimplifiedLayerNormalization",
     infer,
     cpu_widened<SkipNormKernel>(kFloats),
     {.reviewed = 1, .in_place = {{0, 0}, {3, 0}}},
     "com.microsoft",
     "com.microsoft::SkipSimplifiedLayerNormalization 1 (input:T, skip:T, gamma:T, bias?:T) -> (output:T, mean?:U, "
     "inv_std_var?:U, input_skip_bias_sum?:T) {epsilon:f=1e-12} T=f32|f16|bf16|f64 U=f32"},
};

}  // namespace

TRUNNION_OPS(skip_layer_normalization, kDefs);

}  // namespace trunnion::ops
