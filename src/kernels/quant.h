// Linear quantization: q = saturate(round_half_even(x / scale) + zero_point), x = (q - zero_point) * scale.
// No alignment is required; x and y may not overlap. NaN quantizes to the zero point.
#pragma once
#include "kernels/elem.h"

namespace trunnion::kernels {

// One scale and zero point for n elements. Division by scale is exact (no reciprocal), as ONNX has it.
using QuantizeFn = void (*)(const float* x, void* y, size_t n, float scale, int32_t zero_point);
using DequantizeFn = void (*)(const void* x, float* y, size_t n, float scale, int32_t zero_point);

// u8, i8, u16, i16; u4, i4, u2, i2 too (packed; ranges start at multiples of 4 elements). Null otherwise.
QuantizeFn quantize(Elem type);
// u8, i8, u16, i16, i32, u4, i4, u2, i2. Null otherwise.
DequantizeFn dequantize(Elem type);

// Scale and zero point by element along the inner dimension (per-axis with inner 1): y[i] uses scale[i], zero[i].
// zero may be null (0). Types as above without the packed ones.
void quantize_vector(const float* x, void* y, size_t n, const float* scale, const int32_t* zero, Elem type);
void dequantize_vector(const void* x, float* y, size_t n, const float* scale, const int32_t* zero, Elem type);

// Smallest and largest of n elements, NaN ignored; n = 0 gives +inf, -inf.
void min_max(const float* x, size_t n, float* min, float* max);

// DynamicQuantizeLinear (u8): the range is widened to hold 0.
void dynamic_quantize_params(float min, float max, float* scale, uint8_t* zero_point);

}  // namespace trunnion::kernels
