// One pixel of a depthwise 8-bit integer convolution: bytes widened to 32 bits, exact.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv_int8_depthwise.simd.cc"
#include "kernels/conv_int8_depthwise.h"

#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/rung_table.h"

HWY_BEFORE_NAMESPACE();
namespace trunnion::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace {

template <class Byte>
void pixel_of(const Int8DepthwisePixel& g) {
  const hn::ScalableTag<int32_t> d32;
  const hn::Rebind<Byte, decltype(d32)> d8;
  const hn::Rebind<int16_t, decltype(d32)> d16;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d32));
  const auto x_zero = hn::Set(d32, g.x_zero);
  const int32_t one_w_zero = g.w_zero && !g.w_zero_per_channel ? g.w_zero[0] : 0;
  const Byte* x = reinterpret_cast<const Byte*>(g.x);
  int64_t c = 0;
  for (; c + lanes <= g.channels; c += lanes) {
    const auto w_zero = g.w_zero && g.w_zero_per_channel ? hn::LoadU(d32, g.w_zero + c) : hn::Set(d32, one_w_zero);
    auto sum = hn::Zero(d32);
    for (int64_t t = 0; t < g.taps; ++t) {
      const auto a = hn::Sub(hn::PromoteTo(d32, hn::LoadU(d8, x + g.x_offset[t] + c)), x_zero);
      const auto b = hn::Sub(hn::PromoteTo(d32, hn::LoadU(d16, g.w + g.w_offset[t] + c)), w_zero);
      sum = hn::Add(sum, hn::Mul(a, b));
    }
    hn::StoreU(sum, d32, g.y + c);
  }
  for (; c < g.channels; ++c) {
    const int32_t w_zero = g.w_zero && g.w_zero_per_channel ? g.w_zero[c] : one_w_zero;
    uint32_t sum = 0;
    for (int64_t t = 0; t < g.taps; ++t) {
      sum += static_cast<uint32_t>(x[g.x_offset[t] + c] - g.x_zero) *
             static_cast<uint32_t>(g.w[g.w_offset[t] + c] - w_zero);
    }
    g.y[c] = static_cast<int32_t>(sum);
  }
}

void pixel(const Int8DepthwisePixel& g) {
  if (g.x_signed) {
    pixel_of<int8_t>(g);
  } else {
    pixel_of<uint8_t>(g);
  }
}

}  // namespace

constexpr Int8DepthwiseTable kInt8DepthwiseTable = {&pixel};
}  // namespace trunnion::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trunnion::kernels {
const Int8DepthwiseTable& int8_depthwise_table() { TRN_RUNG_TABLE(kInt8DepthwiseTable) }
}  // namespace trunnion::kernels
#endif
