// f16 and bf16 to f32 and back, vectorised. Where the target has no half-precision instructions, f16 goes through
// the scalar form of half.h; all give the same bits.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/convert.simd.cc"
// clang-format off
#include "kernels/rung_table.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on
#include "kernels/convert_table.h"
#include "kernels/half.h"

HWY_BEFORE_NAMESPACE();
namespace trunnion::kernels::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using DU = hn::ScalableTag<uint32_t>;
using DH = hn::Rebind<uint16_t, DF>;

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
#define TRN_HARDWARE_F16 1
#else
#define TRN_HARDWARE_F16 0
#endif

void F16ToF32(const uint16_t* x, float* y, size_t n) {
  size_t i = 0;
#if TRN_HARDWARE_F16
  const DF d;
  const hn::Rebind<hwy::float16_t, DF> dh;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
    hn::StoreU(hn::PromoteTo(d, hn::BitCast(dh, hn::LoadU(DH(), x + i))), d, y + i);
  }
#endif
  for (; i < n; ++i) y[i] = half::from_f16(x[i]);
}

void F32ToF16(const float* x, uint16_t* y, size_t n) {
  size_t i = 0;
#if TRN_HARDWARE_F16
  const DF d;
  const hn::Rebind<hwy::float16_t, DF> dh;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
    hn::StoreU(hn::BitCast(DH(), hn::DemoteTo(dh, hn::LoadU(d, x + i))), DH(), y + i);
  }
#endif
  for (; i < n; ++i) y[i] = half::to_f16(x[i]);
}

void Bf16ToF32(const uint16_t* x, float* y, size_t n) {
  const DU d;
  size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
    const auto wide = hn::ShiftLeft<16>(hn::PromoteTo(d, hn::LoadU(DH(), x + i)));
    hn::StoreU(hn::BitCast(DF(), wide), DF(), y + i);
  }
  for (; i < n; ++i) y[i] = half::from_bf16(x[i]);
}

void F32ToBf16(const float* x, uint16_t* y, size_t n) {
  const DU d;
  const auto bias = hn::Set(d, 0x7fffu);
  const auto one = hn::Set(d, 1u);
  size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
    const auto f = hn::LoadU(DF(), x + i);
    const auto bits = hn::BitCast(d, f);
    const auto high = hn::ShiftRight<16>(bits);
    const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(bias, hn::And(high, one))));
    const auto quiet = hn::Or(high, hn::Set(d, 0x40u));
    const auto nan = hn::RebindMask(d, hn::IsNaN(f));
    hn::StoreU(hn::TruncateTo(DH(), hn::IfThenElse(nan, quiet, rounded)), DH(), y + i);
  }
  for (; i < n; ++i) y[i] = half::to_bf16(x[i]);
}

#undef TRN_HARDWARE_F16
}  // namespace

constexpr ConvertTable kTable = {&F16ToF32, &F32ToF16, &Bf16ToF32, &F32ToBf16};

}  // namespace trunnion::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trunnion::kernels {
const ConvertTable& convert_table() { TRN_RUNG_TABLE(kTable) }
}  // namespace trunnion::kernels
#endif
