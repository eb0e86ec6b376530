// Work on 8-bit quantized elements: sums and products of two of them, tables of 256 results, integer sums, maxima.
// No alignment is required. Elements are u8 or i8 as `is_signed` says.
#pragma once
#include "kernels/binary.h"

namespace trunnion::kernels {

struct BytePoint {
  float scale = 1.0f;
  int32_t zero = 0;
};
struct ByteBinaryArgs {
  BytePoint a, b, y;
};

// y may be a or b. A side that is one scalar is read as such (BinaryShape). NaN gives the lowest element.
using ByteBinaryFn = void (*)(const void* a, const void* b, void* y, size_t n, const ByteBinaryArgs& args);

struct QuantByteKernels {
  // By [is_signed][BinaryShape]. The quotient and the zero point of y are added before the one rounding to even.
  // add: (a - a.zero) a.scale / y.scale + (b - b.zero) b.scale / y.scale, the ratios of the scales rounded first.
  ByteBinaryFn add[2][3];
  // mul: (a - a.zero) (b - b.zero) times the rounded a.scale b.scale / y.scale.
  ByteBinaryFn mul[2][3];
  // saturate(round(x / point.scale + point.zero)): the zero point is added before rounding, unlike quant.h's.
  void (*quantize)(const float* x, void* y, size_t n, BytePoint point, bool is_signed);
  // y[r] = sum of the `cols` elements of row r; rows are contiguous.
  void (*row_sums)(const void* x, bool is_signed, int64_t rows, int64_t cols, int32_t* y);
  // y[c] = sum of column c of a contiguous matrix.
  void (*column_sums)(const void* x, bool is_signed, int64_t rows, int64_t cols, int32_t* y);
  // y[c] = the largest of rows[0][c] to rows[count - 1][c]; the lowest element when there is none. y may be a row.
  void (*column_max)(const void* const* rows, int64_t count, bool is_signed, int64_t cols, void* y);
};
const QuantByteKernels& quant_bytes();

// y[i] = table[x[i]], the bytes of x taken as unsigned; y may be x.
void look_up(const uint8_t* table, const uint8_t* x, uint8_t* y, size_t n);
void look_up(const float* table, const uint8_t* x, float* y, size_t n);

}  // namespace trunnion::kernels
