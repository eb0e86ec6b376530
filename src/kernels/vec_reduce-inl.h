// Sums, maxima and minima of a contiguous f32 range for x.simd.cc files, compiled once per target.
// The order of additions depends on n and the target only.
#include "hwy/highway.h"
#include "kernels/vec_math-inl.h"

#if defined(TRUNNION_KERNELS_VEC_REDUCE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TRUNNION_KERNELS_VEC_REDUCE_INL_H_
#undef TRUNNION_KERNELS_VEC_REDUCE_INL_H_
#else
#define TRUNNION_KERNELS_VEC_REDUCE_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace trunnion::kernels::HWY_NAMESPACE {

// As LoadTail, with `fill` in the lanes from n on.
HWY_INLINE VF LoadTailOr(DF d, const float* p, size_t n, VF fill) {
  return hn::IfThenElse(hn::FirstN(d, n), LoadTail(d, p, n), fill);
}

HWY_INLINE float SumLanes(DF d, VF v) { return hn::GetLane(hn::SumOfLanes(d, v)); }
HWY_INLINE float MaxLanes(DF d, VF v) { return hn::GetLane(hn::MaxOfLanes(d, v)); }
HWY_INLINE float MinLanes(DF d, VF v) { return hn::GetLane(hn::MinOfLanes(d, v)); }

// Elements added up in one set of accumulators before these are folded: bounds the growth of the rounding error.
constexpr size_t kSumChunk = 4096;

// Lane sums of map(x[i]); map is called as map(d, v).
template <class Map>
HWY_INLINE VF SumChunk(DF d, const float* x, size_t n, const Map& map) {
  const size_t lanes = hn::Lanes(d);
  VF s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    s0 = hn::Add(s0, map(d, hn::LoadU(d, x + i)));
    s1 = hn::Add(s1, map(d, hn::LoadU(d, x + i + lanes)));
    s2 = hn::Add(s2, map(d, hn::LoadU(d, x + i + 2 * lanes)));
    s3 = hn::Add(s3, map(d, hn::LoadU(d, x + i + 3 * lanes)));
  }
  for (; i + lanes <= n; i += lanes) s0 = hn::Add(s0, map(d, hn::LoadU(d, x + i)));
  if (i < n) s1 = hn::Add(s1, hn::IfThenElseZero(hn::FirstN(d, n - i), map(d, LoadTail(d, x + i, n - i))));
  return hn::Add(hn::Add(s0, s1), hn::Add(s2, s3));
}

template <class Map>
HWY_INLINE float SumRange(DF d, const float* x, size_t n, const Map& map) {
  if (n <= kSumChunk) return SumLanes(d, SumChunk(d, x, n, map));
  VF total = hn::Zero(d);
  for (size_t at = 0; at < n; at += kSumChunk) {
    total = hn::Add(total, SumChunk(d, x + at, n - at < kSumChunk ? n - at : kSumChunk, map));
  }
  return SumLanes(d, total);
}

struct SameMap {
  HWY_INLINE VF operator()(DF, VF v) const { return v; }
};
struct SquareMap {
  HWY_INLINE VF operator()(DF, VF v) const { return hn::Mul(v, v); }
};
struct AbsMap {
  HWY_INLINE VF operator()(DF, VF v) const { return hn::Abs(v); }
};
struct SquareFromMap {  // (v - center)^2
  VF center;
  HWY_INLINE VF operator()(DF, VF v) const {
    const VF c = hn::Sub(v, center);
    return hn::Mul(c, c);
  }
};
struct ExpFromMap {  // e^(v - center)
  VF center;
  HWY_INLINE VF operator()(DF d, VF v) const { return ExpFlush(d, hn::Sub(v, center)); }
};

// Largest of n elements; -inf for none. NaN are passed over.
HWY_INLINE float MaxRange(DF d, const float* x, size_t n) {
  const size_t lanes = hn::Lanes(d);
  const VF low = hn::Neg(hn::Inf(d));
  VF m0 = low, m1 = low, m2 = low, m3 = low;
  size_t i = 0;
  // The accumulator is the second operand: it stays when x is NaN.
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    m0 = hn::Max(hn::LoadU(d, x + i), m0);
    m1 = hn::Max(hn::LoadU(d, x + i + lanes), m1);
    m2 = hn::Max(hn::LoadU(d, x + i + 2 * lanes), m2);
    m3 = hn::Max(hn::LoadU(d, x + i + 3 * lanes), m3);
  }
  for (; i + lanes <= n; i += lanes) m0 = hn::Max(hn::LoadU(d, x + i), m0);
  if (i < n) m1 = hn::Max(LoadTailOr(d, x + i, n - i, low), m1);
  return MaxLanes(d, hn::Max(hn::Max(m0, m1), hn::Max(m2, m3)));
}

// Smallest of n elements; +inf for none. NaN are passed over.
HWY_INLINE float MinRange(DF d, const float* x, size_t n) {
  const size_t lanes = hn::Lanes(d);
  const VF high = hn::Inf(d);
  VF m0 = high, m1 = high, m2 = high, m3 = high;
  size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    m0 = hn::Min(hn::LoadU(d, x + i), m0);
    m1 = hn::Min(hn::LoadU(d, x + i + lanes), m1);
    m2 = hn::Min(hn::LoadU(d, x + i + 2 * lanes), m2);
    m3 = hn::Min(hn::LoadU(d, x + i + 3 * lanes), m3);
  }
  for (; i + lanes <= n; i += lanes) m0 = hn::Min(hn::LoadU(d, x + i), m0);
  if (i < n) m1 = hn::Min(LoadTailOr(d, x + i, n - i, high), m1);
  return MinLanes(d, hn::Min(hn::Min(m0, m1), hn::Min(m2, m3)));
}

}  // namespace trunnion::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
