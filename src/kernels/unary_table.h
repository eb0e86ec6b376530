// What unary.simd.cc gives to unary.cc: one f32 function per operation, null where only the plain loop exists.
#pragma once
#include "kernels/unary.h"

namespace trunnion::kernels {

struct UnaryTable {
  UnaryFn fn[kUnaryOps];
};
const UnaryTable& unary_table();

}  // namespace trunnion::kernels
