// What binary.simd.cc gives to binary.cc: f32 functions by operation and shape, null where only a plain loop exists.
#pragma once
#include "kernels/binary.h"

namespace trunnion::kernels {

struct BinaryTable {
  BinaryFn fn[int(BinaryOp::greater_equal) + 1][3];
};
const BinaryTable& binary_table();

// What binary_plain.simd.cc gives.
struct BinaryPlainTable {
  BinaryFn f64[int(BinaryOp::greater_equal) + 1][3];
  BinaryFn f32[int(BinaryOp::atan2) - int(BinaryOp::pow) + 1][3];  // pow, mod, fmod, none, atan2
  BinaryFn i32[3][3];                                              // div, mod, fmod
};
const BinaryPlainTable& binary_plain_table();

// Parts of binary(), by file; all return null for pairs they do not have.
BinaryFn binary_integer(BinaryOp op, Elem type, BinaryShape shape);  // integers and boolean
BinaryFn binary_half(BinaryOp op, Elem type, BinaryShape shape);     // f16, bf16

}  // namespace trunnion::kernels
