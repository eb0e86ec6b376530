// Depthwise 8-bit integer convolution: lines of output pixels, vectorised over channels.
#pragma once
#include <cstdint>

#include "kernels/conv_int8.h"

namespace trunnion::kernels {

// Whether four taps are taken at a time on the active rung, with packed weights and scratch as the functions here say.
bool int8_depthwise_by_four();
int64_t int8_depthwise_packed_size(const ConvShape& shape);
int64_t int8_depthwise_pack_units(const ConvShape& shape);
int64_t int8_depthwise_scratch_size(const ConvShape& shape);
void int8_depthwise_pack(const ConvShape& shape, const uint8_t* weights, bool w_signed, int64_t unit, void* packed);
void conv_int8_depthwise_by_four(const ConvShape& shape, const ConvInt8Args& args, int64_t line_begin, int64_t line_end,
                                 void* scratch);

// Otherwise. Computes output lines [line_begin, line_end) (batch, z, y). Packed weights are int16 [tap][channel]; the
// shape has rank 3. Scratch holds two int64 per tap.
void conv_int8_depthwise(const ConvShape& shape, const ConvInt8Args& args, int64_t line_begin, int64_t line_end,
                         void* scratch);

// One pixel: y[c] = sum over taps of (x[x_offset[t] + c] - x_zero) * (w[w_offset[t] + c] - w_zero[c]).
struct Int8DepthwisePixel {
  const uint8_t* x = nullptr;
  bool x_signed = false;
  const int16_t* w = nullptr;
  int64_t taps = 0;
  const int64_t* x_offset = nullptr;
  const int64_t* w_offset = nullptr;
  int64_t channels = 0;
  int32_t x_zero = 0;
  const int32_t* w_zero = nullptr;  // null for zero
  bool w_zero_per_channel = false;
  int32_t* y = nullptr;
};
struct Int8DepthwiseTable {
  void (*pixel)(const Int8DepthwisePixel&);
};
const Int8DepthwiseTable& int8_depthwise_table();

}  // namespace trunnion::kernels
