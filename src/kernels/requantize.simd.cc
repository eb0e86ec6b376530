// 32-bit sums to 8 bits or f32, row by row.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/requantize.simd.cc"
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

template <class T>
void ToBytes(const RequantizeArgs& a, T* y, int64_t y_stride, int32_t zero_point) {
  const DF d;
  const DI di;
  const hn::Rebind<T, DF> dt;
  const size_t lanes = hn::Lanes(d), cols = static_cast<size_t>(a.cols);
  const VF low = hn::Set(d, static_cast<float>(std::numeric_limits<T>::min() - zero_point));
  const VF high = hn::Set(d, static_cast<float>(std::numeric_limits<T>::max() - zero_point));
  const VI zero = hn::Set(di, zero_point);
  const VF scale = hn::Set(d, a.scale_per_col ? 0.0f : *a.scale);
  for (int64_t r = 0; r < a.rows; ++r) {
    const int32_t* x = a.x + r * a.x_stride;
    T* to = y + r * y_stride;
    for (size_t j = 0; j < cols; j += lanes) {
      const size_t left = cols - j;
      VF v = Scaled(a, x, j, left, scale);
      v = hn::Round(hn::Min(hn::Max(hn::IfThenElseZero(hn::Eq(v, v), v), low), high));
      const auto t = hn::DemoteTo(dt, hn::Add(hn::ConvertTo(di, v), zero));
      if (left >= lanes) {
        hn::StoreU(t, dt, to + j);
      } else {
        HWY_ALIGN T last[HWY_MAX_BYTES / sizeof(float)];
        hn::Store(t, dt, last);
        for (size_t k = 0; k < left; ++k) to[j + k] = last[k];
      }
    }
  }
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
