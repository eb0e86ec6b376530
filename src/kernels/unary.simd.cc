// f32 element-wise functions, one loop per operation. The functions themselves are in vec_math-inl.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/unary.simd.cc"
#include <cmath>
// clang-format off
#include "kernels/rung_table.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on
#include "kernels/unary_table.h"
#include "kernels/vec_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace trunnion::kernels::HWY_NAMESPACE {
namespace {

HWY_INLINE VF Clamp01(DF d, VF x) { return MinKeepNan(hn::Set(d, 1.0f), MaxKeepNan(hn::Zero(d), x)); }

// log(1 + e^x) = max(x, 0) + log(1 + e^-|x|).
HWY_INLINE VF Softplus(DF d, VF x) {
  const VF u = ExpOfNegative(d, hn::Or(x, hn::SignBit(d)));
  // Below 2^-24 log(1 + u) is u, denormals included.
  const VF tail = hn::IfThenElse(hn::Lt(u, hn::Set(d, 5.9604645e-8f)), u, Log1pUnit(d, u));
  return hn::Add(MaxKeepNan(hn::Zero(d), x), tail);
}

// tanh(log(1 + e)) = n / (n + 2) with n = e (e + 2), e = e^x.
HWY_INLINE VF Mish(DF d, VF x) {
  const VF e = Exp(d, MinKeepNan(hn::Set(d, 20.0f), x));
  const VF n = hn::Mul(e, hn::Add(e, hn::Set(d, 2.0f)));
  return hn::Mul(x, hn::Div(n, hn::Add(n, hn::Set(d, 2.0f))));
}

template <UnaryOp kOp>
HWY_INLINE VF Apply(DF d, VF x, VF a, VF b) {
  const VF zero = hn::Zero(d);
  const VF one = hn::Set(d, 1.0f);
  if constexpr (kOp == UnaryOp::identity) return x;
  if constexpr (kOp == UnaryOp::abs) return hn::Abs(x);
  if constexpr (kOp == UnaryOp::neg) return hn::Neg(x);
  if constexpr (kOp == UnaryOp::sign) {
    return hn::IfThenElse(hn::Gt(x, zero), one, hn::IfThenElse(hn::Lt(x, zero), hn::Neg(one), x));
  }
  if constexpr (kOp == UnaryOp::floor) return hn::Floor(x);
  if constexpr (kOp == UnaryOp::ceil) return hn::Ceil(x);
  if constexpr (kOp == UnaryOp::round) return hn::Round(x);
  if constexpr (kOp == UnaryOp::trunc) return hn::Trunc(x);
  if constexpr (kOp == UnaryOp::sqrt) return hn::Sqrt(x);
  if constexpr (kOp == UnaryOp::rsqrt) return hn::Div(one, hn::Sqrt(x));
  if constexpr (kOp == UnaryOp::reciprocal) return hn::Div(one, x);
  if constexpr (kOp == UnaryOp::square) return hn::Mul(x, x);
  if constexpr (kOp == UnaryOp::exp) return Exp(d, x);
  if constexpr (kOp == UnaryOp::log) return Log(d, x);
  if constexpr (kOp == UnaryOp::relu) return MaxKeepNan(zero, x);
  if constexpr (kOp == UnaryOp::leaky_relu) return hn::IfThenElse(hn::Lt(x, zero), hn::Mul(a, x), x);
  if constexpr (kOp == UnaryOp::elu) return hn::IfThenElse(hn::Lt(x, zero), hn::Mul(a, Expm1(d, x)), x);
  if constexpr (kOp == UnaryOp::selu) {
    return hn::Mul(b, hn::IfThenElse(hn::Le(x, zero), hn::Mul(a, Expm1(d, x)), x));
  }
  if constexpr (kOp == UnaryOp::celu) {
    const VF low = hn::Mul(a, Expm1(d, MinKeepNan(hn::Set(d, 88.0f), hn::Div(x, a))));
    return hn::Add(MaxKeepNan(zero, x), MinKeepNan(zero, low));
  }
  if constexpr (kOp == UnaryOp::thresholded_relu) return hn::IfThenElse(hn::Le(x, a), zero, x);
  if constexpr (kOp == UnaryOp::shrink) {
    const VF low = hn::IfThenElse(hn::Lt(x, hn::Neg(b)), hn::Add(x, a), hn::Mul(x, zero));
    return hn::IfThenElse(hn::Gt(x, b), hn::Sub(x, a), low);
  }
  if constexpr (kOp == UnaryOp::sigmoid) return Sigmoid(d, x);
  if constexpr (kOp == UnaryOp::tanh) return Tanh(d, x);
  if constexpr (kOp == UnaryOp::erf) return Erf(d, x);
  if constexpr (kOp == UnaryOp::gelu) return Gelu(d, x);
  if constexpr (kOp == UnaryOp::gelu_tanh) return GeluTanh(d, x);
  if constexpr (kOp == UnaryOp::silu) return hn::Mul(x, Sigmoid(d, hn::Mul(a, x)));
  if constexpr (kOp == UnaryOp::hard_sigmoid) return Clamp01(d, hn::MulAdd(a, x, b));
  if constexpr (kOp == UnaryOp::hard_swish) {
    return hn::Mul(x, Clamp01(d, hn::MulAdd(x, hn::Set(d, 1.0f / 6.0f), hn::Set(d, 0.5f))));
  }
  if constexpr (kOp == UnaryOp::mish) return Mish(d, x);
  if constexpr (kOp == UnaryOp::softplus) return Softplus(d, x);
  if constexpr (kOp == UnaryOp::softsign) return hn::Div(x, hn::Add(one, hn::Abs(x)));
  if constexpr (kOp == UnaryOp::scaled_tanh) return hn::Mul(a, Tanh(d, hn::Mul(b, x)));
  if constexpr (kOp == UnaryOp::affine) return hn::MulAdd(a, x, b);
  if constexpr (kOp == UnaryOp::asin) return Asin(d, x);
  if constexpr (kOp == UnaryOp::acos) return Acos(d, x);
  if constexpr (kOp == UnaryOp::atan) return Atan(d, x);
  if constexpr (kOp == UnaryOp::clip) return MinKeepNan(b, MaxKeepNan(a, x));
}

template <UnaryOp kOp>
void Run(const void* xv, void* yv, size_t n, const UnaryParams& params) {
  const float* x = static_cast<const float*>(xv);
  float* y = static_cast<float*>(yv);
  const DF d;
  const size_t lanes = hn::Lanes(d);
  const VF a = hn::Set(d, static_cast<float>(params.a));
  const VF b = hn::Set(d, static_cast<float>(params.b));
  size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {  // two chains at a time
    const VF v0 = Apply<kOp>(d, hn::LoadU(d, x + i), a, b), v1 = Apply<kOp>(d, hn::LoadU(d, x + i + lanes), a, b);
    hn::StoreU(v0, d, y + i);
    hn::StoreU(v1, d, y + i + lanes);
  }
  for (; i + lanes <= n; i += lanes) hn::StoreU(Apply<kOp>(d, hn::LoadU(d, x + i), a, b), d, y + i);
  if (i < n) StoreTail(Apply<kOp>(d, LoadTail(d, x + i, n - i), a, b), d, y + i, n - i);
}

// Angles beyond the range of the vector form, infinities and NaN: vectors with one go through libm.
template <UnaryOp kOp>
HWY_NOINLINE void FarAngles(const float* x, float* y, size_t n) {
  for (size_t i = 0; i < n; ++i)
    y[i] = kOp == UnaryOp::sin ? std::sin(x[i]) : kOp == UnaryOp::cos ? std::cos(x[i]) : std::tan(x[i]);
}

template <UnaryOp kOp>
void RunAngles(const void* xv, void* yv, size_t n, const UnaryParams&) {
  const float* x = static_cast<const float*>(xv);
  float* y = static_cast<float*>(yv);
  const DF d;
  const size_t lanes = hn::Lanes(d);
  const VF most = hn::Set(d, kMaxAngle);
  for (size_t i = 0; i < n; i += lanes) {
    const bool whole = i + lanes <= n;
    const VF v = whole ? hn::LoadU(d, x + i) : LoadTail(d, x + i, n - i);
    const MF far = hn::Not(hn::Le(hn::Abs(v), most));
    if (HWY_UNLIKELY(!hn::AllFalse(d, far))) {
      FarAngles<kOp>(x + i, y + i, whole ? lanes : n - i);
      continue;
    }
    const VF r = kOp == UnaryOp::sin ? Sin(d, v) : kOp == UnaryOp::cos ? Cos(d, v) : Tan(d, v);
    if (whole) {
      hn::StoreU(r, d, y + i);
    } else {
      StoreTail(r, d, y + i, n - i);
    }
  }
}

}  // namespace

// In the order of UnaryOp; from sinh on there are only plain loops.
constexpr UnaryTable kTable = {{
    &Run<UnaryOp::identity>,    &Run<UnaryOp::abs>,       &Run<UnaryOp::neg>,        &Run<UnaryOp::sign>,
    &Run<UnaryOp::floor>,       &Run<UnaryOp::ceil>,      &Run<UnaryOp::round>,      &Run<UnaryOp::trunc>,
    &Run<UnaryOp::sqrt>,        &Run<UnaryOp::rsqrt>,     &Run<UnaryOp::reciprocal>, &Run<UnaryOp::square>,
    &Run<UnaryOp::exp>,         &Run<UnaryOp::log>,       &Run<UnaryOp::relu>,       &Run<UnaryOp::leaky_relu>,
    &Run<UnaryOp::elu>,         &Run<UnaryOp::selu>,      &Run<UnaryOp::celu>,       &Run<UnaryOp::thresholded_relu>,
    &Run<UnaryOp::shrink>,      &Run<UnaryOp::sigmoid>,   &Run<UnaryOp::tanh>,       &Run<UnaryOp::erf>,
    &Run<UnaryOp::gelu>,        &Run<UnaryOp::gelu_tanh>, &Run<UnaryOp::silu>,       &Run<UnaryOp::hard_sigmoid>,
    &Run<UnaryOp::hard_swish>,  &Run<UnaryOp::mish>,      &Run<UnaryOp::softplus>,   &Run<UnaryOp::softsign>,
    &Run<UnaryOp::scaled_tanh>, &Run<UnaryOp::affine>,    &Run<UnaryOp::clip>,       &RunAngles<UnaryOp::sin>,
    &RunAngles<UnaryOp::cos>,   &RunAngles<UnaryOp::tan>, &Run<UnaryOp::asin>,       &Run<UnaryOp::acos>,
    &Run<UnaryOp::atan>,
}};

}  // namespace trunnion::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trunnion::kernels {
static_assert(int(UnaryOp::atan) == 40, "kTable lists the operations in this order");
const UnaryTable& unary_table() { TRN_RUNG_TABLE(kTable) }
}  // namespace trunnion::kernels
#endif
