// Caches of keys and values that GroupQueryAttention keeps in 16, 8 or 4 bits.
#pragma once
#include "ops/op.h"

namespace trunnion::ops {

// Codes of rows of `size` elements: i8, or u8 with two elements a byte, the first in the low bits; or f16 or bf16.
struct CacheCode {
  int bits = 0;                   // 16, 8 or 4; 0: the cache is f32
  bool by_channel = false;        // scales: one, or one for each head and element
  DType half = DType::undefined;  // of 16 bits
  int64_t row_bytes(int64_t size) const { return bits == 4 ? (size + 1) / 2 : size * bits / 8; }
};

Result<CacheCode> read_cache_code(const ir::Node& n, const char* attribute, DType cache);

// Rows one after the other; scales (not of 16 bits) are those of its head when by_channel is set, else one.
void encode_rows(const CacheCode& code, const float* x, const float* scales, int64_t rows, int64_t size, uint8_t* to);
void decode_rows(const CacheCode& code, const uint8_t* x, const float* scales, int64_t rows, int64_t size, float* to);

}  // namespace trunnion::ops
