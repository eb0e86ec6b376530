#include "element.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace trunnion::cli {
namespace {

static_assert(std::endian::native == std::endian::little, "files and tensors are read as little endian");

constexpr auto kNone = ElementKind::none;
constexpr auto kInt = ElementKind::integer, kUnsigned = ElementKind::unsigned_integer;
constexpr auto kReal = ElementKind::real, kComplex = ElementKind::complex;

// In the order of the ABI's enum.
constexpr ElementFacts kRows[] = {
    {"undefined", 0, kNone, 0},
    {"float", 1, kReal, 32},
    {"uint8", 2, kUnsigned, 8},
    {"int8", 3, kInt, 8},
    {"uint16", 4, kUnsigned, 16},
    {"int16", 5, kInt, 16},
    {"int32", 6, kInt, 32},
    {"int64", 7, kInt, 64},
    {"string", 8, ElementKind::text, 0},
    {"bool", 9, ElementKind::boolean, 8},
    {"float16", 10, kReal, 16},
    {"double", 11, kReal, 64},
    {"uint32", 12, kUnsigned, 32},
    {"uint64", 13, kUnsigned, 64},
    {"complex64", 14, kComplex, 64},
    {"complex128", 15, kComplex, 128},
    {"bfloat16", 16, kReal, 16},
    {"float8e4m3fn", 17, kReal, 8},
    {"float8e4m3fnuz", 18, kReal, 8},
    {"float8e5m2", 19, kReal, 8},
    {"float8e5m2fnuz", 20, kReal, 8},
    {"uint4", 21, kUnsigned, 4},
    {"int4", 22, kInt, 4},
    {"float4e2m1", 23, kReal, 4},
    {"uint2", 25, kUnsigned, 2},
    {"int2", 26, kInt, 2},
    {"float8e8m0", 24, kReal, 8},
};
constexpr int kCount = sizeof(kRows) / sizeof(kRows[0]);

// A binary floating-point format of at most 16 bits: sign, exponent, mantissa.
struct Format {
  int mantissa;  // bits
  int bias;
  uint32_t greatest;               // code of the greatest finite magnitude
  uint32_t infinity;               // its code, or 0: the format has none
  uint32_t nan;                    // a code that is one, or 0: the format has none
  bool nan_is_minus_zero = false;  // the only NaN is where -0 would be
};

const Format* small_format(DataType type) {
  static constexpr Format kHalf{10, 15, 0x7bff, 0x7c00, 0x7e00}, kBfloat{7, 127, 0x7f7f, 0x7f80, 0x7fc0};
  static constexpr Format kE4M3{3, 7, 0x7e, 0, 0x7f}, kE4M3uz{3, 8, 0x7f, 0, 0x80, true};
  static constexpr Format kE5M2{2, 15, 0x7b, 0x7c, 0x7f}, kE5M2uz{2, 16, 0x7f, 0, 0x80, true};
  static constexpr Format kE2M1{1, 1, 0x7, 0, 0};
  switch (type) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16:
      return &kHalf;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16:
      return &kBfloat;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FN:
      return &kE4M3;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FNUZ:
      return &kE4M3uz;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2:
      return &kE5M2;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2FNUZ:
      return &kE5M2uz;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT4E2M1:
      return &kE2M1;
    default:
      return nullptr;
  }
}

double decode(const Format& f, int bits, uint32_t code) {
  const uint32_t sign = 1u << (bits - 1), magnitude = code & (sign - 1);
  if (f.nan_is_minus_zero ? code == sign : magnitude > f.greatest && magnitude != f.infinity)
    return std::numeric_limits<double>::quiet_NaN();
  double value;
  if (f.infinity && magnitude == f.infinity) {
    value = std::numeric_limits<double>::infinity();
  } else {
    const int exponent = static_cast<int>(magnitude >> f.mantissa);
    const double fraction = magnitude & ((1u << f.mantissa) - 1);
    value = exponent == 0 ? std::ldexp(fraction, 1 - f.bias - f.mantissa)
                          : std::ldexp(fraction + (1 << f.mantissa), exponent - f.bias - f.mantissa);
  }
  return code & sign ? -value : value;
}

// False for a NaN that the format does not have, and for a number beyond its greatest.
bool encode(const Format& f, int bits, double value, uint32_t& code) {
  if (std::isnan(value)) {
    code = f.nan;
    return f.nan != 0;
  }
  const uint32_t one = 1u << f.mantissa;
  const double magnitude = std::fabs(value);
  if (std::isinf(magnitude)) {
    code = f.infinity ? f.infinity : f.greatest;
  } else if (magnitude == 0) {
    code = 0;
  } else {
    int exponent = std::max(std::ilogb(magnitude), 1 - f.bias);
    double steps = std::nearbyint(std::ldexp(magnitude, f.mantissa - exponent));
    if (steps >= 2.0 * one) {
      steps /= 2;
      ++exponent;
    }
    const double field = exponent + f.bias;
    const double wide = steps < one ? steps : field * one + (steps - one);
    if (wide > f.greatest) return false;
    code = static_cast<uint32_t>(wide);
  }
  if (std::signbit(value) && !(f.nan_is_minus_zero && code == 0)) code |= 1u << (bits - 1);
  return true;
}

// Types of fewer than 16 bits and float16 have codes that fit here.
uint32_t code_at(int bits, const std::byte* data, size_t i) {
  if (bits == 16) {
    uint16_t code;
    std::memcpy(&code, data + 2 * i, 2);
    return code;
  }
  if (bits == 8) return static_cast<uint32_t>(data[i]);
  const size_t each = 8 / static_cast<size_t>(bits);
  return (static_cast<uint32_t>(data[i / each]) >> (i % each * static_cast<size_t>(bits))) & ((1u << bits) - 1);
}

void set_code(int bits, std::byte* data, size_t i, uint32_t code) {
  if (bits == 16) {
    const auto narrow = static_cast<uint16_t>(code);
    std::memcpy(data + 2 * i, &narrow, 2);
  } else if (bits == 8) {
    data[i] = static_cast<std::byte>(code);
  } else {
    const size_t each = 8 / static_cast<size_t>(bits);
    data[i / each] |= static_cast<std::byte>((code & ((1u << bits) - 1)) << (i % each * static_cast<size_t>(bits)));
  }
}

template <class T>
T load(const std::byte* data, size_t i) {
  T value;
  std::memcpy(&value, data + i * sizeof(T), sizeof(T));
  return value;
}

}  // namespace

const ElementFacts& element_facts(DataType type) {
  const int index = static_cast<int>(type);
  return kRows[index > 0 && index < kCount ? index : 0];
}

DataType element_type_of_code(int64_t code) {
  for (int i = 1; i < kCount; ++i)
    if (kRows[i].code == code) return static_cast<DataType>(i);
  return ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
}

Integer least(DataType type) {
  const ElementFacts& f = element_facts(type);
  return f.kind == ElementKind::integer ? -(Integer{1} << (f.bits - 1)) : 0;
}

Integer greatest(DataType type) {
  const ElementFacts& f = element_facts(type);
  if (f.kind == ElementKind::boolean) return 1;
  return (Integer{1} << (f.kind == ElementKind::integer ? f.bits - 1 : f.bits)) - 1;
}

Integer integer_at(DataType type, const std::byte* data, size_t i) {
  const ElementFacts& f = element_facts(type);
  if (f.kind == ElementKind::boolean) return data[i] != std::byte{0};
  uint64_t code = 0;
  if (f.bits == 64)
    code = load<uint64_t>(data, i);
  else if (f.bits == 32)
    code = load<uint32_t>(data, i);
  else
    code = code_at(f.bits, data, i);
  const Integer value = code;
  return value > greatest(type) ? value - (Integer{1} << f.bits) : value;
}

double number_at(DataType type, const std::byte* data, size_t i, int part) {
  switch (type) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT:
      return load<float>(data, i);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE:
      return load<double>(data, i);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX64:
      return load<float>(data, 2 * i + static_cast<size_t>(part));
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX128:
      return load<double>(data, 2 * i + static_cast<size_t>(part));
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E8M0: {
      const uint32_t code = code_at(8, data, i);
      return code == 255 ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, static_cast<int>(code) - 127);
    }
    default:
      break;
  }
  const int bits = element_facts(type).bits;
  if (const Format* f = small_format(type)) return decode(*f, bits, code_at(bits, data, i));
  return static_cast<double>(integer_at(type, data, i));
}

bool store_integer(DataType type, std::byte* data, size_t i, Integer value) {
  if (!is_integer(type)) return store_number(type, data, i, static_cast<double>(value));
  if (value < least(type) || value > greatest(type)) return false;
  const auto code = static_cast<uint64_t>(value);
  const int bits = element_facts(type).bits;
  if (bits >= 32)
    std::memcpy(data + i * static_cast<size_t>(bits) / 8, &code, static_cast<size_t>(bits) / 8);
  else
    set_code(bits, data, i, static_cast<uint32_t>(code));
  return true;
}

bool store_number(DataType type, std::byte* data, size_t i, double value, int part) {
  const auto narrow = static_cast<float>(value);
  const size_t offset = static_cast<size_t>(part);
  switch (type) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT:
      if (std::isinf(narrow) && !std::isinf(value)) return false;
      std::memcpy(data + 4 * i, &narrow, 4);
      return true;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE:
      std::memcpy(data + 8 * i, &value, 8);
      return true;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX64:
      if (std::isinf(narrow) && !std::isinf(value)) return false;
      std::memcpy(data + 8 * i + 4 * offset, &narrow, 4);
      return true;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX128:
      std::memcpy(data + 16 * i + 8 * offset, &value, 8);
      return true;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E8M0: {  // powers of two only
      if (std::isnan(value)) return set_code(8, data, i, 255), true;
      if (!(value > 0)) return false;
      const double exponent = std::isinf(value) ? 127 : std::nearbyint(std::log2(value));
      set_code(8, data, i, static_cast<uint32_t>(std::fmin(std::fmax(exponent, -127), 127) + 127));
      return true;
    }
    default:
      break;
  }
  const int bits = element_facts(type).bits;
  if (const Format* f = small_format(type)) {
    uint32_t code = 0;
    if (!encode(*f, bits, value, code)) return false;
    set_code(bits, data, i, code);
    return true;
  }
  constexpr double kBound = 18446744073709551616.0;  // beyond every integer type, within Integer
  if (!is_integer(type) || std::trunc(value) != value || std::fabs(value) > kBound) return false;
  return store_integer(type, data, i, static_cast<Integer>(value));
}

}  // namespace trunnion::cli
