// Linear quantization of contiguous ranges, with one scale and zero point or one for each element.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/quant.simd.cc"
#include <cstring>
// clang-format off
#include "kernels/rung_table.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on
#include "kernels/quant_table.h"
#include "kernels/vec_bytes-inl.h"
#include "kernels/vec_reduce-inl.h"

HWY_BEFORE_NAMESPACE();
namespace trunnion::kernels::HWY_NAMESPACE {
namespace {

// Four vectors of elements at a time. kEach: scale and zero point by element, else scale[0] and zero[0]. zero may be
// null.
template <class T, bool kEach>
HWY_INLINE void QuantizeFour(const float* x, T* y, const float* scale, const int32_t* zero, VF s, VI z) {
  const DF d;
  const DI di;
  const size_t lanes = hn::Lanes(d);
  // Far beyond any range, and sums with the zero point stay small integers.
  const VF low = hn::Set(d, -1048576.0f), high = hn::Set(d, 1048576.0f);
  const auto code = [&](size_t i) HWY_ATTR {
    const VF v = hn::Div(hn::LoadU(d, x + i), kEach ? hn::LoadU(d, scale + i) : s);
    const VI q = RoundToInt(MinKeepNan(high, MaxKeepNan(low, v)));
    const VI at = hn::IfThenElseZero(hn::RebindMask(di, hn::Eq(v, v)), q);
    return hn::Add(at, kEach && zero ? hn::LoadU(di, zero + i) : z);
  };
  const VI a = code(0), b = code(lanes), c = code(2 * lanes), e = code(3 * lanes);
  if constexpr (sizeof(T) == 1) {
    StoreBytes(a, b, c, e, y);
  } else {
    StoreShorts(a, b, c, e, y);
  }
}

template <class T, bool kEach>
void QuantizeAny(const float* x, void* yv, size_t n, const float* scale, const int32_t* zero) {
  T* y = static_cast<T*>(yv);
  const size_t step = 4 * hn::Lanes(DF());
  const VF s = hn::Set(DF(), kEach ? 1.0f : scale[0]);
  const VI z = hn::Set(DI(), kEach ? 0 : zero[0]);
  size_t i = 0;
  for (; i + step <= n; i += step)
    QuantizeFour<T, kEach>(x + i, y + i, scale + (kEach ? i : 0), kEach && zero ? zero + i : nullptr, s, z);
  if (i == n) return;
  constexpr size_t kMost = 4 * HWY_MAX_BYTES / sizeof(float);
  HWY_ALIGN float in[kMost] = {}, scales[kMost];
  HWY_ALIGN int32_t zeros[kMost] = {};
  HWY_ALIGN T out[kMost];
  std::memcpy(in, x + i, (n - i) * sizeof(float));
  if constexpr (kEach) {
    for (size_t k = 0; k < kMost; ++k) scales[k] = i + k < n ? scale[i + k] : 1.0f;
    if (zero) std::memcpy(zeros, zero + i, (n - i) * sizeof(int32_t));
  }
  QuantizeFour<T, kEach>(in, out, scales, zeros, s, z);
  std::memcpy(y + i, out, (n - i) * sizeof(T));
}

template <class T>
void Quantize(const float* x, void* y, size_t n, float scale, int32_t zero_point) {
  QuantizeAny<T, false>(x, y, n, &scale, &zero_point);
}

template <class T>
HWY_INLINE VI Widen(const T* x) {
  if constexpr (sizeof(T) == 4) {
    return hn::LoadU(DI(), x);
  } else {
    return hn::PromoteTo(DI(), hn::LoadU(hn::Rebind<T, DF>(), x));
  }
}

template <class T, bool kEach>
HWY_INLINE void DequantizeAny(const void* xv, float* y, size_t n, const float* scale, const int32_t* zero) {
  const T* x = static_cast<const T*>(xv);
  const DF d;
  const DI di;
  const size_t lanes = hn::Lanes(d);
  const VF s = hn::Set(d, kEach ? 1.0f : scale[0]);
  const VI z = hn::Set(di, kEach ? 0 : zero[0]);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const VI shifted = hn::Sub(Widen(x + i), kEach && zero ? hn::LoadU(di, zero + i) : z);
    hn::StoreU(hn::Mul(hn::ConvertTo(d, shifted), kEach ? hn::LoadU(d, scale + i) : s), d, y + i);
  }
  for (; i < n; ++i) {
    const uint32_t shifted = static_cast<uint32_t>(x[i]) - static_cast<uint32_t>(zero ? zero[kEach ? i : 0] : 0);
    y[i] = static_cast<float>(static_cast<int32_t>(shifted)) * scale[kEach ? i : 0];
  }
}

template <class T>
void Dequantize(const void* x, float* y, size_t n, float scale, int32_t zero_point) {
  DequantizeAny<T, false>(x, y, n, &scale, &zero_point);
}
template <class T>
void DequantizeEach(const void* x, float* y, size_t n, const float* scale, const int32_t* zero) {
  DequantizeAny<T, true>(x, y, n, scale, zero);
}

void MinMax(const float* x, size_t n, float* min, float* max) {
  const DF d;
  const size_t lanes = hn::Lanes(d);
  const VF inf = hn::Inf(d);
  VF low0 = inf, low1 = inf, high0 = hn::Neg(inf), high1 = high0;
  size_t i = 0;
  // The accumulator is the second operand: it stays when x is NaN.
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const VF v0 = hn::LoadU(d, x + i), v1 = hn::LoadU(d, x + i + lanes);
    low0 = hn::Min(v0, low0);
    high0 = hn::Max(v0, high0);
    low1 = hn::Min(v1, low1);
    high1 = hn::Max(v1, high1);
  }
  low0 = hn::Min(low0, low1);
  high0 = hn::Max(high0, high1);
  *min = hn::GetLane(hn::MinOfLanes(d, low0));
  *max = hn::GetLane(hn::MaxOfLanes(d, high0));
  for (; i < n; ++i) {
    if (x[i] < *min) *min = x[i];
    if (x[i] > *max) *max = x[i];
  }
}

}  // namespace

constexpr QuantTable kTable = {
    &Quantize<uint8_t>,          &Quantize<int8_t>,          &Quantize<uint16_t>,
    &Quantize<int16_t>,          &Dequantize<uint8_t>,       &Dequantize<int8_t>,
    &Dequantize<uint16_t>,       &Dequantize<int16_t>,       &Dequantize<int32_t>,
    &QuantizeAny<uint8_t, true>, &QuantizeAny<int8_t, true>, &QuantizeAny<uint16_t, true>,
    &QuantizeAny<int16_t, true>, &DequantizeEach<uint8_t>,   &DequantizeEach<int8_t>,
    &DequantizeEach<uint16_t>,   &DequantizeEach<int16_t>,   &MinMax,
};

}  // namespace trunnion::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trunnion::kernels {
const QuantTable& quant_table() { TRN_RUNG_TABLE(kTable) }
}  // namespace trunnion::kernels
#endif
