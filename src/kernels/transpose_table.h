// What transpose.simd.cc gives to transpose.cc: 2-D transposition of elements of 1, 2, 4 and 8 bytes.
#pragma once
#include "kernels/elem.h"

namespace trunnion::kernels {

struct TransposeTable {
  // y[c * y_stride + r] = x[r * x_stride + c].
  void (*words)(const float* x, int64_t x_stride, float* y, int64_t y_stride, int64_t rows, int64_t cols);
  void (*bytes)(const uint8_t* x, int64_t x_stride, uint8_t* y, int64_t y_stride, int64_t rows, int64_t cols);
  void (*halves)(const uint16_t* x, int64_t x_stride, uint16_t* y, int64_t y_stride, int64_t rows, int64_t cols);
  void (*longs)(const uint64_t* x, int64_t x_stride, uint64_t* y, int64_t y_stride, int64_t rows, int64_t cols);
};
const TransposeTable& transpose_table();

}  // namespace trunnion::kernels
