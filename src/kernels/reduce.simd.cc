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

template <Op kOp>
HWY_INLINE VF Join(VF a, VF b) {
  if constexpr (IsExtreme(kOp)) return Extreme<kOp == Op::max>(a, b);
  if constexpr (kOp == Op::prod) return hn::Mul(a, b);
  return hn::Add(a, b);
}
template <Op kOp>
HWY_INLINE VF Start(DF d) {
  if constexpr (kOp == Op::prod) return hn::Set(d, 1.0f);
  if constexpr (kOp == Op::max) return hn::Neg(hn::Inf(d));
  if constexpr (kOp == Op::min) return hn::Inf(d);
  return hn::Zero(d);
}
template <Op kOp>
HWY_INLINE VF Finish(DF d, VF v, int64_t axis) {
  if constexpr (kOp == Op::mean) return hn::Div(v, hn::Set(d, static_cast<float>(axis)));
  if constexpr (kOp == Op::l2) return hn::Sqrt(v);
  if constexpr (kOp == Op::log_sum) return Log(d, v);
  return v;
}
// Eight rows in one order, whoever asks: load(k) gives row k.
template <Op kOp, class Load>
HWY_INLINE VF EightRows(const Load& load) {
  const VF a = Join<kOp>(Join<kOp>(load(0), load(1)), Join<kOp>(load(2), load(3)));
  const VF b = Join<kOp>(Join<kOp>(load(4), load(5)), Join<kOp>(load(6), load(7)));
  return Join<kOp>(a, b);
}
constexpr int64_t kRowChunk = 512;  // rows that are joined before they meet the result

// One vector of columns (`count` of them when kTail); elements of a column are `stride` apart.
template <Op kOp, bool kTail>
HWY_INLINE void Columns(DF d, const float* x, float* y, int64_t axis, int64_t stride, size_t count) {
  const auto load = [&](int64_t r)
                        HWY_ATTR { return kTail ? LoadTail(d, x + r * stride, count) : hn::LoadU(d, x + r * stride); };
  VF result;
  if constexpr (kOp == Op::log_sum_exp) {
    VF max = hn::Neg(hn::Inf(d));
    for (int64_t r = 0; r < axis; ++r) max = Extreme<true>(max, load(r));
    VF sum = hn::Zero(d);
    for (int64_t r = 0; r < axis; ++r) sum = hn::Add(sum, ExpFlush(d, hn::Sub(load(r), max)));
    const MF finite = hn::Eq(hn::Sub(max, max), hn::Zero(d));
    result = hn::IfThenElse(finite, hn::Add(max, Log(d, sum)), max);
  } else {
    result = Start<kOp>(d);
    for (int64_t at = 0; at < axis; at += kRowChunk) {
      const int64_t end = at + kRowChunk < axis ? at + kRowChunk : axis;
      VF acc = Start<kOp>(d);
      int64_t r = at;
      for (; r + 8 <= end; r += 8)
        acc = Join<kOp>(acc, EightRows<kOp>([&](int64_t k) HWY_ATTR { return Mapped<kOp>(load(r + k)); }));
      for (; r < end; ++r) acc = Join<kOp>(acc, Mapped<kOp>(load(r)));
      result = Join<kOp>(result, acc);
    }
    result = Finish<kOp>(d, result, axis);
  }
  if constexpr (kTail) {
    StoreTail(result, d, y, count);
  } else {
    hn::StoreU(result, d, y);
  }
}

// Many columns: row by row over a block of them, with the results so far in the first-level cache; the same order as
// in Columns. Returns the number of columns done.
template <Op kOp>
HWY_INLINE int64_t WideColumns(DF d, const float* x, float* y, int64_t axis, int64_t stride, int64_t inner) {
  constexpr int64_t kBlock = 1024;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  HWY_ALIGN float acc[kBlock], total[kBlock];
  int64_t c = 0;
  while (inner - c >= lanes) {
    const int64_t n = (inner - c < kBlock ? inner - c : kBlock) / lanes * lanes;
    for (int64_t i = 0; i < n; i += lanes) hn::Store(Start<kOp>(d), d, total + i);
    for (int64_t at = 0; at < axis; at += kRowChunk) {
      const int64_t end = at + kRowChunk < axis ? at + kRowChunk : axis;
      for (int64_t i = 0; i < n; i += lanes) hn::Store(Start<kOp>(d), d, acc + i);
      int64_t r = at;
      for (; r + 8 <= end; r += 8) {
        const float* row = x + r * stride + c;
        for (int64_t i = 0; i < n; i += lanes) {
          const VF eight =
              EightRows<kOp>([&](int64_t k) HWY_ATTR { return Mapped<kOp>(hn::LoadU(d, row + k * stride + i)); });
          hn::Store(Join<kOp>(hn::Load(d, acc + i), eight), d, acc + i);
        }
      }
      for (; r < end; ++r) {
        const float* row = x + r * stride + c;
        for (int64_t i = 0; i < n; i += lanes)
          hn::Store(Join<kOp>(hn::Load(d, acc + i), Mapped<kOp>(hn::LoadU(d, row + i))), d, acc + i);
      }
      for (int64_t i = 0; i < n; i += lanes)
        hn::Store(Join<kOp>(hn::Load(d, total + i), hn::Load(d, acc + i)), d, total + i);
    }
    for (int64_t i = 0; i < n; i += lanes) hn::StoreU(Finish<kOp>(d, hn::Load(d, total + i), axis), d, y + c + i);
    c += n;
  }
  return c;
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
    if constexpr (kOp != Op::log_sum_exp) {
      if (shape.inner >= 4 * lanes) i = WideColumns<kOp>(d, x, y, shape.axis, shape.stride, shape.inner);
    }
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
