// LpNormalization (ai.onnx 1, 22): x / norm(x) along one axis; zeros where the norm is 0.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/norm.h"
#include "kernels/reduce.h"
#include "ops/dispatch.h"
#include "ops/elementwise.h"
#include "ops/widen.h"

namespace trunnion::ops {
namespace {

Status infer(const ir::Node& n, ir::Facts& f) {
  if (const int64_t p = n.attr("p", 2); p != 1 && p != 2)
    return invalid_argument("attribute p is {}, expected 1 or 2", p);
  if (f.has_rank(0)) TRN_TRY(normalize_axis(n.attr("axis", -1), f.in(0).rank()));
  return infer_elementwise(n, f);
}

class LpKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    return std::unique_ptr<Kernel>(new LpKernel(node.attr("axis", -1), static_cast<int>(node.attr("p", 2))));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    TRN_ASSIGN(const int axis, normalize_axis(axis_, x.rank));
    if (x.count == 0) return {};
    const int64_t n = x.dim(axis), inner = product(x.shape(), axis + 1, x.rank), outer = x.count / n / inner;
    if (x.dtype == DType::f32 && inner == 1) {
      ctx.parallel_for(outer, 16384 / n + 1, [&](int64_t begin, int64_t end) {
        kernels::norm().lp(x.as<float>() + begin * n, y.as<float>() + begin * n, end - begin, n, p_);
      });
      return {};
    }
    if (inner >= 8) {
      return dispatch<(DType::f32 | DType::f64).bits()>(x.dtype, [&]<class T>() {
        ctx.parallel_for(outer, 16384 / (n * inner) + 1, [&](int64_t begin, int64_t end) {
          for (int64_t o = begin; o < end; ++o) columns(x.as<T>() + o * n * inner, y.as<T>() + o * n * inner, n, inner);
        });
      });
    }
    return dispatch<(DType::f32 | DType::f64).bits()>(x.dtype, [&]<class T>() {
      ctx.parallel_for(outer * inner, 4096 / n + 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          line(x.as<T>() + i / inner * n * inner + i % inner, y.as<T>() + i / inner * n * inner + i % inner, n, inner);
      });
    });
  }

 private:
  LpKernel(int64_t axis, int p) : axis_(axis), p_(p) {}

  // Neighbouring lines together, a block of them at a time; the norms by the vector kernels. Where a norm is so small
  // or so large that squares may leave the range of T, or zero, or not a number, line by line.
  template <class T>
  void columns(const T* x, T* y, int64_t n, int64_t inner) const {
    constexpr int64_t kBlock = 256;
    constexpr auto kType = std::is_same_v<T, float> ? kernels::Elem::f32 : kernels::Elem::f64;
    const auto norm = kernels::reduce(p_ == 1 ? kernels::ReduceOp::l1 : kernels::ReduceOp::l2, kType);
    const auto multiply = kernels::binary(kernels::BinaryOp::mul, kType, kernels::BinaryShape::vector_vector);
    const T least = std::sqrt(std::numeric_limits<T>::min()) * 1024;
    T factor[kBlock];
    for (int64_t c = 0; c < inner; c += kBlock) {
      const int64_t w = std::min(kBlock, inner - c);
      norm(x + c, factor, {1, n, w, inner});
      if (!std::all_of(factor, factor + w, [&](T f) { return f >= least && f <= T(1) / least; })) {
        for (int64_t i = 0; i < w; ++i) line(x + c + i, y + c + i, n, inner);
        continue;
      }
      for (int64_t i = 0; i < w; ++i) factor[i] = T(1) / factor[i];
      for (int64_t k = 0; k < n; ++k) multiply(x + k * inner + c, factor, y + k * inner + c, static_cast<size_t>(w));
    }
  }

  template <class T>
  void line(const T* x, T* y, int64_t n, int64_t step) const {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) {
      const double v = x[i * step];
      sum += p_ == 1 ? std::fabs(v) : v * v;
    }
    if (p_ == 2) sum = std::sqrt(sum);
    for (int64_t i = 0; i < n; ++i) y[i * step] = sum == 0 ? T(0) : static_cast<T>(x[i * step] / sum);
  }

  int64_t axis_;
  int p_;
};

constexpr OpDef kDefs[] = {
    {"LpNormalization", infer, cpu_widened<LpKernel>(kFloats), {.reviewed = 22, .in_place = {{0, 0}}}}};

}  // namespace

TRUNNION_OPS(lp_normalization, kDefs);
}  // namespace trunnion::ops
