// CumSum (ai.onnx 11, 14) and CumProd (26): running sums and products along an axis that comes as an input.
// 16-bit floats are accumulated in float.
#include <algorithm>

#include "kernels/running_sum.h"
#include "ops/dispatch.h"
#include "ops/elementwise.h"
#include "ops/move.h"
#include "ops/widen.h"

namespace trunnion::ops {
namespace {

struct Params {
  bool exclusive, reverse;
};
Params read(const ir::Node& n) { return {n.attr("exclusive", 0) != 0, n.attr("reverse", 0) != 0}; }

Status infer(const ir::Node& n, ir::Facts& f) {
  if (f.has_rank(1) && f.in(1).rank() > 1)
    return invalid_argument("axis has shape {}, needs one element", shape_text(f.in(1).shape()));
  if (const auto axis = f.ints(1); axis && axis->size() == 1 && f.has_rank(0))
    TRN_TRY(normalize_axis((*axis)[0], f.in(0).rank()));
  return infer_elementwise(n, f);
}

template <bool kProduct, class C>
C join(C a, C b) {
  if constexpr (std::is_integral_v<C>) {  // wraps around
    using U = std::make_unsigned_t<C>;
    return static_cast<C>(kProduct ? static_cast<U>(a) * static_cast<U>(b) : static_cast<U>(a) + static_cast<U>(b));
  } else {
    return kProduct ? a * b : a + b;
  }
}

template <bool kProduct>
class CumKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    return std::unique_ptr<Kernel>(new CumKernel(read(node)));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    if (ctx.in(1).count != 1) return invalid_argument("axis has {} elements, needs one", ctx.in(1).count);
    if (x.rank == 0) {  // a scalar is its own sum
      TRN_TRY(normalize_axis(read_ints(ctx.in(1))[0], 1));
      return dispatch<kTypes.bits()>(x.dtype, [&]<class T>() { lines<T>(x, y, {0, 1, 1, 1}, p_); });
    }
    TRN_ASSIGN(const int axis, normalize_axis(read_ints(ctx.in(1))[0], x.rank));
    const int64_t outer = product(x.shape(), 0, axis), n = x.dim(axis), inner = product(x.shape(), axis + 1, x.rank);
    if (x.count == 0) return {};
    return dispatch<kTypes.bits()>(x.dtype, [&]<class T>() {
      const int64_t grain = 16384 / std::max<int64_t>(n, 1) + 1;
      ctx.parallel_for(outer * inner, grain, [&](int64_t begin, int64_t end) {
        while (begin < end) {  // pieces that stay inside one outer block
          const int64_t at = begin % inner, width = std::min(inner - at, end - begin);
          const Lines l{begin / inner * n * inner + at, n, width, inner};
          if (kProduct || !sums(x, y, l, p_)) lines<T>(x, y, l, p_);
          begin += width;
        }
      });
    });
  }

 private:
  static constexpr DTypes kTypes = kFloats | DType::i32 | DType::i64 | DType::u32 | DType::u64;

  // `width` neighbouring lines of n elements, `step` apart, from element `start` on.
  struct Lines {
    int64_t start, n, width, step;
  };

  explicit CumKernel(Params p) : p_(p) {}

  // By vectors; false for types that have none.
  static bool sums(const TensorView& x, const TensorView& y, const Lines& l, Params p) {
    const kernels::RunningSum* fn = kernels::running_sum(elem(x.dtype));
    if (!fn) return false;
    const void* from = element(x.data, l.start, x.dtype);
    void* to = element(y.data, l.start, y.dtype);
    if (l.step == 1)
      fn->row(from, to, l.n, p.exclusive, p.reverse);
    else
      fn->columns(from, to, l.n, l.width, l.step, p.exclusive, p.reverse);
    return true;
  }

  template <class T>
  static void lines(const TensorView& xv, const TensorView& yv, const Lines& l, Params p) {
    using C = Compute<T>;
    constexpr C kUnit = kProduct ? C(1) : C(0);
    const int64_t first = p.reverse ? l.n - 1 : 0, move = p.reverse ? -l.step : l.step;
    constexpr int64_t kTile = 64;
    for (int64_t c = 0; c < l.width; c += kTile) {
      const int64_t w = std::min(kTile, l.width - c);
      C total[kTile];
      std::fill_n(total, w, kUnit);
      const T* x = xv.as<const T>() + l.start + c + first * l.step;
      T* y = yv.as<T>() + l.start + c + first * l.step;
      for (int64_t i = 0; i < l.n; ++i, x += move, y += move)
        for (int64_t j = 0; j < w; ++j) {
          const C v = static_cast<C>(x[j]), sum = join<kProduct>(total[j], v);
          y[j] = static_cast<T>(p.exclusive ? total[j] : sum);
          total[j] = sum;
        }
    }
  }

  Params p_;
};

constexpr DTypes kTypes = kFloats | DType::i32 | DType::i64 | DType::u32 | DType::u64;
constexpr OpDef kDefs[] = {
    {"CumSum", infer, cpu_widened<CumKernel<false>>(kTypes), {.reviewed = 14, .in_place = {{0, 0}}}},
    {"CumProd", infer, cpu_widened<CumKernel<true>>(kTypes), {.reviewed = 26, .in_place = {{0, 0}}}},
};

}  // namespace

TRUNNION_OPS(cum_sum, kDefs);
}  // namespace trunnion::ops
