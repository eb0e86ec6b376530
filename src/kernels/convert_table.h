// What convert.simd.cc and convert_native.simd.cc give to convert.cc.
#pragma once
#include "kernels/elem.h"

namespace trunnion::kernels {

struct ConvertTable {
  void (*f16_to_f32)(const uint16_t* x, float* y, size_t n);
  void (*f32_to_f16)(const float* x, uint16_t* y, size_t n);
  void (*bf16_to_f32)(const uint16_t* x, float* y, size_t n);
  void (*f32_to_bf16)(const float* x, uint16_t* y, size_t n);
};
const ConvertTable& convert_table();

// From and to f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, boolean.
struct ConvertNativeTable {
  void (*fn[11][11])(const void* x, void* y, size_t n);
};
const ConvertNativeTable& convert_native_table();

}  // namespace trunnion::kernels
