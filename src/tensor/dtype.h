// Element types. Numeric values are those of TensorProto.DataType (onnx.proto), which are ONNX Runtime's too.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace trunnion {

enum class DType : uint8_t {
  undefined = 0,
  f32 = 1,
  u8 = 2,
  i8 = 3,
  u16 = 4,
  i16 = 5,
  i32 = 6,
  i64 = 7,
  string = 8,
  boolean = 9,
  f16 = 10,
  f64 = 11,
  u32 = 12,
  u64 = 13,
  c64 = 14,
  c128 = 15,
  bf16 = 16,
  f8e4m3fn = 17,
  f8e4m3fnuz = 18,
  f8e5m2 = 19,
  f8e5m2fnuz = 20,
  u4 = 21,
  i4 = 22,
  f4e2m1 = 23,
  f8e8m0 = 24,
  u2 = 25,
  i2 = 26,
};
inline constexpr int kDTypeCount = 27;

// Bits of one element in memory; sub-byte types are packed, first element in the low bits. string: sizeof(std::string).
int bits_of(DType type);

// Bytes of one element; 0 for sub-byte types.
size_t size_of(DType type);

// "float", "int64", ... as in "tensor(float)"; "undefined" for an unknown code.
std::string_view dtype_name(DType type);

// The inverse of dtype_name.
std::optional<DType> dtype_from_name(std::string_view name);

// The type with this TensorProto.DataType code, if there is one.
std::optional<DType> dtype_from_code(int64_t code);

// Bytes for `count` packed elements; nullopt when the size overflows.
std::optional<size_t> storage_bytes(DType type, int64_t count);

constexpr bool is_float(DType t) {
  switch (t) {
    case DType::f32:
    case DType::f16:
    case DType::f64:
    case DType::bf16:
    case DType::f8e4m3fn:
    case DType::f8e4m3fnuz:
    case DType::f8e5m2:
    case DType::f8e5m2fnuz:
    case DType::f4e2m1:
    case DType::f8e8m0:
      return true;
    default:
      return false;
  }
}
constexpr bool is_signed_integer(DType t) {
  return t == DType::i8 || t == DType::i16 || t == DType::i32 || t == DType::i64 || t == DType::i4 || t == DType::i2;
}
constexpr bool is_unsigned_integer(DType t) {
  return t == DType::u8 || t == DType::u16 || t == DType::u32 || t == DType::u64 || t == DType::u4 || t == DType::u2;
}
constexpr bool is_integer(DType t) { return is_signed_integer(t) || is_unsigned_integer(t); }
constexpr bool is_sub_byte(DType t) {
  return t == DType::u4 || t == DType::i4 || t == DType::f4e2m1 || t == DType::u2 || t == DType::i2;
}

// A set of element types, one bit per code.
class DTypes {
 public:
  constexpr DTypes() = default;
  constexpr DTypes(DType t) : bits_(1u << static_cast<unsigned>(t)) {}  // NOLINT: a type is a set of one
  constexpr DTypes operator|(DTypes o) const { return from_bits(bits_ | o.bits_); }
  constexpr bool has(DType t) const { return bits_ >> static_cast<unsigned>(t) & 1; }
  constexpr uint32_t bits() const { return bits_; }
  static constexpr DTypes from_bits(uint32_t bits) {
    DTypes s;
    s.bits_ = bits;
    return s;
  }

 private:
  uint32_t bits_ = 0;
};
constexpr DTypes operator|(DType a, DType b) { return DTypes(a) | DTypes(b); }

inline constexpr DTypes kF32 = DType::f32;
inline constexpr DTypes kFloats = DType::f32 | DType::f64 | DType::f16 | DType::bf16;
inline constexpr DTypes kSignedIntegers = DType::i8 | DType::i16 | DType::i32 | DType::i64;
inline constexpr DTypes kUnsignedIntegers = DType::u8 | DType::u16 | DType::u32 | DType::u64;
inline constexpr DTypes kIntegers = kSignedIntegers | kUnsignedIntegers;
inline constexpr DTypes kNumeric = kFloats | kIntegers;
inline constexpr DTypes kFloat8 =
    DType::f8e4m3fn | DType::f8e4m3fnuz | DType::f8e5m2 | DType::f8e5m2fnuz | DType::f8e8m0;
inline constexpr DTypes kComplex = DType::c64 | DType::c128;
inline constexpr DTypes kSubByte = DType::u4 | DType::i4 | DType::f4e2m1 | DType::u2 | DType::i2;
inline constexpr DTypes kAllTypes = DTypes::from_bits((1u << kDTypeCount) - 2);  // every type but undefined
inline constexpr DTypes kPlainTypes =
    DTypes::from_bits(kAllTypes.bits() & ~kSubByte.bits() & ~DTypes(DType::string).bits());  // whole bytes, memcpy-able

// The C++ type that stores an element. 16-bit and smaller floats are raw bits: convert with kernels/convert.h.
template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::f64;
};
template <>
struct DTypeOf<uint8_t> {
  static constexpr DType value = DType::u8;
};
template <>
struct DTypeOf<int8_t> {
  static constexpr DType value = DType::i8;
};
template <>
struct DTypeOf<uint16_t> {
  static constexpr DType value = DType::u16;
};
template <>
struct DTypeOf<int16_t> {
  static constexpr DType value = DType::i16;
};
template <>
struct DTypeOf<uint32_t> {
  static constexpr DType value = DType::u32;
};
template <>
struct DTypeOf<int32_t> {
  static constexpr DType value = DType::i32;
};
template <>
struct DTypeOf<uint64_t> {
  static constexpr DType value = DType::u64;
};
template <>
struct DTypeOf<int64_t> {
  static constexpr DType value = DType::i64;
};
template <>
struct DTypeOf<bool> {
  static constexpr DType value = DType::boolean;
};

}  // namespace trunnion
