#include "tensor/dtype.h"

#include <string>

namespace trunnion {
namespace {

struct Row {
  std::string_view name;
  int bits;
};

constexpr Row kRows[kDTypeCount] = {
    {"undefined", 0},      {"float", 32},     {"uint8", 8},
    {"int8", 8},           {"uint16", 16},    {"int16", 16},
    {"int32", 32},         {"int64", 64},     {"string", 8 * sizeof(std::string)},
    {"bool", 8},           {"float16", 16},   {"double", 64},
    {"uint32", 32},        {"uint64", 64},    {"complex64", 64},
    {"complex128", 128},   {"bfloat16", 16},  {"float8e4m3fn", 8},
    {"float8e4m3fnuz", 8}, {"float8e5m2", 8}, {"float8e5m2fnuz", 8},
    {"uint4", 4},          {"int4", 4},       {"float4e2m1", 4},
    {"float8e8m0", 8},     {"uint2", 2},      {"int2", 2},
};

}  // namespace

int bits_of(DType type) {
  const auto i = static_cast<size_t>(type);
  return i < kDTypeCount ? kRows[i].bits : 0;
}

size_t size_of(DType type) { return static_cast<size_t>(bits_of(type)) / 8; }

std::string_view dtype_name(DType type) {
  const auto i = static_cast<size_t>(type);
  return kRows[i < kDTypeCount ? i : 0].name;
}

std::optional<DType> dtype_from_name(std::string_view name) {
  for (int i = 1; i < kDTypeCount; ++i)
    if (kRows[i].name == name) return static_cast<DType>(i);
  return std::nullopt;
}

std::optional<DType> dtype_from_code(int64_t code) {
  if (code <= 0 || code >= kDTypeCount) return std::nullopt;
  return static_cast<DType>(code);
}

std::optional<size_t> storage_bytes(DType type, int64_t count) {
  if (count < 0) return std::nullopt;
  const auto bits = static_cast<uint64_t>(bits_of(type));
  if (bits >= 8) {
    uint64_t bytes;
    if (__builtin_mul_overflow(static_cast<uint64_t>(count), bits / 8, &bytes) || bytes > (uint64_t{1} << 62))
      return std::nullopt;
    return bytes;
  }
  if (bits == 0) return 0;
  const auto per_byte = 8 / bits;
  return (static_cast<uint64_t>(count) + per_byte - 1) / per_byte;
}

}  // namespace trunnion
