// Linear quantization of contiguous ranges with one scale and zero point.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/quant.simd.cc"
#include <limits>
// clang-format off
#include "kernels/rung_table.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on
#include "kernels/quant_table.h"
#include "kernels/vec_reduce-inl.h"

HWY_BEFORE_NAMESPACE();
namespace trunnion::kernels::HWY_NAMESPACE {
namespace {

template <class T>
void Quantize(const float* x, void* yv, size_t n, float scale, int32_t zero_point) {
  T* y = static_cast<T*>(yv);
  const DF d;
  const DI di;
  const hn::Rebind<T, DF> dt;
  const size_t lanes = hn::Lanes(d);
  const VF s = hn::Set(d, scale);
  // The bounds before the zero point is added: both sums are small integers, exact in f32.
  const VF low = hn::Set(d, static_cast<float>(std::numeric_limits<T>::min() - zero_point));
  const VF high = hn::Set(d, static_cast<float>(std::numeric_limits<T>::max() - zero_point));
  const VI zero = hn::Set(di, zero_point);
  for (size_t i = 0; i < n; i += lanes) {
    const bool whole = i + lanes <= n;
    VF v = hn::Round(hn::Div(whole ? hn::LoadU(d, x + i) : LoadTail(d, x + i, n - i), s));
    v = hn::IfThenElseZero(hn::Eq(v, v), v);
    const VI q = hn::Add(hn::ConvertTo(di, hn::Min(hn::Max(v, low), high)), zero);
    const auto t = hn::DemoteTo(dt, q);
    if (whole) {
      hn::StoreU(t, dt, y + i);
    } else {
      HWY_ALIGN T last[HWY_MAX_BYTES / sizeof(float)];
      hn::Store(t, dt, last);
      for (size_t k = 0; i + k < n; ++k) y[i + k] = last[k];
    }
  }
}

template <class T>
HWY_INLINE VI Widen(const T* x) {
  if constexpr (sizeof(T) == 4) {
    return hn::LoadU(DI(), x);
  } else {
    return hn::PromoteTo(DI(), hn::LoadU(hn::Rebind<T, DF>(), x));
  }
}

template <class T>
void Dequantize(const void* xv, float* y, size_t n, float scale, int32_t zero_point) {
  const T* x = static_cast<const T*>(xv);
  const DF d;
  const size_t lanes = hn::Lanes(d);
  const VF s = hn::Set(d, scale);
  const VI zero = hn::Set(DI(), zero_point);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(hn::Mul(hn::ConvertTo(d, hn::Sub(Widen(x + i), zero)), s), d, y + i);
  }
  if (i < n) {
    HWY_ALIGN T last[HWY_MAX_BYTES / sizeof(float)] = {};
    for (size_t k = 0; i + k < n; ++k) last[k] = x[i + k];
    StoreTail(hn::Mul(hn::ConvertTo(d, hn::Sub(Widen(last), zero)), s), d, y + i, n - i);
  }
}

void MinMax(const float* x, size_t n, float* min, float* max) {
  *min = MinRange(DF(), x, n);
  *max = MaxRange(DF(), x, n);
}

}  // namespace

constexpr QuantTable kTable = {
    &Quantize<uint8_t>,  &Quantize<int8_t>,     &Quantize<uint16_t>,  &Quantize<int16_t>,   &Dequantize<uint8_t>,
    &Dequantize<int8_t>, &Dequantize<uint16_t>, &Dequantize<int16_t>, &Dequantize<int32_t>, &MinMax};

}  // namespace trunnion::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trunnion::kernels {
const QuantTable& quant_table() { TRN_RUNG_TABLE(kTable) }
}  // namespace trunnion::kernels
#endif
