// Conversions between the native types: plain loops that the compiler turns to vectors, once for every rung.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/convert_native.simd.cc"
#include <cstring>
#include <limits>
#include <type_traits>
// clang-format off
#include "kernels/rung_table.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on
#include "kernels/convert_table.h"

HWY_BEFORE_NAMESPACE();
namespace trunnion::kernels::HWY_NAMESPACE {
namespace {

// Value conversion between native types, as convert.h states it.
template <class From, class To, bool kToBool>
inline To convert_one(From x) {
  if constexpr (kToBool) {
    return x != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if constexpr (sizeof(To) < 4 || std::is_same_v<To, int32_t>) {
      const bool fits = x >= From(-2147483648.0) && x < From(2147483648.0);
      const int32_t v = static_cast<int32_t>(fits ? x : From(0));
      return static_cast<To>(fits ? v : std::numeric_limits<int32_t>::min());
    } else {
      constexpr From kHigh = From(9223372036854775808.0);
      if constexpr (std::is_same_v<To, uint64_t>) {
        if (x >= kHigh && x < 2 * kHigh) return static_cast<uint64_t>(static_cast<int64_t>(x - kHigh)) + (1ull << 63);
      }
      const bool fits = x >= -kHigh && x < kHigh;
      const int64_t v = static_cast<int64_t>(fits ? x : From(0));
      return static_cast<To>(fits ? v : std::numeric_limits<int64_t>::min());
    }
  } else {
    return static_cast<To>(x);
  }
}

template <class From, class To, bool kToBool>
void convert_native(const void* xv, void* yv, size_t n) {
  const From* x = static_cast<const From*>(xv);
  To* y = static_cast<To*>(yv);
  if constexpr (std::is_same_v<From, To> && !kToBool) {
    if (n) std::memmove(y, x, n * sizeof(To));
  } else {
    for (size_t i = 0; i < n; ++i) y[i] = convert_one<From, To, kToBool>(x[i]);
  }
}

#define TRN_FROM(From)                                                                                               \
  {                                                                                                                  \
    &convert_native<From, float, false>, &convert_native<From, double, false>, &convert_native<From, int8_t, false>, \
        &convert_native<From, int16_t, false>, &convert_native<From, int32_t, false>,                                \
        &convert_native<From, int64_t, false>, &convert_native<From, uint8_t, false>,                                \
        &convert_native<From, uint16_t, false>, &convert_native<From, uint32_t, false>,                              \
        &convert_native<From, uint64_t, false>, &convert_native<From, uint8_t, true>                                 \
  }
}  // namespace

constexpr ConvertNativeTable kTable = {{TRN_FROM(float), TRN_FROM(double), TRN_FROM(int8_t), TRN_FROM(int16_t),
                                        TRN_FROM(int32_t), TRN_FROM(int64_t), TRN_FROM(uint8_t), TRN_FROM(uint16_t),
                                        TRN_FROM(uint32_t), TRN_FROM(uint64_t), TRN_FROM(uint8_t)}};
#undef TRN_FROM

}  // namespace trunnion::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trunnion::kernels {
const ConvertNativeTable& convert_native_table() { TRN_RUNG_TABLE(kTable) }
}  // namespace trunnion::kernels
#endif
