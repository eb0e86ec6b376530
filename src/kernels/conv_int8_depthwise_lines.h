// Depthwise 8-bit integer convolution four taps at a time: what its driver hands to the intrinsics. Plain data only.
#pragma once
#include <cstdint>

namespace trunnion::kernels {

// Pixels side by side whose taps all move on together. Taps outside of the input read bytes that equal the zero point.
// Packed weights: per 64 channels [group of four taps][channel][tap] as signed bytes, then the sum of the weights of
// each channel; the channels of a block stand in the order that interleaving gives (conv_int8_depthwise.cc).
struct Int8DepthwiseRun {
  const unsigned char* const* taps = nullptr;
  const int64_t* steps = nullptr;  // per tap: bytes from pixel to pixel
  bool same_steps = false;         // they are all those of tap 0
  bool x_signed = false;
  const unsigned char* packed = nullptr;
  int64_t tap_count = 0, channels = 0, pixels = 0;
  int32_t x_zero = 0;               // of x as unsigned bytes
  const int32_t* w_zero = nullptr;  // null when w_zero + w_shift is 0 everywhere
  bool w_zero_per_channel = false;
  int32_t w_shift = 0;
  int32_t* y = nullptr;
  int64_t y_step = 0;
};
constexpr int64_t int8_depthwise_block_bytes(int64_t groups) { return groups * 256 + 256; }

#if defined(__x86_64__)
namespace avx512vnni {
extern void (*const kInt8DepthwiseRun)(const Int8DepthwiseRun&);
}
#endif

}  // namespace trunnion::kernels
