// Element types as kernels see them. The values are ONNX's TensorProto.DataType codes, so that a tensor's type
// converts by a cast.
#pragma once
#include <cstddef>
#include <cstdint>

namespace trunnion::kernels {

enum class Elem : int32_t {
  undefined = 0,
  f32 = 1,
  u8 = 2,
  i8 = 3,
  u16 = 4,
  i16 = 5,
  i32 = 6,
  i64 = 7,
  string = 8,   // no kernel takes it
  boolean = 9,  // one byte, 0 or 1
  f16 = 10,
  f64 = 11,
  u32 = 12,
  u64 = 13,
  c64 = 14,  // no kernel takes it
  c128 = 15,
  bf16 = 16,
  f8e4m3fn = 17,
  f8e4m3fnuz = 18,
  f8e5m2 = 19,
  f8e5m2fnuz = 20,
  u4 = 21,  // two in a byte, the first in the low bits
  i4 = 22,
  f4e2m1 = 23,
  f8e8m0 = 24,
  u2 = 25,  // four in a byte, the first in the low bits
  i2 = 26,
};
inline constexpr int kElemCodes = 27;

// Bits of one element; 0 for string and undefined.
constexpr int elem_bits(Elem e) {
  switch (e) {
    case Elem::u2:
    case Elem::i2:
      return 2;
    case Elem::u4:
    case Elem::i4:
    case Elem::f4e2m1:
      return 4;
    case Elem::u8:
    case Elem::i8:
    case Elem::boolean:
    case Elem::f8e4m3fn:
    case Elem::f8e4m3fnuz:
    case Elem::f8e5m2:
    case Elem::f8e5m2fnuz:
    case Elem::f8e8m0:
      return 8;
    case Elem::u16:
    case Elem::i16:
    case Elem::f16:
    case Elem::bf16:
      return 16;
    case Elem::f32:
    case Elem::i32:
    case Elem::u32:
      return 32;
    case Elem::f64:
    case Elem::i64:
    case Elem::u64:
    case Elem::c64:
      return 64;
    case Elem::c128:
      return 128;
    default:
      return 0;
  }
}

}  // namespace trunnion::kernels
