// 32-bit sums to 8 bits or f32, row by row.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/requantize.simd.cc"
#include <algorithm>
#include <cmath>
#include <limits>
// clang-format off
#include "kernels/rung_table.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on
#include "kernels/requantize.h"
#include "kernels/vec_reduce-inl.h"

HWY_BEFORE_NAMESPACE();
namespace trunnion::kernels::HWY_NAMESPACE {
namespace {

HWY_INLINE VI LoadIntTail(const int32_t* p, size_t n) {
  HWY_ALIGN int32_t last[HWY_MAX_BYTES / sizeof(int32_t)] = {};
  for (size_t k = 0; k < n; ++k) last[k] = p[k];
  return hn::Load(DI(), last);
}

// (x + bias) * scale for the lanes from column j on; only `left` of them count.
HWY_INLINE VF Scaled(const RequantizeArgs& a, const int32_t* x, size_t j, size_t left, VF scale) {
  const DF d;
  const DI di;
  const bool whole = left >= hn::Lanes(d);
  VI v = whole ? hn::LoadU(di, x + j) : LoadIntTail(x + j, left);
  if (a.bias) v = hn::Add(v, whole ? hn::LoadU(di, a.bias + j) : LoadIntTail(a.bias + j, left));
  if (a.scale_per_col) scale = whole ? hn::LoadU(d, a.scale + j) : LoadTail(d, a.scale + j, left);
  return hn::Mul(hn::ConvertTo(d, v), scale);
}

// The clamp is that of the narrowing: only what does not fit 32 bits is cut before, and the zero point is added to 16
// bits, saturating. kNan: a scale is infinite or NaN, and so may be a product.
template <class T, bool kNan>
HWY_INLINE VI Rounded(VF v, VF high) {
  const DF d;
  if constexpr (kNan) v = hn::Max(hn::IfThenElseZero(hn::Eq(v, v), v), hn::Set(d, -65536.0f));
  return hn::NearestInt(hn::Min(v, high));
}

// To bytes, saturating, each 128-bit block on its own.
template <class D8, class V>
HWY_INLINE hn::Vec<D8> Narrow(D8 d8, V low, V high) {
  constexpr bool kSigned = std::numeric_limits<hn::TFromD<D8>>::is_signed;
  (void)d8;
#if HWY_TARGET == HWY_AVX3
  return hn::Vec<D8>{kSigned ? _mm512_packs_epi16(low.raw, high.raw) : _mm512_packus_epi16(low.raw, high.raw)};
#elif HWY_TARGET == HWY_AVX2
  return hn::Vec<D8>{kSigned ? _mm256_packs_epi16(low.raw, high.raw) : _mm256_packus_epi16(low.raw, high.raw)};
#elif HWY_ARCH_X86
  return hn::Vec<D8>{kSigned ? _mm_packs_epi16(low.raw, high.raw) : _mm_packus_epi16(low.raw, high.raw)};
#else
  const hn::Half<D8> half;
  return hn::Combine(d8, hn::DemoteTo(half, high), hn::DemoteTo(half, low));
#endif
}

// Columns [j, j + 4 vectors) of all rows.
template <class T, bool kNan>
HWY_INLINE void FourVectors(const RequantizeArgs& a, size_t j, T* y, int64_t y_stride, int32_t zero_point) {
  const DF d;
  const DI di;
  const hn::Repartition<int16_t, DF> d16;
  const hn::Repartition<T, DF> d8;
  const size_t lanes = hn::Lanes(d);
  const VF high = hn::Set(d, 65536.0f), one = hn::Set(d, a.scale_per_col ? 0.0f : *a.scale);
  const auto zero = hn::Set(d16, static_cast<int16_t>(zero_point));
  VF s0 = one, s1 = one, s2 = one, s3 = one;
  if (a.scale_per_col) {
    s0 = hn::LoadU(d, a.scale + j);
    s1 = hn::LoadU(d, a.scale + j + lanes);
    s2 = hn::LoadU(d, a.scale + j + 2 * lanes);
    s3 = hn::LoadU(d, a.scale + j + 3 * lanes);
  }
  VI b0 = hn::Zero(di), b1 = b0, b2 = b0, b3 = b0;
  if (a.bias) {
    b0 = hn::LoadU(di, a.bias + j);
    b1 = hn::LoadU(di, a.bias + j + lanes);
    b2 = hn::LoadU(di, a.bias + j + 2 * lanes);
    b3 = hn::LoadU(di, a.bias + j + 3 * lanes);
  }
  HWY_ALIGN int32_t from[HWY_MAX_BYTES / sizeof(int32_t)];
  const size_t blocks = lanes / 4;
  for (size_t i = 0; i < lanes; ++i) from[i] = static_cast<int32_t>(i % blocks * 4 + i / blocks);
  const auto order = hn::SetTableIndices(di, from);
  const auto part = [&](const int32_t* x, VI bias, VF scale) HWY_ATTR {
    return Rounded<T, kNan>(hn::Mul(hn::ConvertTo(d, hn::Add(hn::LoadU(di, x), bias)), scale), high);
  };
  for (int64_t r = 0; r < a.rows; ++r) {
    const int32_t* x = a.x + r * a.x_stride + j;
    // Each 128-bit block narrows on its own; the order of the groups of four bytes is restored at the end.
    const auto low16 = hn::ReorderDemote2To(d16, part(x, b0, s0), part(x + lanes, b1, s1));
    const auto high16 = hn::ReorderDemote2To(d16, part(x + 2 * lanes, b2, s2), part(x + 3 * lanes, b3, s3));
    const auto bytes = Narrow(d8, hn::SaturatedAdd(low16, zero), hn::SaturatedAdd(high16, zero));
    hn::StoreU(hn::BitCast(d8, hn::TableLookupLanes(hn::BitCast(di, bytes), order)), d8, y + r * y_stride + j);
  }
}

// Columns [j, j + n) of all rows, n at most one vector.
template <class T, bool kNan>
HWY_INLINE void OneVector(const RequantizeArgs& a, size_t j, size_t n, T* y, int64_t y_stride, int32_t zero_point) {
  const DF d;
  const DI di;
  const hn::Rebind<int16_t, DF> d16;
  const hn::Rebind<T, DF> d8;
  const bool whole = n == hn::Lanes(d);
  const VF high = hn::Set(d, 65536.0f);
  const auto zero = hn::Set(d16, static_cast<int16_t>(zero_point));
  VF scale = hn::Set(d, a.scale_per_col ? 0.0f : *a.scale);
  if (a.scale_per_col) scale = whole ? hn::LoadU(d, a.scale + j) : LoadTail(d, a.scale + j, n);
  const VI bias = !a.bias ? hn::Zero(di) : whole ? hn::LoadU(di, a.bias + j) : LoadIntTail(a.bias + j, n);
  for (int64_t r = 0; r < a.rows; ++r) {
    const int32_t* x = a.x + r * a.x_stride + j;
    const VI v = hn::Add(whole ? hn::LoadU(di, x) : LoadIntTail(x, n), bias);
    const auto v16 = hn::DemoteTo(d16, Rounded<T, kNan>(hn::Mul(hn::ConvertTo(d, v), scale), high));
    const auto t = hn::DemoteTo(d8, hn::SaturatedAdd(v16, zero));
    if (whole) {
      hn::StoreU(t, d8, y + r * y_stride + j);
    } else {
      HWY_ALIGN T last[HWY_MAX_BYTES / sizeof(float)];
      hn::Store(t, d8, last);
      for (size_t k = 0; k < n; ++k) y[r * y_stride + static_cast<int64_t>(j + k)] = last[k];
    }
  }
}

template <class T, bool kNan>
HWY_INLINE void AllColumns(const RequantizeArgs& a, T* y, int64_t y_stride, int32_t zero_point) {
  const size_t lanes = hn::Lanes(DF()), cols = static_cast<size_t>(a.cols);
  // Blocks of rows that stay in the cache while their columns are done one block after the other.
  RequantizeArgs part = a;
  const int64_t step = std::max<int64_t>(1, (int64_t{16} << 10) / std::max<int64_t>(1, a.cols));
  for (int64_t row = 0; row < a.rows; row += step) {
    part.x = a.x + row * a.x_stride;
    part.rows = std::min(step, a.rows - row);
    T* to = y + row * y_stride;
    size_t j = 0;
    for (; j + 4 * lanes <= cols; j += 4 * lanes) FourVectors<T, kNan>(part, j, to, y_stride, zero_point);
    for (; j + lanes <= cols; j += lanes) OneVector<T, kNan>(part, j, lanes, to, y_stride, zero_point);
    if (j == cols) continue;
    if (cols >= lanes)  // some of them twice, with the same results
      OneVector<T, kNan>(part, cols - lanes, lanes, to, y_stride, zero_point);
    else
      OneVector<T, kNan>(part, 0, cols, to, y_stride, zero_point);
  }
}

template <class T>
void ToBytes(const RequantizeArgs& a, T* y, int64_t y_stride, int32_t zero_point) {
  bool finite = true;
  for (int64_t i = 0; i < (a.scale_per_col ? a.cols : 1); ++i) finite &= std::fabs(a.scale[i]) < 1e20f;
  if (finite)
    AllColumns<T, false>(a, y, y_stride, zero_point);
  else
    AllColumns<T, true>(a, y, y_stride, zero_point);
}

void ToFloat(const RequantizeArgs& a, float* y, int64_t y_stride, const float* shift) {
  const DF d;
  const size_t lanes = hn::Lanes(d), cols = static_cast<size_t>(a.cols);
  const VF scale = hn::Set(d, a.scale_per_col ? 0.0f : *a.scale);
  for (int64_t r = 0; r < a.rows; ++r) {
    const int32_t* x = a.x + r * a.x_stride;
    float* to = y + r * y_stride;
    for (size_t j = 0; j < cols; j += lanes) {
      const size_t left = cols - j;
      VF v = Scaled(a, x, j, left, scale);
      if (shift) v = hn::Add(v, left >= lanes ? hn::LoadU(d, shift + j) : LoadTail(d, shift + j, left));
      if (left >= lanes)
        hn::StoreU(v, d, to + j);
      else
        StoreTail(v, d, to + j, left);
    }
  }
}

}  // namespace

constexpr RequantizeKernels kTable = {&ToBytes<uint8_t>, &ToBytes<int8_t>, &ToFloat};

}  // namespace trunnion::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trunnion::kernels {
const RequantizeKernels& requantize() { TRN_RUNG_TABLE(kTable) }
}  // namespace trunnion::kernels
#endif
