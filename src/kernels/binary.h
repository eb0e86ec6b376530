// Element-wise functions of two inputs: y[i] = f(a[i], b[i]) over n contiguous elements, each side an array or one
// scalar. kernels/broadcast.h runs them over broadcast shapes.
// No alignment is required; y may be a or b itself when the element sizes agree. n may be 0.
//
// Integers wrap around; x/0 and x mod 0 give 0, and INT_MIN / -1 gives INT_MIN: nothing traps. A shift by the width
// or more, or by a negative amount, gives 0, but -1 for a negative number to the right. min and max of floats give NaN
// when either side is NaN. pow, atan2 and fmod of floats follow libm; pow of integers is exact modulo 2^bits, a
// negative exponent gives 0 unless the base is 1 or -1.
#pragma once
#include "kernels/elem.h"

namespace trunnion::kernels {

enum class BinaryOp : uint8_t {
  add,
  sub,
  mul,
  div,  // integers: truncation toward zero
  min,
  max,
  pow,
  mod,    // result has the sign of b (Python); floats too
  fmod,   // result has the sign of a (C)
  prelu,  // a >= 0 ? a : a b
  atan2,
  bit_and,  // integers, from here to shift_right
  bit_or,
  bit_xor,
  shift_left,
  shift_right,  // logical for unsigned, arithmetic for signed
  equal,        // from here on the result is boolean (one byte, 0 or 1)
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  logical_and,  // boolean only, from here on
  logical_or,
  logical_xor,
};
inline constexpr int kBinaryOps = int(BinaryOp::logical_xor) + 1;
constexpr bool gives_boolean(BinaryOp op) { return op >= BinaryOp::equal; }

// Which side is an array: both, only a (b is one scalar), only b (a is one scalar).
enum class BinaryShape : uint8_t { vector_vector, vector_scalar, scalar_vector };

using BinaryFn = void (*)(const void* a, const void* b, void* y, size_t n);

// f32, f64, f16, bf16, i8..i64, u8..u64; boolean has equal, not_equal and the logical ones. f16 and bf16 are computed
// in f32 and rounded once. Null when the pair does not exist.
BinaryFn binary(BinaryOp op, Elem type, BinaryShape shape);

}  // namespace trunnion::kernels
