// Fast hashes of content, for finding equal constants and for cache keys. Not cryptographic: no defence against content
// that is made to collide. Values hold for one byte order and may change between releases.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace trunnion {

struct Hash128 {
  uint64_t low = 0;
  uint64_t high = 0;
  friend bool operator==(const Hash128&, const Hash128&) = default;
  friend auto operator<=>(const Hash128&, const Hash128&) = default;
};

Hash128 hash128(std::span<const std::byte> content, uint64_t seed = 0);
uint64_t hash64(std::span<const std::byte> content, uint64_t seed = 0);

inline Hash128 hash128(std::string_view text, uint64_t seed = 0) {
  return hash128(std::as_bytes(std::span(text.data(), text.size())), seed);
}
inline uint64_t hash64(std::string_view text, uint64_t seed = 0) {
  return hash64(std::as_bytes(std::span(text.data(), text.size())), seed);
}

// Depends on the order: combine(combine(s, a), b) differs from combine(combine(s, b), a).
uint64_t hash_combine(uint64_t state, uint64_t value);
Hash128 hash_combine(const Hash128& state, const Hash128& value);

std::string to_hex(const Hash128& hash);  // 32 lower-case digits

}  // namespace trunnion

template <>
struct std::hash<trunnion::Hash128> {
  size_t operator()(const trunnion::Hash128& h) const noexcept { return static_cast<size_t>(h.low ^ h.high); }
};
