// Conversions between all element types. Each type has a native carrier (itself; f32 for the narrow floats, i8 or u8
// for packed integers): narrow types are widened block by block, converted carrier to carrier, and narrowed.
#include "kernels/convert.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "kernels/convert_table.h"
#include "kernels/half.h"

namespace trunnion::kernels {
namespace {

// A narrow float by its parameters. Codes: sign bit, exponent, mantissa.
struct Format {
  int mantissa;
  int exponent_bits;
  int bias;
  uint8_t max;       // code of the largest finite magnitude
  uint8_t infinity;  // code, or 0 when there is none
  uint8_t nan;       // code of NaN; has the sign or-ed in unless `fnuz`
  bool fnuz;         // one NaN (the code of -0), no -0
};
constexpr Format format_of(Elem type) {
  switch (type) {
    case Elem::f8e4m3fn:
      return {3, 4, 7, 0x7e, 0, 0x7f, false};
    case Elem::f8e4m3fnuz:
      return {3, 4, 8, 0x7f, 0, 0x80, true};
    case Elem::f8e5m2:
      return {2, 5, 15, 0x7b, 0x7c, 0x7e, false};
    case Elem::f8e5m2fnuz:
      return {2, 5, 16, 0x7f, 0, 0x80, true};
    default:
      return {1, 2, 1, 0x07, 0, 0x08, false};  // f4e2m1, which has no NaN
  }
}

float decode(uint8_t code, const Format& f) {
  const int width = 1 + f.exponent_bits + f.mantissa;
  const uint32_t sign_bit = 1u << (width - 1);
  const uint32_t sign = code & sign_bit ? 0x80000000u : 0u;
  const uint32_t magnitude = code & (sign_bit - 1);
  const bool narrow = width == 4;
  if (!narrow) {
    if (f.fnuz ? code == f.nan : (magnitude > f.max && magnitude != f.infinity)) {
      return std::bit_cast<float>(sign | 0x7fc00000u);
    }
    if (f.infinity && magnitude == f.infinity) return std::bit_cast<float>(sign | 0x7f800000u);
  }
  const int exponent = static_cast<int>(magnitude >> f.mantissa);
  const int fraction = static_cast<int>(magnitude & ((1u << f.mantissa) - 1));
  const float value =
      exponent == 0 ? std::ldexp(static_cast<float>(fraction), 1 - f.bias - f.mantissa)
                    : std::ldexp(static_cast<float>(fraction + (1 << f.mantissa)), exponent - f.bias - f.mantissa);
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
}

uint8_t encode(float x, const Format& f, bool saturate) {
  const int width = 1 + f.exponent_bits + f.mantissa;
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const uint32_t sign = bits >> 31 << (width - 1);
  const uint32_t magnitude = bits & 0x7fffffffu;
  const bool narrow = width == 4;
  if (magnitude > 0x7f800000u) return static_cast<uint8_t>(narrow || f.fnuz ? f.nan : (f.nan | sign));
  uint32_t code;
  if (magnitude < static_cast<uint32_t>(128 - f.bias) << 23) {
    // Below the smallest normal number: a multiple of the quantum; a carry lands in the exponent as it should.
    code = static_cast<uint32_t>(std::nearbyint(std::ldexp(std::bit_cast<float>(magnitude), f.bias - 1 + f.mantissa)));
  } else {
    const int drop = 23 - f.mantissa;
    const uint32_t rounded = magnitude + ((1u << (drop - 1)) - 1) + (magnitude >> drop & 1u);
    code = (rounded >> drop) - (static_cast<uint32_t>(127 - f.bias) << f.mantissa);
  }
  if (code > f.max) {
    if (saturate || narrow) {
      code = f.max;
    } else {
      if (f.fnuz) return f.nan;
      code = f.infinity ? f.infinity : f.nan;
    }
  }
  if (f.fnuz && code == 0) return 0;
  return static_cast<uint8_t>(code | sign);
}

uint8_t encode_e8m0(float x, const ConvertParams& params) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const uint32_t exponent = bits >> 23 & 0xffu;
  if (exponent == 0xff) return 0xff;
  const uint32_t fraction = bits & 0x7fffffu;
  bool up = false;
  if (params.e8m0_round == ConvertParams::E8m0Round::up) up = fraction != 0;
  // Half way counts as up, except between 0 and 2^-126.
  if (params.e8m0_round == ConvertParams::E8m0Round::nearest)
    up = fraction > 0x400000u || (fraction == 0x400000u && exponent > 0);
  if (up && params.saturate && exponent == 0xfe) up = false;
  return static_cast<uint8_t>(exponent + up);
}

float decode_e8m0(uint8_t code) {
  if (code == 0xff) return std::numeric_limits<float>::quiet_NaN();
  return code == 0 ? 0x1p-127f : std::bit_cast<float>(static_cast<uint32_t>(code) << 23);
}

constexpr bool packed(Elem e) { return elem_bits(e) > 0 && elem_bits(e) < 8; }
constexpr bool narrow_float(Elem e) {
  return (e >= Elem::f8e4m3fn && e <= Elem::f8e5m2fnuz) || e == Elem::f4e2m1 || e == Elem::f8e8m0;
}
constexpr bool half_float(Elem e) { return e == Elem::f16 || e == Elem::bf16; }

constexpr Elem carrier(Elem e) {
  if (narrow_float(e) || half_float(e)) return Elem::f32;
  if (e == Elem::u4 || e == Elem::u2) return Elem::u8;
  if (e == Elem::i4 || e == Elem::i2) return Elem::i8;
  return e;
}

using NativeFn = void (*)(const void*, void*, size_t);

// Place of a native type in the table of conversions.
constexpr int native_place(Elem e) {
  switch (e) {
    case Elem::f32:
      return 0;
    case Elem::f64:
      return 1;
    case Elem::i8:
      return 2;
    case Elem::i16:
      return 3;
    case Elem::i32:
      return 4;
    case Elem::i64:
      return 5;
    case Elem::u8:
      return 6;
    case Elem::u16:
      return 7;
    case Elem::u32:
      return 8;
    case Elem::u64:
      return 9;
    case Elem::boolean:
      return 10;
    default:
      return -1;
  }
}

NativeFn native(Elem from, Elem to) {
  const int f = native_place(from), t = native_place(to);
  return f < 0 || t < 0 ? nullptr : convert_native_table().fn[f][t];
}

constexpr size_t kBlock = 256;

// f64 to f32, rounded to odd: rounding the result once more, to a narrower format, then equals one rounding.
float round_to_odd(double x) {
  const float f = static_cast<float>(x);
  const uint32_t bits = std::bit_cast<uint32_t>(f);
  if (static_cast<double>(f) == x || x != x || (bits & 1u) || std::isinf(f)) return f;
  const bool away = std::fabs(static_cast<double>(f)) < std::fabs(x);
  return std::bit_cast<float>(away ? bits + 1 : bits - 1);
}

// Narrow type to its carrier; x is the whole array, i a multiple of 4.
void widen(Elem type, const void* xv, size_t i, void* y, size_t n) {
  const uint8_t* x8 = static_cast<const uint8_t*>(xv);
  const uint16_t* x16 = static_cast<const uint16_t*>(xv);
  float* f = static_cast<float*>(y);
  if (type == Elem::f16) {
    f16_to_f32(x16 + i, f, n);
  } else if (type == Elem::bf16) {
    bf16_to_f32(x16 + i, f, n);
  } else if (narrow_float(type)) {
    uint8_t codes[kBlock];
    if (type == Elem::f4e2m1) unpack_bits(x8 + i / 2, codes, n, type);
    const uint8_t* code = type == Elem::f4e2m1 ? codes : x8 + i;
    for (size_t k = 0; k < n; ++k) f[k] = small_float_to_f32(code[k], type);
  } else {
    unpack_bits(x8 + i * static_cast<size_t>(elem_bits(type)) / 8, static_cast<uint8_t*>(y), n, type);
  }
}

void narrow(Elem type, const void* x, void* yv, size_t i, size_t n, const ConvertParams& params) {
  uint8_t* y8 = static_cast<uint8_t*>(yv);
  uint16_t* y16 = static_cast<uint16_t*>(yv);
  const float* f = static_cast<const float*>(x);
  if (type == Elem::f16) {
    f32_to_f16(f, y16 + i, n);
  } else if (type == Elem::bf16) {
    f32_to_bf16(f, y16 + i, n);
  } else if (narrow_float(type)) {
    uint8_t codes[kBlock];
    uint8_t* code = type == Elem::f4e2m1 ? codes : y8 + i;
    for (size_t k = 0; k < n; ++k) code[k] = f32_to_small_float(f[k], type, params);
    if (type == Elem::f4e2m1) pack_bits(codes, y8 + i / 2, n, type);
  } else {
    pack_bits(static_cast<const uint8_t*>(x), y8 + i * static_cast<size_t>(elem_bits(type)) / 8, n, type);
  }
}

void convert_any(Elem from, Elem to, const void* x, void* y, size_t n, const ConvertParams& params) {
  const bool widens = carrier(from) != from, narrows = carrier(to) != to;
  if (from == to && widens) {
    const size_t bytes = (n * static_cast<size_t>(elem_bits(from)) + 7) / 8;
    if (n) std::memmove(y, x, bytes);
    return;
  }
  // A wide source goes to a narrow float through f64, rounded to odd.
  const bool odd =
      narrows && carrier(to) == Elem::f32 &&
      (from == Elem::f64 || from == Elem::i32 || from == Elem::i64 || from == Elem::u32 || from == Elem::u64);
  const NativeFn step = native(carrier(from), odd ? Elem::f64 : carrier(to));
  const size_t in_bytes = static_cast<size_t>(elem_bits(from)) / 8, out_bytes = static_cast<size_t>(elem_bits(to)) / 8;
  alignas(64) unsigned char wide[kBlock * 8];
  alignas(64) unsigned char out[kBlock * 8];
  float odd_block[kBlock];
  for (size_t i = 0; i < n; i += kBlock) {
    const size_t m = n - i < kBlock ? n - i : kBlock;
    const void* source = static_cast<const char*>(x) + i * in_bytes;
    if (widens) {
      widen(from, x, i, wide, m);
      source = wide;
    }
    if (!narrows) {
      step(source, static_cast<char*>(y) + i * out_bytes, m);
      continue;
    }
    step(source, out, m);
    const void* result = out;
    if (odd) {
      for (size_t k = 0; k < m; ++k) {
        double value;
        std::memcpy(&value, out + k * sizeof(double), sizeof(value));
        odd_block[k] = round_to_odd(value);
      }
      result = odd_block;
    }
    narrow(to, result, y, i, m, params);
  }
}

template <Elem kFrom, Elem kTo>
void convert_pair(const void* x, void* y, size_t n, const ConvertParams& params) {
  if constexpr (carrier(kFrom) == kFrom && carrier(kTo) == kTo) {
    native(kFrom, kTo)(x, y, n);
  } else if constexpr (kFrom == Elem::f16 && kTo == Elem::f32) {
    f16_to_f32(static_cast<const uint16_t*>(x), static_cast<float*>(y), n);
  } else if constexpr (kFrom == Elem::f32 && kTo == Elem::f16) {
    f32_to_f16(static_cast<const float*>(x), static_cast<uint16_t*>(y), n);
  } else {
    convert_any(kFrom, kTo, x, y, n, params);
  }
}

constexpr bool numeric(int code) {
  return code > 0 && elem_bits(static_cast<Elem>(code)) > 0 && code != int(Elem::c64) && code != int(Elem::c128);
}
struct PairTable {
  ConvertFn fn[kElemCodes * kElemCodes];
};
template <int kPair>
constexpr ConvertFn pair_function() {
  if constexpr (numeric(kPair / kElemCodes) && numeric(kPair % kElemCodes)) {
    return &convert_pair<static_cast<Elem>(kPair / kElemCodes), static_cast<Elem>(kPair % kElemCodes)>;
  } else {
    return nullptr;
  }
}
template <size_t... kPairs>
constexpr PairTable pair_table(std::index_sequence<kPairs...>) {
  return {{pair_function<static_cast<int>(kPairs)>()...}};
}
constexpr PairTable kPairTable = pair_table(std::make_index_sequence<kElemCodes * kElemCodes>());

}  // namespace

ConvertFn convert(Elem from, Elem to) {
  const int f = static_cast<int>(from), t = static_cast<int>(to);
  if (f < 0 || t < 0 || f >= kElemCodes || t >= kElemCodes) return nullptr;
  return kPairTable.fn[f * kElemCodes + t];
}

void f16_to_f32(const uint16_t* x, float* y, size_t n) { convert_table().f16_to_f32(x, y, n); }
void f32_to_f16(const float* x, uint16_t* y, size_t n) { convert_table().f32_to_f16(x, y, n); }
void bf16_to_f32(const uint16_t* x, float* y, size_t n) { convert_table().bf16_to_f32(x, y, n); }
void f32_to_bf16(const float* x, uint16_t* y, size_t n) { convert_table().f32_to_bf16(x, y, n); }
float f16_to_f32(uint16_t x) { return half::from_f16(x); }
uint16_t f32_to_f16(float x) { return half::to_f16(x); }
float bf16_to_f32(uint16_t x) { return half::from_bf16(x); }
uint16_t f32_to_bf16(float x) { return half::to_bf16(x); }

float small_float_to_f32(uint8_t code, Elem type) {
  return type == Elem::f8e8m0 ? decode_e8m0(code) : decode(code, format_of(type));
}

uint8_t f32_to_small_float(float x, Elem type, const ConvertParams& params) {
  return type == Elem::f8e8m0 ? encode_e8m0(x, params) : encode(x, format_of(type), params.saturate);
}

namespace {

template <int kBits, bool kSigned>
void unpack(const uint8_t* x, uint8_t* y, size_t n) {
  constexpr size_t kPerByte = 8 / kBits;
  constexpr int kMask = (1 << kBits) - 1, kSign = kSigned ? 1 << (kBits - 1) : 0;
  const auto code = [](int byte, size_t k) {
    return static_cast<uint8_t>(((byte >> (k * kBits) & kMask) ^ kSign) - kSign);
  };
  const size_t whole = n / kPerByte;
  for (size_t i = 0; i < whole; ++i)
    for (size_t k = 0; k < kPerByte; ++k) y[i * kPerByte + k] = code(x[i], k);
  for (size_t k = 0; whole * kPerByte + k < n; ++k) y[whole * kPerByte + k] = code(x[whole], k);
}

}  // namespace

void unpack_bits(const uint8_t* x, uint8_t* y, size_t n, Elem type) {
  if (type == Elem::i4) return unpack<4, true>(x, y, n);
  if (type == Elem::i2) return unpack<2, true>(x, y, n);
  if (type == Elem::u2) return unpack<2, false>(x, y, n);
  unpack<4, false>(x, y, n);
}

void pack_bits(const uint8_t* x, uint8_t* y, size_t n, Elem type) {
  const size_t bits = static_cast<size_t>(elem_bits(type)), per_byte = 8 / bits;
  const unsigned mask = (1u << bits) - 1;
  for (size_t i = 0; i < n; i += per_byte) {
    unsigned byte = 0;
    for (size_t k = 0; k < per_byte && i + k < n; ++k) byte |= (x[i + k] & mask) << (k * bits);
    y[i / per_byte] = static_cast<uint8_t>(byte);
  }
}

}  // namespace trunnion::kernels
