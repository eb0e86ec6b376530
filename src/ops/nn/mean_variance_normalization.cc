// MeanVarianceNormalization (ai.onnx 9, 13): (x - mean) / (standard deviation + 1e-9) over a set of axes. The
// experimental version 1 has flags for the channels and for the division.
#include <cmath>

#include "kernels/norm.h"
#include "ops/dispatch.h"
#include "ops/elementwise.h"
#include "ops/widen.h"

namespace trunnion::ops {
namespace {

struct Params {
  std::vector<int64_t> axes;
  bool divide = true;
};
Params read(const ir::Node& n) {
  if (n.since() >= 9) return {n.ints("axes", {0, 2, 3})};
  const bool divide = n.attr("normalize_variance", 1) != 0;
  if (n.attr("across_channels", 0) != 0) return {{0, 1, 2, 3}, divide};
  return {{0, 2, 3}, divide};
}

Status infer(const ir::Node& n, ir::Facts& f) {
  if (f.has_rank(0)) TRN_TRY(normalize_axes(read(n).axes, f.in(0).rank(), "axis"));
  return infer_elementwise(n, f);
}

struct MvnState final : KernelState {
  Shape kept_stride;  // for each dimension, its step in the array of sums; 0 where it is summed over
  int64_t sums = 1;
  // f32 with the innermost dimensions normalized: `outer` times `kept` ranges of `length` elements; the ranges of one
  // of `kept` in all of `outer` are normalized together.
  int64_t outer = 1, kept = 1, length = 0;
};

class MvnKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    return std::unique_ptr<Kernel>(new MvnKernel(read(node)));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto s = std::make_unique<MvnState>();
    const TensorView& x = ctx.in(0);
    TRN_ASSIGN(const auto reduced, normalize_axes(p_.axes, x.rank, "axis"));
    s->kept_stride.resize(static_cast<size_t>(x.rank));
    for (int d = x.rank; d-- > 0;) {
      if (std::find(reduced.begin(), reduced.end(), d) != reduced.end()) continue;
      s->kept_stride[d] = s->sums;
      s->sums *= x.dim(d);
    }
    ctx.request_scratch(static_cast<size_t>(2 * s->sums) * sizeof(double));
    if (x.dtype != DType::f32) return std::unique_ptr<KernelState>(std::move(s));
    const auto is_reduced = [&](int d) { return std::find(reduced.begin(), reduced.end(), d) != reduced.end(); };
    int d = x.rank;
    int64_t length = 1;
    for (; d > 0 && is_reduced(d - 1); --d) length *= x.dim(d - 1);
    for (; d > 0 && !is_reduced(d - 1); --d) s->kept *= x.dim(d - 1);
    for (; d > 0 && is_reduced(d - 1); --d) s->outer *= x.dim(d - 1);
    if (d == 0 && length > 1) s->length = length;
    return std::unique_ptr<KernelState>(std::move(s));
  }

  Status run(KernelContext& ctx) const override {
    const auto& s = *ctx.state<MvnState>();
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    if (x.count == 0) return {};
    if (s.length) {
      by_ranges(ctx, s);
      return {};
    }
    double *mean = reinterpret_cast<double*>(ctx.scratch()), *var = mean + s.sums;
    std::fill_n(mean, 2 * s.sums, 0.0);
    const double n = static_cast<double>(x.count / s.sums);
    return dispatch<(DType::f32 | DType::f64).bits()>(x.dtype, [&]<class T>() {
      const T* from = x.as<T>();
      T* to = y.as<T>();
      each(x, s, [&](int64_t i, int64_t k) { mean[k] += from[i]; });
      for (int64_t k = 0; k < s.sums; ++k) mean[k] /= n;
      if (p_.divide) {
        each(x, s, [&](int64_t i, int64_t k) { var[k] += (from[i] - mean[k]) * (from[i] - mean[k]); });
        for (int64_t k = 0; k < s.sums; ++k) var[k] = 1 / (std::sqrt(var[k] / n) + 1e-9);
      } else {
        std::fill_n(var, s.sums, 1.0);
      }
      each(x, s, [&](int64_t i, int64_t k) { to[i] = static_cast<T>((from[i] - mean[k]) * var[k]); });
    });
  }

 private:
  explicit MvnKernel(Params p) : p_(std::move(p)) {}

  void by_ranges(KernelContext& ctx, const MvnState& s) const {
    const auto& k = kernels::norm();
    ctx.parallel_for(s.kept, 16384 / (s.outer * s.length) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        const auto at = [&](int64_t o) { return (o * s.kept + c) * s.length; };
        // Means and variances of the ranges together are those of the whole.
        double mean = 0, square = 0;
        for (int64_t o = 0; o < s.outer; ++o) {
          float m, v;
          k.moments(ctx.in(0).as<float>() + at(o), s.length, &m, &v);
          const double shift = static_cast<double>(m) - mean, n = static_cast<double>(o + 1);
          mean += shift / n;
          square += static_cast<double>(v) + shift * shift * (static_cast<double>(o) / n);
        }
        const double factor = p_.divide ? 1 / (std::sqrt(square / static_cast<double>(s.outer)) + 1e-9) : 1.0;
        for (int64_t o = 0; o < s.outer; ++o)
          k.scale_shift(ctx.in(0).as<float>() + at(o), ctx.out(0).as<float>() + at(o), s.length,
                        static_cast<float>(factor), static_cast<float>(-mean * factor));
      }
    });
  }

  // fn(element, its sum) for all elements in order.
  template <class F>
  static void each(const TensorView& x, const MvnState& s, F&& fn) {
    Shape at(static_cast<size_t>(x.rank));
    int64_t sum = 0;
    for (int64_t i = 0; i < x.count; ++i) {
      fn(i, sum);
      for (int d = x.rank; d-- > 0;) {
        sum += s.kept_stride[d];
        if (++at[d] < x.dim(d)) break;
        sum -= s.kept_stride[d] * x.dim(d);
        at[d] = 0;
      }
    }
  }

  Params p_;
};

constexpr OpDef kDefs[] = {
    {"MeanVarianceNormalization",
     infer,
     cpu_widened<MvnKernel>(kFloats),
     {.reviewed = 13, .in_place = {{0, 0}}},
     "",
     "MeanVarianceNormalization 1 experimental (input:T) -> (output:T) {across_channels:i=0, normalize_variance:i=1} "
     "T=float"}};

}  // namespace

TRUNNION_OPS(mean_variance_normalization, kDefs);
}  // namespace trunnion::ops
