// f32 reductions. inner == 1: along rows, vec_reduce-inl.h. inner > 1: a vector of columns at a time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce.simd.cc"
#include <cmath>
#include <limits>
// clang-format off
#include "kernels/rung_table.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on
#include "kernels/reduce_table.h"
#include "kernels/vec_reduce-inl.h"

HWY_BEFORE_NAMESPACE();
namespace trunnion::kernels::HWY_NAMESPACE {
namespace {

using Op = ReduceOp;

constexpr bool IsExtreme(Op op) { return op == Op::max || op == Op::min; }

// NaN wins: the larger (smaller) of acc and v, or NaN when either is.
template <bool kMax>
HWY_INLINE VF Extreme(VF acc, VF v) {
  const VF r = kMax ? hn::Max(acc, v) : hn::Min(acc, v);  // v when either is NaN
  return hn::IfThenElse(hn::IsNaN(acc), acc, r);
}

HWY_INLINE float ProductLanes(DF d, VF v) {
  HWY_ALIGN float lanes[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(v, d, lanes);
  size_t n = hn::Lanes(d);
  for (; n > 1; n /= 2) {
    for (size_t i = 0; i < n / 2; ++i) lanes[i] *= lanes[i + n / 2];
  }
  return lanes[0];
}

HWY_INLINE float ProductRange(DF d, const float* x, size_t n) {
  const size_t lanes = hn::Lanes(d);
  const VF one = hn::Set(d, 1.0f);
  VF p0 = one, p1 = one;
  size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    p0 = hn::Mul(p0, hn::LoadU(d, x + i));
    p1 = hn::Mul(p1, hn::LoadU(d, x + i + lanes));
  }
  for (; i + lanes <= n; i += lanes) p0 = hn::Mul(p0, hn::LoadU(d, x + i));
  if (i < n) p1 = hn::Mul(p1, LoadTailOr(d, x + i, n - i, one));
  return ProductLanes(d, hn::Mul(p0, p1));
}

template <bool kMax>
HWY_INLINE float ExtremeRange(DF d, const float* x, size_t n) {
  const size_t lanes = hn::Lanes(d);
  const VF start = kMax ? hn::Neg(hn::Inf(d)) : hn::Inf(d);
  VF e0 = start, e1 = start;
  MF nan = hn::IsNaN(start);
  size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const VF v0 = hn::LoadU(d, x + i), v1 = hn::LoadU(d, x + i + lanes);
    e0 = kMax ? hn::Max(e0, v0) : hn::Min(e0, v0);
    e1 = kMax ? hn::Max(e1, v1) : hn::Min(e1, v1);
    nan = hn::Or(nan, hn::Or(hn::IsNaN(v0), hn::IsNaN(v1)));
  }
  for (; i < n; i += lanes) {
    const VF v = i + lanes <= n ? hn::LoadU(d, x + i) : LoadTailOr(d, x + i, n - i, start);
    e0 = kMax ? hn::Max(e0, v) : hn::Min(e0, v);
    nan = hn::Or(nan, hn::IsNaN(v));
  }
  if (!hn::AllFalse(d, nan)) return std::numeric_limits<float>::quiet_NaN();
  return kMax ? MaxLanes(d, hn::Max(e0, e1)) : MinLanes(d, hn::Min(e0, e1));
}

// The center of log_sum_exp must be finite: +-inf as the largest element is taken as it is.
HWY_INLINE float LogSumExp(DF d, const float* x, size_t n) {
  const float max = ExtremeRange<true>(d, x, n);
  if (!(max - max == 0)) return max;  // infinite or NaN
  return max + std::log(SumRange(d, x, n, ExpFromMap{hn::Set(d, max)}));
}

template <Op kOp>
HWY_INLINE float Row(DF d, const float* x, size_t n) {
  if constexpr (kOp == Op::sum) return SumRange(d, x, n, SameMap());
  if constexpr (kOp == Op::mean) return SumRange(d, x, n, SameMap()) / static_cast<float>(n);
  if constexpr (kOp == Op::max) return ExtremeRange<true>(d, x, n);
  if constexpr (kOp == Op::min) return ExtremeRange<false>(d, x, n);
  if constexpr (kOp == Op::prod) return ProductRange(d, x, n);
  if constexpr (kOp == Op::sum_square) return SumRange(d, x, n, SquareMap());
  if constexpr (kOp == Op::l1) return SumRange(d, x, n, AbsMap());
  if constexpr (kOp == Op::l2) return std::sqrt(SumRange(d, x, n, SquareMap()));
  if constexpr (kOp == Op::log_sum) return std::log(SumRange(d, x, n, SameMap()));
  if constexpr (kOp == Op::log_sum_exp) return LogSumExp(d, x, n);
}

template <Op kOp>
HWY_INLINE VF Mapped(VF v) {
  if constexpr (kOp == Op::sum_square || kOp == Op::l2) return hn::Mul(v, v);
  if constexpr (kOp == Op::l1) return hn::Abs(v);
  return v;
}

// One vector of columns (`count` of them when kTail); elements of a column are `stride` apart.
template <Op kOp, bool kTail>
HWY_INLINE void Columns(DF d, const float* x, float* y, int64_t axis, int64_t stride, size_t count) {
  const auto load = [&](int64_t r)
                        HWY_ATTR { return kTail ? LoadTail(d, x + r * stride, count) : hn::LoadU(d, x + r * stride); };
  VF result;
  if constexpr (IsExtreme(kOp)) {
    result = kOp == Op::max ? hn::Neg(hn::Inf(d)) : hn::Inf(d);
    for (int64_t r = 0; r < axis; ++r) result = Extreme<kOp == Op::max>(result, load(r));
  } else if constexpr (kOp == Op::prod) {
    result = hn::Set(d, 1.0f);
    for (int64_t r = 0; r < axis; ++r) result = hn::Mul(result, load(r));
  } else if constexpr (kOp == Op::log_sum_exp) {
    VF max = hn::Neg(hn::Inf(d));
    for (int64_t r = 0; r < axis; ++r) max = Extreme<true>(max, load(r));
    VF sum = hn::Zero(d);
    for (int64_t r = 0; r < axis; ++r) sum = hn::Add(sum, ExpFlush(d, hn::Sub(load(r), max)));
    const MF finite = hn::Eq(hn::Sub(max, max), hn::Zero(d));
    result = hn::IfThenElse(finite, hn::Add(max, Log(d, sum)), max);
  } else {
    constexpr int64_t kChunk = 64;  // as kSumChunk
    result = hn::Zero(d);
    for (int64_t at = 0; at < axis; at += kChunk) {
      const int64_t end = at + kChunk < axis ? at + kChunk : axis;
      VF s0 = hn::Zero(d), s1 = s0;
      int64_t r = at;
      for (; r + 2 <= end; r += 2) {
        s0 = hn::Add(s0, Mapped<kOp>(load(r)));
        s1 = hn::Add(s1, Mapped<kOp>(load(r + 1)));
      }
      if (r < end) s0 = hn::Add(s0, Mapped<kOp>(load(r)));
      result = hn::Add(result, hn::Add(s0, s1));
    }
    if constexpr (kOp == Op::mean) result = hn::Div(result, hn::Set(d, static_cast<float>(axis)));
    if constexpr (kOp == Op::l2) result = hn::Sqrt(result);
    if constexpr (kOp == Op::log_sum) result = Log(d, result);
  }
  if constexpr (kTail) {
    StoreTail(result, d, y, count);
  } else {
    hn::StoreU(result, d, y);
  }
}

template <Op kOp>
void Run(const void* xv, void* yv, const ReduceShape& shape) {
  const float* x = static_cast<const float*>(xv);
  float* y = static_cast<float*>(yv);
  const DF d;
  for (int64_t o = 0; o < shape.outer; ++o, x += shape.axis * shape.stride, y += shape.stride) {
    if (shape.stride == 1 && shape.inner == 1) {
      y[0] = Row<kOp>(d, x, static_cast<size_t>(shape.axis));
      continue;
    }
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    int64_t i = 0;
    for (; i + lanes <= shape.inner; i += lanes) Columns<kOp, false>(d, x + i, y + i, shape.axis, shape.stride, 0);
    if (i < shape.inner) {
      Columns<kOp, true>(d, x + i, y + i, shape.axis, shape.stride, static_cast<size_t>(shape.inner - i));
    }
  }
}

}  // namespace

// In the order of ReduceOp.
constexpr ReduceTable kTable = {{&Run<Op::sum>, &Run<Op::mean>, &Run<Op::max>, &Run<Op::min>, &Run<Op::prod>,
                                 &Run<Op::sum_square>, &Run<Op::l1>, &Run<Op::l2>, &Run<Op::log_sum>,
                                 &Run<Op::log_sum_exp>}};

}  // namespace trunnion::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trunnion::kernels {
const ReduceTable& reduce_table() { TRN_RUNG_TABLE(kTable) }
}  // namespace trunnion::kernels
#endif
