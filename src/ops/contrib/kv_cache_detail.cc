#include "ops/contrib/kv_cache_detail.h"

#include <algorithm>
#include <cmath>

#include "kernels/convert.h"
#include "ops/dispatch.h"

namespace trunnion::ops {

Result<CacheCode> read_cache_code(const ir::Node& n, const char* attribute, DType cache) {
  const std::string type = n.attr(attribute, "NONE");
  CacheCode code;
  if (type == "NONE") {
    if (!kFloats.has(cache) && cache != DType::undefined)
      return invalid_argument("attribute {} is NONE, but the cache has type {}", attribute, dtype_name(cache));
    return code;
  }
  if (type != "PER_TENSOR" && type != "PER_CHANNEL")
    return invalid_argument("attribute {} is '{}', expected NONE, PER_TENSOR or PER_CHANNEL", attribute, type);
  code.by_channel = type == "PER_CHANNEL";
  code.bits = static_cast<int>(n.attr("kv_cache_bit_width", cache == DType::u8 ? 4 : 8));
  if (code.bits == 8 ? cache != DType::i8 : code.bits != 4 || cache != DType::u8)
    return not_implemented("a cache of {} bits and type {}; 8 bits of int8 and 4 bits of uint8 are supported",
                           code.bits, dtype_name(cache));
  return code;
}

namespace {

void encode_row(const CacheCode& code, const float* x, const float* scales, int64_t size, uint8_t* to) {
  const float low = code.bits == 4 ? -8.0f : -128.0f, high = code.bits == 4 ? 7.0f : 127.0f;
  const auto quantized = [&](int64_t i) {
    const float scale = scales[code.by_channel ? i : 0];
    const float v = scale == 0 ? 0 : std::nearbyint(x[i] / scale);
    return static_cast<int>(std::isnan(v) ? 0 : std::clamp(v, low, high));
  };
  if (code.bits == 8) {
    for (int64_t i = 0; i < size; ++i) to[i] = static_cast<uint8_t>(static_cast<int8_t>(quantized(i)));
    return;
  }
  for (int64_t i = 0; i < size; i += 2) {
    const int first = quantized(i) + 8, second = i + 1 < size ? quantized(i + 1) + 8 : 0;
    to[i / 2] = static_cast<uint8_t>(first | second << 4);
  }
}

void decode_row(const CacheCode& code, const uint8_t* x, const float* scales, int64_t size, float* to) {
  for (int64_t i = 0; i < size; ++i) {
    const int q = code.bits == 8 ? static_cast<int8_t>(x[i]) : (x[i / 2] >> (i % 2 * 4) & 15) - 8;
    to[i] = static_cast<float>(q) * scales[code.by_channel ? i : 0];
  }
}

}  // namespace

void encode_rows(const CacheCode& code, const float* x, const float* scales, int64_t rows, int64_t size, uint8_t* to) {
  if (code.bits == 16)
    return kernels::convert(kernels::Elem::f32, elem(code.half))(x, to, static_cast<size_t>(rows * size), {});
  for (int64_t r = 0; r < rows; ++r) encode_row(code, x + r * size, scales, size, to + r * code.row_bytes(size));
}

void decode_rows(const CacheCode& code, const uint8_t* x, const float* scales, int64_t rows, int64_t size, float* to) {
  if (code.bits == 16)
    return kernels::convert(elem(code.half), kernels::Elem::f32)(x, to, static_cast<size_t>(rows * size), {});
  for (int64_t r = 0; r < rows; ++r) decode_row(code, x + r * code.row_bytes(size), scales, size, to + r * size);
}

}  // namespace trunnion::ops
