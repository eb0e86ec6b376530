// Conversion between element types (Cast), n contiguous elements. No alignment is required.
// x and y may not overlap, except f(x) in place when both element sizes agree.
//
// float to float: round to nearest even. Integer to float: the same.
// float to integer: truncation toward zero; what does not fit goes the way of x86: the value is converted to a signed
//   32-bit integer (64-bit when the target is u32, i64 or u64), NaN and out-of-range give that type's minimum, and
//   the low bits are kept. u64 takes values up to 2^64.  To u4, i4, u2, i2: truncation, then the low bits.
// integer to integer: the low bits. To boolean: x != 0 (NaN is true). From boolean: 0 or 1.
// To an 8-bit or 4-bit float: with saturate, what is too large gives the largest finite value; without it infinity
//   where the type has one, else NaN. f4e2m1 always saturates, and takes NaN to -0 (code 8).
//   f8e8m0 keeps |x| only, rounded by e8m0_round; infinity gives NaN.
#pragma once
#include "kernels/elem.h"

namespace trunnion::kernels {

struct ConvertParams {
  bool saturate = true;
  enum class E8m0Round : uint8_t { up, down, nearest } e8m0_round = E8m0Round::up;
};

// For 4-bit and 2-bit types the packed side starts at a byte: split ranges at multiples of 4 elements. Unused bits of
// the last byte are written as 0.
using ConvertFn = void (*)(const void* x, void* y, size_t n, const ConvertParams& params);

// All numeric pairs, equal ones included (a copy); null for string, complex and undefined.
ConvertFn convert(Elem from, Elem to);

// The hot ones, typed.
void f16_to_f32(const uint16_t* x, float* y, size_t n);
void f32_to_f16(const float* x, uint16_t* y, size_t n);
void bf16_to_f32(const uint16_t* x, float* y, size_t n);
void f32_to_bf16(const float* x, uint16_t* y, size_t n);

// One element; exact where the format allows it.
float f16_to_f32(uint16_t x);
uint16_t f32_to_f16(float x);
float bf16_to_f32(uint16_t x);
uint16_t f32_to_bf16(float x);
// Codes of the 8-bit and 4-bit floats; type is one of Elem::f8*, f4e2m1.
float small_float_to_f32(uint8_t code, Elem type);
uint8_t f32_to_small_float(float x, Elem type, const ConvertParams& params);

// Packed integers to one byte each, and back (the low bits are kept). Elem::u4, i4, u2, i2, f4e2m1 (code).
void unpack_bits(const uint8_t* x, uint8_t* y, size_t n, Elem type);
void pack_bits(const uint8_t* x, uint8_t* y, size_t n, Elem type);

}  // namespace trunnion::kernels
