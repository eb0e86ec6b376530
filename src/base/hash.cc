// Eight lanes of 64 bits. A block of 64 bytes is spread over them by eight widening multiplications: each lane is
// multiplied with its word mixed in, and the high and the low half of the product go to two different lanes, so a zero
// product cannot wipe out what was read before.
#include "base/hash.h"

#include <cstring>

namespace trunnion {
namespace {

constexpr size_t kLanes = 8;
constexpr size_t kBlock = kLanes * 8;

// Odd constants: the fractional parts of the square roots of the first primes, made odd.
constexpr uint64_t kKeys[kLanes] = {0x6a09e667f3bcc909u, 0xbb67ae8584caa73bu, 0x3c6ef372fe94f82bu, 0xa54ff53a5f1d36f1u,
                                    0x510e527fade682d1u, 0x9b05688c2b3e6c1fu, 0x1f83d9abfb41bd6bu, 0x5be0cd19137e2179u};

struct Product {
  uint64_t low, high;
};

Product multiply(uint64_t a, uint64_t b) {
  unsigned __int128 p = static_cast<unsigned __int128>(a) * b;
  return {static_cast<uint64_t>(p), static_cast<uint64_t>(p >> 64)};
}

// A bijection of 64 bits in which every bit of the input reaches every bit of the output.
uint64_t mix(uint64_t x) {
  x ^= x >> 32;
  x *= kKeys[0];
  x ^= x >> 29;
  x *= kKeys[2];
  x ^= x >> 32;
  return x;
}

uint64_t load(const std::byte* p) {
  uint64_t word;
  std::memcpy(&word, p, 8);
  return word;
}

void absorb(uint64_t (&lane)[kLanes], const std::byte* block) {
  uint64_t next[kLanes], low[kLanes];
#pragma GCC unroll 8
  for (size_t i = 0; i < kLanes; ++i) {
    uint64_t word = load(block + 8 * i);
    Product p = multiply(word ^ kKeys[i], lane[i] ^ kKeys[kLanes - 1 - i]);
    next[i] = (lane[i] << 23 | lane[i] >> 41) + word + p.high;
    low[i] = p.low;
  }
#pragma GCC unroll 8
  for (size_t i = 0; i < kLanes; ++i) lane[i] = next[i] ^ low[(i + kLanes - 1) % kLanes];
}

}  // namespace

Hash128 hash128(std::span<const std::byte> content, uint64_t seed) {
  uint64_t lane[kLanes];
  for (size_t i = 0; i < kLanes; ++i) lane[i] = mix(kKeys[i] ^ (seed + i));
  const std::byte* p = content.data();
  size_t left = content.size();
  for (; left >= kBlock; p += kBlock, left -= kBlock) absorb(lane, p);
  if (left > 0) {
    std::byte last[kBlock] = {};  // the length, mixed in below, tells padding from zeros
    std::memcpy(last, p, left);
    absorb(lane, last);
  }
  uint64_t low = mix(content.size() ^ kKeys[1]), high = mix(low + kKeys[3]);
  for (size_t i = 0; i < kLanes; ++i) {
    low = mix(low ^ lane[i]) + high;
    high = mix(high + kKeys[i]) ^ (low << 32 | low >> 32);
  }
  return {mix(low), mix(high ^ low)};
}

uint64_t hash64(std::span<const std::byte> content, uint64_t seed) { return hash128(content, seed).low; }

uint64_t hash_combine(uint64_t state, uint64_t value) { return mix(state * kKeys[4] + mix(value + kKeys[5])); }

Hash128 hash_combine(const Hash128& state, const Hash128& value) {
  uint64_t low = hash_combine(hash_combine(state.low, value.low), state.high);
  return {low, hash_combine(hash_combine(state.high, value.high), low)};
}

std::string to_hex(const Hash128& hash) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text(32, '0');
  for (int i = 0; i < 16; ++i) {
    text[15 - i] = kDigits[hash.high >> (4 * i) & 15];
    text[31 - i] = kDigits[hash.low >> (4 * i) & 15];
  }
  return text;
}

}  // namespace trunnion
