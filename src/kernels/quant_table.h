// What quant.simd.cc gives to quant.cc: one function per one-byte and two-byte integer type.
#pragma once
#include "kernels/quant.h"

namespace trunnion::kernels {

struct QuantTable {
  QuantizeFn quantize_u8, quantize_i8, quantize_u16, quantize_i16;
  DequantizeFn dequantize_u8, dequantize_i8, dequantize_u16, dequantize_i16, dequantize_i32;
  void (*quantize_each[4])(const float* x, void* y, size_t n, const float* scale, const int32_t* zero);  // as above
  void (*dequantize_each[4])(const void* x, float* y, size_t n, const float* scale, const int32_t* zero);
  void (*min_max)(const float* x, size_t n, float* min, float* max);
};
const QuantTable& quant_table();

}  // namespace trunnion::kernels
