// From the 32-bit sums of integer products back to 8 bits, or to f32: what follows int8 GEMM and convolution.
// No alignment is required. Strides are in elements, from row to row.
#pragma once
#include "kernels/elem.h"

namespace trunnion::kernels {

struct RequantizeArgs {
  const int32_t* x = nullptr;
  int64_t x_stride = 0;
  int64_t rows = 0, cols = 0;
  const int32_t* bias = nullptr;  // one per column or null; added to the sums, wrapping
  const float* scale = nullptr;   // one, or one per column
  bool scale_per_col = false;
};

struct RequantizeKernels {
  // y = saturate(round_half_even((x + bias) * scale) + zero), 8 bits; the sum is rounded to f32 first. An infinite or
  // NaN scale saturates by the sign of the product, NaN gives zero.
  void (*to_u8)(const RequantizeArgs& args, uint8_t* y, int64_t y_stride, int32_t zero);
  void (*to_i8)(const RequantizeArgs& args, int8_t* y, int64_t y_stride, int32_t zero);
  // y = (x + bias) * scale + shift; shift has one entry per column, or is null.
  void (*to_f32)(const RequantizeArgs& args, float* y, int64_t y_stride, const float* shift);
};
const RequantizeKernels& requantize();

}  // namespace trunnion::kernels
