// Reductions of f64 and integers: rows with four accumulators, columns in blocks whose results stay in the first-level
// cache. The order of additions depends on the shape and the rung only.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce_types.simd.cc"
#include <cmath>
#include <limits>
#include <type_traits>
// clang-format off
#include "kernels/rung_table.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on
#include "kernels/reduce_table.h"

HWY_BEFORE_NAMESPACE();
namespace trunnion::kernels::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using Op = ReduceOp;
constexpr bool IsExtreme(Op op) { return op == Op::max || op == Op::min; }

// Sums of integers wrap: scalar steps are unsigned.
template <class T>
HWY_INLINE T Plus(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
  } else {
    return a + b;
  }
}
template <class T>
HWY_INLINE T Times(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
  } else {
    return a * b;
  }
}

template <Op kOp, class T>
HWY_INLINE T Neutral() {
  if constexpr (kOp == Op::prod) return T(1);
  if constexpr (kOp == Op::max)
    return std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
  if constexpr (kOp == Op::min)
    return std::is_floating_point_v<T> ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
  return T(0);
}

template <Op kOp, class T>
HWY_INLINE T MapOne(T v) {
  if constexpr (kOp == Op::sum_square || kOp == Op::l2) return Times(v, v);
  if constexpr (kOp == Op::l1 && std::is_signed_v<T>) return v < 0 ? (std::is_integral_v<T> ? Times(v, T(-1)) : -v) : v;
  return v;
}
template <Op kOp, class T>
HWY_INLINE T JoinOne(T acc, T v) {  // NaN wins
  if constexpr (kOp == Op::max) return acc != acc || acc > v ? acc : v;
  if constexpr (kOp == Op::min) return acc != acc || acc < v ? acc : v;
  if constexpr (kOp == Op::prod) return Times(acc, v);
  return Plus(acc, v);
}
template <Op kOp, class T>
HWY_INLINE T FinishOne(T v, int64_t axis) {
  if constexpr (kOp == Op::mean) {
    if constexpr (std::is_integral_v<T>) return axis == 0 ? T(0) : static_cast<T>(v / static_cast<T>(axis));
    return v / static_cast<T>(axis);
  }
  if constexpr (kOp == Op::l2) return std::sqrt(v);
  if constexpr (kOp == Op::log_sum) return std::log(v);
  return v;
}

template <Op kOp, class D, class V = hn::Vec<D>>
HWY_INLINE V Map(D d, V v) {
  using T = hn::TFromD<D>;
  (void)d;
  if constexpr (kOp == Op::sum_square || kOp == Op::l2) return hn::Mul(v, v);
  if constexpr (kOp == Op::l1 && std::is_signed_v<T>) return hn::Abs(v);
  return v;
}
template <Op kOp, class D, class V = hn::Vec<D>>
HWY_INLINE V Join(D, V acc, V v) {
  if constexpr (IsExtreme(kOp)) {
    const V r = kOp == Op::max ? hn::Max(acc, v) : hn::Min(acc, v);  // v when either is NaN
    if constexpr (std::is_floating_point_v<hn::TFromD<D>>) {
      return hn::IfThenElse(hn::IsNaN(acc), acc, r);
    } else {
      return r;
    }
  } else if constexpr (kOp == Op::prod) {
    return hn::Mul(acc, v);
  } else {
    return hn::Add(acc, v);
  }
}

// The lanes of a vector in the order of a balanced tree.
template <Op kOp, class D, class V = hn::Vec<D>>
HWY_INLINE hn::TFromD<D> JoinLanes(D d, V v) {
  using T = hn::TFromD<D>;
  HWY_ALIGN T lane[HWY_MAX_BYTES / sizeof(T)];
  hn::Store(v, d, lane);
  constexpr size_t kQuarter = 16 / sizeof(T);
  size_t n = hn::Lanes(d);
  if constexpr (IsExtreme(kOp) && sizeof(T) <= 2) {
    const hn::FixedTag<T, kQuarter> dq;
    const hn::Repartition<uint8_t, decltype(dq)> d8;
    auto q = hn::Load(dq, lane);
    for (size_t i = kQuarter; i < n; i += kQuarter) q = Join<kOp>(dq, q, hn::Load(dq, lane + i));
    // What is shifted in lies above the lanes that still count.
    q = Join<kOp>(dq, q, hn::BitCast(dq, hn::ShiftRightBytes<8>(d8, hn::BitCast(d8, q))));
    q = Join<kOp>(dq, q, hn::BitCast(dq, hn::ShiftRightBytes<4>(d8, hn::BitCast(d8, q))));
    q = Join<kOp>(dq, q, hn::BitCast(dq, hn::ShiftRightBytes<2>(d8, hn::BitCast(d8, q))));
    if constexpr (sizeof(T) == 1) q = Join<kOp>(dq, q, hn::BitCast(dq, hn::ShiftRightBytes<1>(d8, hn::BitCast(d8, q))));
    return hn::GetLane(q);
  } else {
    for (n /= 2; n > 0; n /= 2) {
      for (size_t i = 0; i < n; ++i) lane[i] = JoinOne<kOp>(lane[i], lane[i + n]);
    }
    return lane[0];
  }
}

// The rest of a row, from i on.
template <Op kOp, class T>
HWY_INLINE T RowEnd(const T* x, size_t i, size_t n, T acc) {
  for (; i < n; ++i) acc = JoinOne<kOp>(acc, MapOne<kOp>(x[i]));
  return acc;
}

template <Op kOp, class D, class T = hn::TFromD<D>>
HWY_INLINE T RowOf(D d, const T* x, size_t n) {
  const size_t lanes = hn::Lanes(d);
  if (n < lanes) return RowEnd<kOp>(x, 0, n, Neutral<kOp, T>());
  using V = hn::Vec<D>;
  V a0 = hn::Set(d, Neutral<kOp, T>()), a1 = a0, a2 = a0, a3 = a0;
  size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    a0 = Join<kOp>(d, a0, Map<kOp>(d, hn::LoadU(d, x + i)));
    a1 = Join<kOp>(d, a1, Map<kOp>(d, hn::LoadU(d, x + i + lanes)));
    a2 = Join<kOp>(d, a2, Map<kOp>(d, hn::LoadU(d, x + i + 2 * lanes)));
    a3 = Join<kOp>(d, a3, Map<kOp>(d, hn::LoadU(d, x + i + 3 * lanes)));
  }
  for (; i + lanes <= n; i += lanes) a0 = Join<kOp>(d, a0, Map<kOp>(d, hn::LoadU(d, x + i)));
  if constexpr (IsExtreme(kOp)) {  // elements may count twice
    if (i < n) a1 = Join<kOp>(d, a1, hn::LoadU(d, x + n - lanes));
    i = n;
  }
  const V all = Join<kOp>(d, Join<kOp>(d, a0, a1), Join<kOp>(d, a2, a3));
  return RowEnd<kOp>(x, i, n, JoinLanes<kOp>(d, all));
}

template <Op kOp, class T>
HWY_INLINE T Row(const T* x, size_t n) {
  const hn::ScalableTag<T> d;
  const hn::FixedTag<T, 16 / sizeof(T)> narrow;
  if constexpr (kOp == Op::log_sum_exp) {
    const T max = Row<Op::max, T>(x, n);
    if (!(max - max == 0)) return max;  // infinite or NaN
    T sum = 0;
    for (size_t i = 0; i < n; ++i) sum += std::exp(x[i] - max);
    return max + std::log(sum);
  } else {
    const T r = n < hn::Lanes(d) ? RowOf<kOp>(narrow, x, n) : RowOf<kOp>(d, x, n);
    return FinishOne<kOp>(r, static_cast<int64_t>(n));
  }
}

// The columns that are whole vectors; returns how many these are.
template <Op kOp, class D, class T = hn::TFromD<D>>
HWY_INLINE int64_t ColumnsOf(D d, const T* x, T* y, int64_t axis, int64_t stride, int64_t inner) {
  constexpr int64_t kBlock = 4096 / sizeof(T);
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  HWY_ALIGN T acc[kBlock];
  int64_t c = 0;
  while (inner - c >= lanes) {
    const int64_t n = (inner - c < kBlock ? inner - c : kBlock) / lanes * lanes;
    for (int64_t i = 0; i < n; i += lanes) hn::Store(hn::Set(d, Neutral<kOp, T>()), d, acc + i);
    int64_t r = 0;
    for (; r + 4 <= axis; r += 4) {
      const T* row = x + r * stride + c;
      for (int64_t i = 0; i < n; i += lanes) {
        auto v = Join<kOp>(d, hn::Load(d, acc + i), Map<kOp>(d, hn::LoadU(d, row + i)));
        v = Join<kOp>(d, v, Map<kOp>(d, hn::LoadU(d, row + stride + i)));
        v = Join<kOp>(d, v, Map<kOp>(d, hn::LoadU(d, row + 2 * stride + i)));
        v = Join<kOp>(d, v, Map<kOp>(d, hn::LoadU(d, row + 3 * stride + i)));
        hn::Store(v, d, acc + i);
      }
    }
    for (; r < axis; ++r) {
      const T* row = x + r * stride + c;
      for (int64_t i = 0; i < n; i += lanes)
        hn::Store(Join<kOp>(d, hn::Load(d, acc + i), Map<kOp>(d, hn::LoadU(d, row + i))), d, acc + i);
    }
    for (int64_t i = 0; i < n; ++i) y[c + i] = FinishOne<kOp>(acc[i], axis);
    c += n;
  }
  return c;
}

template <Op kOp, class T>
void Run(const void* xv, void* yv, const ReduceShape& s) {
  const T* x = static_cast<const T*>(xv);
  T* y = static_cast<T*>(yv);
  const hn::ScalableTag<T> d;
  const hn::FixedTag<T, 16 / sizeof(T)> narrow;
  for (int64_t o = 0; o < s.outer; ++o, x += s.axis * s.stride, y += s.stride) {
    if (s.inner == 1 && s.stride == 1) {
      y[0] = Row<kOp>(x, static_cast<size_t>(s.axis));
      continue;
    }
    int64_t i = 0;
    if constexpr (kOp != Op::log_sum_exp) {
      i = ColumnsOf<kOp>(d, x, y, s.axis, s.stride, s.inner);
      i += ColumnsOf<kOp>(narrow, x + i, y + i, s.axis, s.stride, s.inner - i);
    }
    for (; i < s.inner; ++i) {  // one after the other, as in the columns of a vector
      T acc = Neutral<kOp, T>();
      if constexpr (kOp == Op::log_sum_exp) {
        T max = Neutral<Op::max, T>();
        for (int64_t k = 0; k < s.axis; ++k) max = JoinOne<Op::max>(max, x[k * s.stride + i]);
        for (int64_t k = 0; k < s.axis; ++k) acc += std::exp(x[k * s.stride + i] - max);
        y[i] = max - max == 0 ? max + std::log(acc) : max;
      } else {
        for (int64_t k = 0; k < s.axis; ++k) acc = JoinOne<kOp>(acc, MapOne<kOp>(x[k * s.stride + i]));
        y[i] = FinishOne<kOp>(acc, s.axis);
      }
    }
  }
}

}  // namespace

// S is the signed type of T's size: what wraps around has the same bits.
#define TRN_SUMS(T, S)                                                                          \
  {                                                                                             \
    &Run<Op::sum, S>, &Run<Op::mean, T>, &Run<Op::max, T>, &Run<Op::min, T>, &Run<Op::prod, S>, \
        &Run<Op::sum_square, S>, std::is_signed_v<T> ? &Run<Op::l1, S> : &Run<Op::sum, S>       \
  }
#define TRN_EXTREMES(T) \
  { &Run<Op::max, T>, &Run<Op::min, T> }
constexpr ReduceTypesTable kTable = {
    {&Run<Op::sum, double>, &Run<Op::mean, double>, &Run<Op::max, double>, &Run<Op::min, double>,
     &Run<Op::prod, double>, &Run<Op::sum_square, double>, &Run<Op::l1, double>, &Run<Op::l2, double>,
     &Run<Op::log_sum, double>, &Run<Op::log_sum_exp, double>},
    TRN_SUMS(int32_t, int32_t),
    TRN_SUMS(int64_t, int64_t),
    TRN_SUMS(uint32_t, int32_t),
    TRN_SUMS(uint64_t, int64_t),
    TRN_EXTREMES(int8_t),
    TRN_EXTREMES(uint8_t),
    TRN_EXTREMES(int16_t),
    TRN_EXTREMES(uint16_t)};
#undef TRN_SUMS
#undef TRN_EXTREMES

}  // namespace trunnion::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trunnion::kernels {
const ReduceTypesTable& reduce_types_table() { TRN_RUNG_TABLE(kTable) }
}  // namespace trunnion::kernels
#endif
