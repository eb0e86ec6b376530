// What convert.simd.cc gives to convert.cc.
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

}  // namespace trunnion::kernels
