// What binary.simd.cc gives to binary.cc: f32 functions by operation and shape, null where only a plain loop exists.
#pragma once
#include "kernels/binary.h"

namespace trunnion::kernels {

struct BinaryTable {
  BinaryFn fn[int(BinaryOp::greater_equal) + 1][3];
};
const BinaryTable& binary_table();

// Parts of binary(), by file; all return null for pairs they do not have.
BinaryFn binary_integer(BinaryOp op, Elem type, BinaryShape shape);  // integers and boolean
BinaryFn binary_half(BinaryOp op, Elem type, BinaryShape shape);     // f16, bf16

}  // namespace trunnion::kernels
