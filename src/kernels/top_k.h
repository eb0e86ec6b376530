// The k first of n elements in order, by keys: unsigned numbers of which the smallest is the best. Of equal keys the
// one that stands first comes first.
#pragma once
#include "kernels/elem.h"

namespace trunnion::kernels {

// Keys of contiguous f32: descending values (ascending when !largest). NaN counts as larger than every number, and
// -0 as 0.
void f32_keys(const float* x, uint32_t* keys, int64_t n, bool largest);

// The key of an i32 in the same sense.
constexpr uint32_t i32_key(int32_t v, bool largest) {
  const uint32_t up = static_cast<uint32_t>(v) ^ 0x80000000u;
  return largest ? ~up : up;
}
constexpr uint32_t u32_key(uint32_t v, bool largest) { return largest ? ~v : v; }

// Bytes of work space that select_keys needs for n elements.
size_t select_keys_bytes(int64_t n);

// The k best in order, k <= n < 2^32: a pointer into the work space to k entries key << 32 | index.
const uint64_t* select_keys(const uint32_t* keys, int64_t n, int64_t k, void* work);

}  // namespace trunnion::kernels
