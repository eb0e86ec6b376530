// Bit-level conversions of f16 and bf16, one element at a time: round to nearest even, subnormals kept, NaN quieted.
// They give the same bits as the F16C instructions.
#pragma once
#include <bit>

#include "kernels/elem.h"

namespace trunnion::kernels::half {

inline float from_f16(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
  const uint32_t magnitude = h & 0x7fffu;
  if (magnitude >= 0x7c00u) {
    const uint32_t quiet = magnitude > 0x7c00u ? 0x00400000u : 0;
    return std::bit_cast<float>(sign | 0x7f800000u | quiet | (magnitude & 0x3ffu) << 13);
  }
  if (magnitude < 0x0400u) {
    const float f = static_cast<float>(magnitude) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(f));
  }
  return std::bit_cast<float>(sign | ((magnitude << 13) + (112u << 23)));
}

inline uint16_t to_f16(float f) {
  const uint32_t bits = std::bit_cast<uint32_t>(f);
  const uint16_t sign = static_cast<uint16_t>(bits >> 16 & 0x8000u);
  uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u | (magnitude >> 13 & 0x3ffu));
  if (magnitude >= 0x477ff000u) return sign | 0x7c00u;  // from 65520 on it rounds to infinity
  if (magnitude < 0x38800000u) {
    // Below 2^-14: adding 1/2 aligns the last bit to 2^-24 and rounds in hardware.
    const float aligned = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(aligned) - 0x3f000000u));
  }
  magnitude += 0xfffu + (magnitude >> 13 & 1u);
  return static_cast<uint16_t>(sign | (magnitude - (112u << 23)) >> 13);
}

inline float from_bf16(uint16_t h) { return std::bit_cast<float>(static_cast<uint32_t>(h) << 16); }

inline uint16_t to_bf16(float f) {
  const uint32_t bits = std::bit_cast<uint32_t>(f);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>(bits >> 16 | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

}  // namespace trunnion::kernels::half
