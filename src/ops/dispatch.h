// From a run-time element type to a C++ type: dispatch<types>(dtype, fn) for arithmetic, dispatch_size(dtype, fn) for
// moving elements. fn is a lambda template without arguments: [&]<class T>() { ... }, giving void or Status.
#pragma once
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>

#include "base/error.h"
#include "kernels/elem.h"
#include "kernels/half.h"
#include "tensor/tensor.h"

namespace trunnion::ops {

// Storage of the 16-bit floats. Arithmetic happens in float; each assignment rounds once.
struct Half {
  uint16_t bits = 0;
  Half() = default;
  explicit Half(float v) : bits(kernels::half::to_f16(v)) {}
  operator float() const { return kernels::half::from_f16(bits); }  // NOLINT: widening is exact
};
struct Bfloat {
  uint16_t bits = 0;
  Bfloat() = default;
  explicit Bfloat(float v) : bits(kernels::half::to_bf16(v)) {}
  operator float() const { return kernels::half::from_bf16(bits); }  // NOLINT: widening is exact
};
static_assert(sizeof(Half) == 2 && sizeof(Bfloat) == 2);

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, Half> || std::is_same_v<T, Bfloat>;
template <class T>
inline constexpr bool kIsFloating = std::is_floating_point_v<T> || kIsHalf<T>;

// The type in which arithmetic on T is done. Integers narrower than int and all others keep theirs.
template <class T>
using Compute = std::conditional_t<kIsHalf<T>, float, T>;

inline kernels::Elem elem(DType t) { return static_cast<kernels::Elem>(t); }

// 16-byte elements (complex of doubles) as plain bits.
struct Bits128 {
  uint64_t low, high;
};

namespace detail {
template <uint32_t kTypes, DType kType, class T, class F>
Status call_typed(F& fn) {
  if constexpr ((kTypes >> static_cast<unsigned>(kType) & 1) == 0) {
    return not_implemented("element type {} is not supported here", dtype_name(kType));
  } else if constexpr (std::is_void_v<decltype(fn.template operator()<T>())>) {
    fn.template operator()<T>();
    return {};
  } else {
    return fn.template operator()<T>();
  }
}
}  // namespace detail

// Calls fn<T>() for the C++ type of `type`, which must be in the set kTypes (DTypes::bits(), so that only those are
// instantiated); an error otherwise.
template <uint32_t kTypes, class F>
Status dispatch(DType type, F&& fn) {
  switch (type) {
    case DType::f32:
      return detail::call_typed<kTypes, DType::f32, float>(fn);
    case DType::f64:
      return detail::call_typed<kTypes, DType::f64, double>(fn);
    case DType::f16:
      return detail::call_typed<kTypes, DType::f16, Half>(fn);
    case DType::bf16:
      return detail::call_typed<kTypes, DType::bf16, Bfloat>(fn);
    case DType::i8:
      return detail::call_typed<kTypes, DType::i8, int8_t>(fn);
    case DType::i16:
      return detail::call_typed<kTypes, DType::i16, int16_t>(fn);
    case DType::i32:
      return detail::call_typed<kTypes, DType::i32, int32_t>(fn);
    case DType::i64:
      return detail::call_typed<kTypes, DType::i64, int64_t>(fn);
    case DType::u8:
      return detail::call_typed<kTypes, DType::u8, uint8_t>(fn);
    case DType::u16:
      return detail::call_typed<kTypes, DType::u16, uint16_t>(fn);
    case DType::u32:
      return detail::call_typed<kTypes, DType::u32, uint32_t>(fn);
    case DType::u64:
      return detail::call_typed<kTypes, DType::u64, uint64_t>(fn);
    case DType::boolean:
      return detail::call_typed<kTypes, DType::boolean, bool>(fn);
    case DType::string:
      return detail::call_typed<kTypes, DType::string, std::string>(fn);
    default:
      return not_implemented("element type {} is not supported here", dtype_name(type));
  }
}

// Calls fn<T>() with an unsigned integer of the element's size, Bits128, or std::string. Sub-byte types are refused.
template <class F>
Status dispatch_size(DType type, F&& fn) {
  const auto call = [&]<class T>() -> Status { return detail::call_typed<~0u, DType::u8, T>(fn); };
  if (type == DType::string) return call.template operator()<std::string>();
  switch (size_of(type)) {
    case 1:
      return call.template operator()<uint8_t>();
    case 2:
      return call.template operator()<uint16_t>();
    case 4:
      return call.template operator()<uint32_t>();
    case 8:
      return call.template operator()<uint64_t>();
    case 16:
      return call.template operator()<Bits128>();
    default:
      return not_implemented("element type {} is not supported here", dtype_name(type));
  }
}

// A number as int64: truncated, clamped to the range; NaN gives 0.
template <class T>
int64_t to_int64(T v) {
  if constexpr (kIsFloating<T>) {
    const double d = static_cast<double>(static_cast<Compute<T>>(v));
    if (!(d > -9.2233720368547758e18)) return std::isnan(d) ? 0 : std::numeric_limits<int64_t>::min();
    return d >= 9.2233720368547758e18 ? std::numeric_limits<int64_t>::max() : static_cast<int64_t>(d);
  } else if constexpr (std::is_same_v<T, uint64_t>) {
    return v > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) ? std::numeric_limits<int64_t>::max()
                                                                          : static_cast<int64_t>(v);
  } else {
    return static_cast<int64_t>(v);
  }
}

// Elements of an integer tensor (i32 or i64) that carries axes, starts, pads, ...
inline Shape read_ints(const TensorView& t) {
  Shape out;
  out.reserve(static_cast<size_t>(t.count));
  for (int64_t i = 0; i < t.count; ++i) out.push_back(t.dtype == DType::i32 ? t.as<int32_t>()[i] : t.as<int64_t>()[i]);
  return out;
}

}  // namespace trunnion::ops
