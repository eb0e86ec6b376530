// Single elements of the packed sub-byte types: the first one of a byte is in its low bits.
#pragma once
#include "tensor/dtype.h"

namespace trunnion::run {

inline uint8_t packed_get(const void* data, DType type, int64_t i) {
  const int bits = bits_of(type), per_byte = 8 / bits;
  return static_cast<uint8_t>(static_cast<const uint8_t*>(data)[i / per_byte] >> i % per_byte * bits &
                              ((1 << bits) - 1));
}
inline void packed_set(void* data, DType type, int64_t i, uint8_t value) {
  const int bits = bits_of(type), per_byte = 8 / bits;
  const auto shift = static_cast<int>(i % per_byte) * bits;
  uint8_t& byte = static_cast<uint8_t*>(data)[i / per_byte];
  byte = static_cast<uint8_t>((byte & ~(((1 << bits) - 1) << shift)) | value << shift);
}

}  // namespace trunnion::run
