// Two-input functions of f64 and what f32 has no vector form of: plain loops that the compiler turns to vectors, once
// for every rung; fmod and mod of floats in vectors; division of i32 by way of f64.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/binary_plain.simd.cc"
#include <cmath>
#include <cstdint>
#include <type_traits>
// clang-format off
#include "kernels/rung_table.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on
#include "kernels/binary_table.h"

HWY_BEFORE_NAMESPACE();
namespace trunnion::kernels::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using Op = BinaryOp;
using Shape = BinaryShape;

// a - b floor(a / b), with the sign of b.
template <class T>
T floor_mod(T a, T b) {
  const T r = std::fmod(a, b);
  if (r == 0) return std::copysign(r, b);
  return (r < 0) != (b < 0) ? r + b : r;
}

template <Op kOp, class T>
auto real(T a, T b) {
  if constexpr (kOp == Op::add) return a + b;
  if constexpr (kOp == Op::sub) return a - b;
  if constexpr (kOp == Op::mul) return a * b;
  if constexpr (kOp == Op::div) return a / b;
  if constexpr (kOp == Op::min) return a != a || a < b ? a : b;
  if constexpr (kOp == Op::max) return a != a || a > b ? a : b;
  if constexpr (kOp == Op::pow) return std::pow(a, b);
  if constexpr (kOp == Op::mod) return floor_mod(a, b);
  if constexpr (kOp == Op::fmod) return std::fmod(a, b);
  if constexpr (kOp == Op::prelu) return a < 0 ? a * b : a;
  if constexpr (kOp == Op::atan2) return std::atan2(a, b);
  if constexpr (kOp == Op::equal) return a == b;
  if constexpr (kOp == Op::not_equal) return a != b;
  if constexpr (kOp == Op::less) return a < b;
  if constexpr (kOp == Op::less_equal) return a <= b;
  if constexpr (kOp == Op::greater) return a > b;
  if constexpr (kOp == Op::greater_equal) return a >= b;
}

template <Op kOp, class T, Shape kShape>
void run_real(const void* av, const void* bv, void* yv, size_t n) {
  using Y = std::conditional_t<gives_boolean(kOp), uint8_t, T>;
  const T* a = static_cast<const T*>(av);
  const T* b = static_cast<const T*>(bv);
  Y* y = static_cast<Y*>(yv);
  if (n == 0) return;
  if constexpr (kOp == Op::pow && kShape == Shape::vector_scalar) {
    if (b[0] == 2) {
      for (size_t i = 0; i < n; ++i) y[i] = a[i] * a[i];
      return;
    }
    if (b[0] == 3) {
      for (size_t i = 0; i < n; ++i) y[i] = a[i] * a[i] * a[i];
      return;
    }
  }
  const T a0 = a[0], b0 = b[0];
  for (size_t i = 0; i < n; ++i) {
    y[i] = real<kOp, T>(kShape == Shape::scalar_vector ? a0 : a[i], kShape == Shape::vector_scalar ? b0 : b[i]);
  }
}

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
// a - b trunc(a / b) is exact in one fused step while the quotient has fewer bits than a mantissa: rounding may make it
// one too large, never too small. What lies beyond, and NaN and infinities, goes through libm.
template <Op kOp, class T, Shape kShape>
void run_mod(const void* av, const void* bv, void* yv, size_t n) {
  const T* a = static_cast<const T*>(av);
  const T* b = static_cast<const T*>(bv);
  T* y = static_cast<T*>(yv);
  if (n == 0) return;
  const T a0 = a[0], b0 = b[0];
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const size_t lanes = hn::Lanes(d);
  const V limit = hn::Set(d, sizeof(T) == 8 ? T(0x1p52) : T(0x1p22));
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const V x = kShape == Shape::scalar_vector ? hn::Set(d, a0) : hn::LoadU(d, a + i);
    const V m = kShape == Shape::vector_scalar ? hn::Set(d, b0) : hn::LoadU(d, b + i);
    const V q = hn::Trunc(hn::Div(x, m));
    V r = hn::NegMulAdd(q, m, x);
    const auto good = hn::And(hn::Lt(hn::Abs(q), limit), hn::Eq(r, r));
    if (HWY_UNLIKELY(!hn::AllTrue(d, good))) {
      HWY_ALIGN T left[HWY_MAX_BYTES / sizeof(T)], right[HWY_MAX_BYTES / sizeof(T)];
      hn::Store(x, d, left);
      hn::Store(m, d, right);
      for (size_t k = 0; k < lanes; ++k) y[i + k] = real<kOp, T>(left[k], right[k]);
      continue;
    }
    const auto below =
        hn::Lt(hn::Mul(hn::CopySign(hn::Set(d, T(1)), r), hn::CopySign(hn::Set(d, T(1)), x)), hn::Zero(d));
    r = hn::IfThenElse(hn::And(below, hn::Ne(r, hn::Zero(d))), hn::Add(r, hn::CopySign(m, x)), r);
    r = hn::CopySign(r, x);
    if constexpr (kOp == Op::mod) {
      const auto differ =
          hn::Lt(hn::Mul(hn::CopySign(hn::Set(d, T(1)), m), hn::CopySign(hn::Set(d, T(1)), r)), hn::Zero(d));
      const V moved = hn::IfThenElse(differ, hn::Add(r, m), r);
      r = hn::IfThenElse(hn::Eq(r, hn::Zero(d)), hn::CopySign(r, m), moved);
    }
    hn::StoreU(r, d, y + i);
  }
  for (; i < n; ++i)
    y[i] = real<kOp, T>(kShape == Shape::scalar_vector ? a0 : a[i], kShape == Shape::vector_scalar ? b0 : b[i]);
}
#else
template <Op kOp, class T, Shape kShape>
void run_mod(const void* a, const void* b, void* y, size_t n) {
  run_real<kOp, T, kShape>(a, b, y, n);
}
#endif

// Quotients of i32 are exact in f64: a fraction is further from a whole number than rounding moves it.
template <Op kOp, Shape kShape>
void run_i32(const void* av, const void* bv, void* yv, size_t n) {
  const int32_t* a = static_cast<const int32_t*>(av);
  const int32_t* b = static_cast<const int32_t*>(bv);
  int32_t* y = static_cast<int32_t*>(yv);
  if (n == 0) return;
  const int32_t a0 = a[0], b0 = b[0];
  size_t i = 0;
  const hn::ScalableTag<double> dd;
  const hn::Rebind<int32_t, decltype(dd)> d;
  const size_t lanes = hn::Lanes(d);
  for (; i + lanes <= n; i += lanes) {
    const auto left = kShape == Shape::scalar_vector ? hn::Set(d, a0) : hn::LoadU(d, a + i);
    const auto right = kShape == Shape::vector_scalar ? hn::Set(d, b0) : hn::LoadU(d, b + i);
    const auto none = hn::Eq(right, hn::Zero(d));
    auto q = hn::DemoteTo(d, hn::Div(hn::PromoteTo(dd, left), hn::PromoteTo(dd, right)));
    q = hn::IfThenElse(hn::Eq(right, hn::Set(d, -1)), hn::Neg(left), q);  // the largest negative one stays
    if constexpr (kOp != Op::div) {
      q = hn::Sub(left, hn::Mul(q, right));
      if constexpr (kOp == Op::mod) {
        const auto differ = hn::And(hn::Lt(hn::Xor(q, right), hn::Zero(d)), hn::Ne(q, hn::Zero(d)));
        q = hn::IfThenElse(differ, hn::Add(q, right), q);
      }
    }
    hn::StoreU(hn::IfThenElse(none, hn::Zero(d), q), d, y + i);
  }
  for (; i < n; ++i) {
    const int32_t left = kShape == Shape::scalar_vector ? a0 : a[i], right = kShape == Shape::vector_scalar ? b0 : b[i];
    const double by = right == 0 ? 1.0 : static_cast<double>(right);
    const int64_t q = static_cast<int64_t>(static_cast<double>(left) / by);
    if constexpr (kOp == Op::div) {
      y[i] = right == 0 ? 0 : static_cast<int32_t>(q);
    } else {
      const int64_t r = left - q * right;
      const bool move = kOp == Op::mod && r != 0 && (r < 0) != (right < 0);
      y[i] = right == 0 ? 0 : static_cast<int32_t>(move ? r + right : r);
    }
  }
}

#define TRN_ROW(op, T)                                                                      \
  {                                                                                         \
    &run_real<Op::op, T, Shape::vector_vector>, &run_real<Op::op, T, Shape::vector_scalar>, \
        &run_real<Op::op, T, Shape::scalar_vector>                                          \
  }
#define TRN_MOD(op, T)                                                                    \
  {                                                                                       \
    &run_mod<Op::op, T, Shape::vector_vector>, &run_mod<Op::op, T, Shape::vector_scalar>, \
        &run_mod<Op::op, T, Shape::scalar_vector>                                         \
  }
#define TRN_I32(op)                                                                 \
  {                                                                                 \
    &run_i32<Op::op, Shape::vector_vector>, &run_i32<Op::op, Shape::vector_scalar>, \
        &run_i32<Op::op, Shape::scalar_vector>                                      \
  }
}  // namespace

constexpr BinaryPlainTable kTable = {
    // In the order of BinaryOp.
    {TRN_ROW(add, double),
     TRN_ROW(sub, double),
     TRN_ROW(mul, double),
     TRN_ROW(div, double),
     TRN_ROW(min, double),
     TRN_ROW(max, double),
     TRN_ROW(pow, double),
     TRN_MOD(mod, double),
     TRN_MOD(fmod, double),
     TRN_ROW(prelu, double),
     TRN_ROW(atan2, double),
     {},
     {},
     {},
     {},
     {},
     TRN_ROW(equal, double),
     TRN_ROW(not_equal, double),
     TRN_ROW(less, double),
     TRN_ROW(less_equal, double),
     TRN_ROW(greater, double),
     TRN_ROW(greater_equal, double)},
    {TRN_ROW(pow, float), TRN_MOD(mod, float), TRN_MOD(fmod, float), {}, TRN_ROW(atan2, float)},
    {TRN_I32(div), TRN_I32(mod), TRN_I32(fmod)}};
#undef TRN_ROW
#undef TRN_MOD
#undef TRN_I32

}  // namespace trunnion::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trunnion::kernels {
const BinaryPlainTable& binary_plain_table() { TRN_RUNG_TABLE(kTable) }
}  // namespace trunnion::kernels
#endif
