// Look-up of quantization by type, packed types, per-element scales, and the range of DynamicQuantizeLinear.
#include "kernels/quant.h"

#include <cmath>
#include <limits>

#include "kernels/convert.h"
#include "kernels/quant_table.h"

namespace trunnion::kernels {
namespace {

constexpr size_t kBlock = 256;  // elements; a multiple of 4, so that packed blocks start at a byte

struct Range {
  int32_t low, high;
};
constexpr Range range_of(Elem type) {
  switch (type) {
    case Elem::u8:
      return {0, 255};
    case Elem::i8:
      return {-128, 127};
    case Elem::u16:
      return {0, 65535};
    case Elem::i16:
      return {-32768, 32767};
    case Elem::u4:
      return {0, 15};
    case Elem::i4:
      return {-8, 7};
    case Elem::u2:
      return {0, 3};
    default:
      return {-2, 1};
  }
}

int32_t quantize_one(float x, float scale, int32_t zero_point, Range range) {
  const float r = std::nearbyint(x / scale);
  if (r != r) return zero_point;
  const float low = static_cast<float>(range.low - zero_point), high = static_cast<float>(range.high - zero_point);
  return static_cast<int32_t>(r < low ? low : r > high ? high : r) + zero_point;
}

template <Elem kType>
void quantize_packed(const float* x, void* yv, size_t n, float scale, int32_t zero_point) {
  uint8_t* y = static_cast<uint8_t*>(yv);
  uint8_t wide[kBlock];
  for (size_t i = 0; i < n; i += kBlock) {
    const size_t m = n - i < kBlock ? n - i : kBlock;
    for (size_t k = 0; k < m; ++k) {
      wide[k] = static_cast<uint8_t>(quantize_one(x[i + k], scale, zero_point, range_of(kType)));
    }
    pack_bits(wide, y + i * static_cast<size_t>(elem_bits(kType)) / 8, m, kType);
  }
}

template <Elem kType>
void dequantize_packed(const void* xv, float* y, size_t n, float scale, int32_t zero_point) {
  constexpr bool kSigned = kType == Elem::i4 || kType == Elem::i2;
  const uint8_t* x = static_cast<const uint8_t*>(xv);
  uint8_t wide[kBlock];
  const DequantizeFn fn = kSigned ? quant_table().dequantize_i8 : quant_table().dequantize_u8;
  for (size_t i = 0; i < n; i += kBlock) {
    const size_t m = n - i < kBlock ? n - i : kBlock;
    unpack_bits(x + i * static_cast<size_t>(elem_bits(kType)) / 8, wide, m, kType);
    fn(wide, y + i, m, scale, zero_point);
  }
}

// i32 minus its zero point may need more bits.
void dequantize_each_i32(const int32_t* x, float* y, size_t n, const float* scale, const int32_t* zero) {
  for (size_t i = 0; i < n; ++i) y[i] = static_cast<float>(int64_t{x[i]} - (zero ? zero[i] : 0)) * scale[i];
}

// The place of a type in the tables of per-element functions.
int each_row(Elem type) { return type == Elem::u8 ? 0 : type == Elem::i8 ? 1 : type == Elem::u16 ? 2 : 3; }

}  // namespace

QuantizeFn quantize(Elem type) {
  switch (type) {
    case Elem::u8:
      return quant_table().quantize_u8;
    case Elem::i8:
      return quant_table().quantize_i8;
    case Elem::u16:
      return quant_table().quantize_u16;
    case Elem::i16:
      return quant_table().quantize_i16;
    case Elem::u4:
      return &quantize_packed<Elem::u4>;
    case Elem::i4:
      return &quantize_packed<Elem::i4>;
    case Elem::u2:
      return &quantize_packed<Elem::u2>;
    case Elem::i2:
      return &quantize_packed<Elem::i2>;
    default:
      return nullptr;
  }
}

DequantizeFn dequantize(Elem type) {
  switch (type) {
    case Elem::u8:
      return quant_table().dequantize_u8;
    case Elem::i8:
      return quant_table().dequantize_i8;
    case Elem::u16:
      return quant_table().dequantize_u16;
    case Elem::i16:
      return quant_table().dequantize_i16;
    case Elem::i32:
      return quant_table().dequantize_i32;
    case Elem::u4:
      return &dequantize_packed<Elem::u4>;
    case Elem::i4:
      return &dequantize_packed<Elem::i4>;
    case Elem::u2:
      return &dequantize_packed<Elem::u2>;
    case Elem::i2:
      return &dequantize_packed<Elem::i2>;
    default:
      return nullptr;
  }
}

void quantize_vector(const float* x, void* y, size_t n, const float* scale, const int32_t* zero, Elem type) {
  quant_table().quantize_each[each_row(type)](x, y, n, scale, zero);
}

void dequantize_vector(const void* x, float* y, size_t n, const float* scale, const int32_t* zero, Elem type) {
  if (type == Elem::i32) return dequantize_each_i32(static_cast<const int32_t*>(x), y, n, scale, zero);
  quant_table().dequantize_each[each_row(type)](x, y, n, scale, zero);
}

void min_max(const float* x, size_t n, float* min, float* max) { quant_table().min_max(x, n, min, max); }

void dynamic_quantize_params(float min, float max, float* scale, uint8_t* zero_point) {
  const float low = min < 0 ? min : 0, high = max > 0 ? max : 0;
  *scale = high == low ? 1.0f : (high - low) / 255.0f;
  const float zero = std::nearbyint(-low / *scale);
  *zero_point = static_cast<uint8_t>(zero < 0 ? 0 : zero > 255 ? 255 : zero == zero ? zero : 0);
}

}  // namespace trunnion::kernels
