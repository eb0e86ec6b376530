// Arithmetic on sizes that come from outside: every operation tells whether it overflowed.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>

namespace trunnion {

// *out = a op b; false when the exact result does not fit T (then *out is unspecified).
template <std::integral T>
[[nodiscard]] constexpr bool add_fits(T a, std::type_identity_t<T> b, T* out) {
  return !__builtin_add_overflow(a, b, out);
}
template <std::integral T>
[[nodiscard]] constexpr bool sub_fits(T a, std::type_identity_t<T> b, T* out) {
  return !__builtin_sub_overflow(a, b, out);
}
template <std::integral T>
[[nodiscard]] constexpr bool mul_fits(T a, std::type_identity_t<T> b, T* out) {
  return !__builtin_mul_overflow(a, b, out);
}

// The same, as values: nullopt on overflow.
template <std::integral T>
[[nodiscard]] constexpr std::optional<T> checked_add(T a, std::type_identity_t<T> b) {
  T r{};
  return add_fits(a, b, &r) ? std::optional<T>(r) : std::nullopt;
}
template <std::integral T>
[[nodiscard]] constexpr std::optional<T> checked_sub(T a, std::type_identity_t<T> b) {
  T r{};
  return sub_fits(a, b, &r) ? std::optional<T>(r) : std::nullopt;
}
template <std::integral T>
[[nodiscard]] constexpr std::optional<T> checked_mul(T a, std::type_identity_t<T> b) {
  T r{};
  return mul_fits(a, b, &r) ? std::optional<T>(r) : std::nullopt;
}

// The value as type To, or nullopt when it does not fit.
template <std::integral To, std::integral From>
[[nodiscard]] constexpr std::optional<To> checked_cast(From v) {
  To r{};
  return __builtin_add_overflow(v, static_cast<From>(0), &r) ? std::nullopt : std::optional<To>(r);
}

// Product of the elements; 1 for none. A zero anywhere makes it 0, whatever the others are. nullopt on overflow.
template <std::integral T>
[[nodiscard]] constexpr std::optional<T> checked_product(std::span<const T> values) {
  T r = 1;
  bool overflowed = false;
  for (T v : values) {
    if (v == 0) return T{0};
    if (!overflowed && !mul_fits(r, v, &r)) overflowed = true;
  }
  return overflowed ? std::nullopt : std::optional<T>(r);
}

// ceil(a / b) for a >= 0, b > 0; never overflows.
template <std::integral T>
[[nodiscard]] constexpr T ceil_div(T a, std::type_identity_t<T> b) {
  return static_cast<T>(a / b + (a % b != 0 ? 1 : 0));
}

// The next multiple of step (> 0) that is >= v (>= 0); nullopt on overflow.
template <std::integral T>
[[nodiscard]] constexpr std::optional<T> checked_round_up(T v, std::type_identity_t<T> step) {
  return checked_mul<T>(ceil_div(v, step), step);
}

// True when [offset, offset + length) lies inside [0, size).
[[nodiscard]] constexpr bool range_fits(uint64_t offset, uint64_t length, uint64_t size) {
  return offset <= size && length <= size - offset;
}

}  // namespace trunnion
