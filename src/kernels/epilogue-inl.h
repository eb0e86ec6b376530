// Activations on vectors, for x.simd.cc files: exp, sigmoid, tanh and erf as polynomials, a few ulp off.
#include "hwy/highway.h"
#include "kernels/epilogue.h"
#include "kernels/vec_math-inl.h"

#if defined(TRUNNION_KERNELS_EPILOGUE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TRUNNION_KERNELS_EPILOGUE_INL_H_
#undef TRUNNION_KERNELS_EPILOGUE_INL_H_
#else
#define TRUNNION_KERNELS_EPILOGUE_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace trunnion::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace epilogue {

const hn::ScalableTag<float> d;
using V = hn::Vec<decltype(d)>;

HWY_INLINE V bound(V x, float low, float high) {  // NaN stays NaN
  return hn::Min(hn::Set(d, high), hn::Max(hn::Set(d, low), x));
}

// exp(x) - 1 = scale * q + (scale - 1), with scale a power of two. For x in [-87, 87].
HWY_INLINE void split_exp(V x, V* scale, V* q) {
  const hn::RebindToSigned<decltype(d)> di;
  const auto n = hn::Round(hn::Mul(x, hn::Set(d, 1.44269504f)));
  auto r = hn::NegMulAdd(n, hn::Set(d, 0.693359375f), x);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), r);
  auto p = hn::MulAdd(r, hn::Set(d, 0.0013947597f), hn::Set(d, 0.0083672469f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.0416662656f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.1666653752f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.5f));
  *q = hn::MulAdd(hn::Mul(r, r), p, r);
  *scale = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(hn::ConvertTo(di, n), hn::Set(di, 127))));
}

HWY_INLINE V exp(V x) {
  V scale, q;
  split_exp(bound(x, -87.0f, 87.0f), &scale, &q);
  return hn::MulAdd(scale, q, scale);
}

// y / (1 + exp(-x)). The exponential ends at 87: the quotient of 1 stays a normal number.
HWY_INLINE V over_logistic(V y, V x) {
#if HWY_TARGET == HWY_AVX3
  const auto e = ExpFlush(d, hn::Min(hn::Set(d, 87.0f), hn::Neg(x)));
#else
  const auto e = exp(hn::Neg(x));
#endif
  return hn::Div(y, hn::Add(hn::Set(d, 1.0f), e));
}

HWY_INLINE V sigmoid(V x) { return over_logistic(hn::Set(d, 1.0f), x); }

HWY_INLINE V tanh(V x) {
  V scale, q;
  split_exp(bound(hn::Mul(hn::Abs(x), hn::Set(d, -2.0f)), -87.0f, 0.0f), &scale, &q);
  const auto m = hn::MulAdd(scale, q, hn::Sub(scale, hn::Set(d, 1.0f)));  // exp(-2 |x|) - 1
  return hn::CopySign(hn::Div(m, hn::Add(m, hn::Set(d, 2.0f))), x);
}

// x * Phi(x). erfc(z) = exp(z * P(z)) on [0, 5.5]; beyond, it is below 1e-14.
HWY_INLINE V gelu(V x) {
  const auto z = bound(hn::Mul(hn::Abs(x), hn::Set(d, 0.707106781f)), 0.0f, 5.5f);
  auto p = hn::MulAdd(z, hn::Set(d, -9.40335898e-09f), hn::Set(d, 3.06602089e-07f));
  p = hn::MulAdd(p, z, hn::Set(d, -4.49161325e-06f));
  p = hn::MulAdd(p, z, hn::Set(d, 3.9021932e-05f));
  p = hn::MulAdd(p, z, hn::Set(d, -0.000221969589f));
  p = hn::MulAdd(p, z, hn::Set(d, 0.00084337499f));
  p = hn::MulAdd(p, z, hn::Set(d, -0.00191936048f));
  p = hn::MulAdd(p, z, hn::Set(d, 0.000338155631f));
  p = hn::MulAdd(p, z, hn::Set(d, 0.019083567f));
  p = hn::MulAdd(p, z, hn::Set(d, -0.102764815f));
  p = hn::MulAdd(p, z, hn::Set(d, -0.636620104f));
  p = hn::MulAdd(p, z, hn::Set(d, -1.12837923f));
  const auto half = hn::Mul(hn::Set(d, 0.5f), exp(hn::Mul(p, z)));
  return hn::Mul(x, hn::IfThenElse(hn::Lt(x, hn::Zero(d)), half, hn::Sub(hn::Set(d, 1.0f), half)));
}

HWY_INLINE V gelu_tanh(V x) {  // 0.5 * (1 + tanh(u)) = sigmoid(2 * u)
  const auto cube = hn::Mul(hn::Mul(x, x), x);
  const auto u = hn::MulAdd(cube, hn::Set(d, 0.044715f), x);
  return over_logistic(x, hn::Mul(u, hn::Set(d, 1.59576912f)));
}

HWY_INLINE V activate(Activation activation, V x, float a, float b) {
  const auto zero = hn::Zero(d), one = hn::Set(d, 1.0f);
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::relu:
      return hn::Max(zero, x);
    case Activation::clip:
      return bound(x, a, b);
    case Activation::leaky_relu:
      return hn::IfThenElse(hn::Lt(x, zero), hn::Mul(x, hn::Set(d, a)), x);
    case Activation::sigmoid:
      return sigmoid(x);
    case Activation::tanh:
      return tanh(x);
    case Activation::silu:
      return over_logistic(x, x);
    case Activation::hard_swish: {
      const auto t = hn::MulAdd(x, hn::Set(d, 1.0f / 6.0f), hn::Set(d, 0.5f));
      return hn::Mul(x, hn::Min(one, hn::Max(zero, t)));
    }
    case Activation::hard_sigmoid:
      return hn::Min(one, hn::Max(zero, hn::MulAdd(x, hn::Set(d, a), hn::Set(d, b))));
    case Activation::gelu:
      return gelu(x);
    case Activation::gelu_tanh:
      return gelu_tanh(x);
  }
  return x;
}

// n lanes, 0 < n < Lanes(d): memory behind them is not touched.
HWY_INLINE V load_n(const float* p, int64_t n) { return LoadTail(d, p, static_cast<size_t>(n)); }
HWY_INLINE void store_n(float* p, V x, int64_t n) { StoreTail(x, d, p, static_cast<size_t>(n)); }

// The first n > 0 lanes, or all of them.
HWY_INLINE V load_part(const float* p, int64_t n) {
  return n >= static_cast<int64_t>(hn::Lanes(d)) ? hn::LoadU(d, p) : load_n(p, n);
}
HWY_INLINE void store_part(float* p, V x, int64_t n) {
  if (n >= static_cast<int64_t>(hn::Lanes(d))) {
    hn::StoreU(x, d, p);
  } else {
    store_n(p, x, n);
  }
}

// Calls f.template operator()<activation>(): the activation is a constant of each instance, so that the choice is not
// made per vector.
template <class F>
HWY_INLINE void with_activation(Activation activation, const F& f) {
  switch (activation) {
    case Activation::none:
      return;
    case Activation::relu:
      return f.template operator()<Activation::relu>();
    case Activation::clip:
      return f.template operator()<Activation::clip>();
    case Activation::leaky_relu:
      return f.template operator()<Activation::leaky_relu>();
    case Activation::sigmoid:
      return f.template operator()<Activation::sigmoid>();
    case Activation::tanh:
      return f.template operator()<Activation::tanh>();
    case Activation::silu:
      return f.template operator()<Activation::silu>();
    case Activation::hard_swish:
      return f.template operator()<Activation::hard_swish>();
    case Activation::hard_sigmoid:
      return f.template operator()<Activation::hard_sigmoid>();
    case Activation::gelu:
      return f.template operator()<Activation::gelu>();
    case Activation::gelu_tanh:
      return f.template operator()<Activation::gelu_tanh>();
  }
}

}  // namespace epilogue
}  // namespace trunnion::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
