// f32 vector mathematics for x.simd.cc files, compiled once per target: tails, exp, log, expm1, tanh, erf.
// The polynomials are minimax fits over the reduced range; max errors are checked by unary_test.cc.
#include "hwy/highway.h"

#if defined(TRUNNION_KERNELS_VEC_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TRUNNION_KERNELS_VEC_MATH_INL_H_
#undef TRUNNION_KERNELS_VEC_MATH_INL_H_
#else
#define TRUNNION_KERNELS_VEC_MATH_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace trunnion::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;
using MF = hn::Mask<DF>;
using DI = hn::ScalableTag<int32_t>;
using VI = hn::Vec<DI>;

// The first n lanes from p (n < Lanes), the others 0; memory behind them is not touched.
HWY_INLINE VF LoadTail(DF d, const float* p, size_t n) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  return hn::MaskedLoad(hn::FirstN(d, n), d, p);
#else
  HWY_ALIGN float lanes[HWY_MAX_BYTES / sizeof(float)] = {};
  for (size_t i = 0; i < n; ++i) lanes[i] = p[i];
  return hn::Load(d, lanes);
#endif
}

HWY_INLINE void StoreTail(VF v, DF d, float* p, size_t n) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  hn::BlendedStore(v, hn::FirstN(d, n), d, p);
#else
  HWY_ALIGN float lanes[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(v, d, lanes);
  for (size_t i = 0; i < n; ++i) p[i] = lanes[i];
#endif
}

// c0 + x (c1 + x (c2 + ...)).
HWY_INLINE VF Horner(DF d, VF, float c0) { return hn::Set(d, c0); }
template <class... C>
HWY_INLINE VF Horner(DF d, VF x, float c0, C... rest) {
  return hn::MulAdd(Horner(d, x, rest...), x, hn::Set(d, c0));
}

// Max and Min that keep a NaN in x (the x86 instructions return their second operand then).
HWY_INLINE VF MaxKeepNan(VF bound, VF x) { return hn::Max(bound, x); }
HWY_INLINE VF MinKeepNan(VF bound, VF x) { return hn::Min(bound, x); }

// 2^n for integral n in [-127, 128], as bits; -127 gives 0 and 128 infinity.
HWY_INLINE VF Pow2(DF d, VI n) { return hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(n, hn::Set(DI(), 127)))); }

// x = n ln2 + r, |r| <= ln2 / 2. ln2 is split so that n times the high part is exact.
HWY_INLINE VF ReduceLn2(DF d, VF x, VF* n) {
  *n = hn::Round(hn::Mul(x, hn::Set(d, 1.442695041f)));
  const VF r = hn::NegMulAdd(*n, hn::Set(d, 0.693359375f), x);
  return hn::NegMulAdd(*n, hn::Set(d, -2.12194440e-4f), r);
}

// e^r - 1 for |r| <= ln2 / 2.
HWY_INLINE VF Expm1Reduced(DF d, VF r) {
  const VF q = Horner(d, r, 0.49999997f, 0.16666545f, 0.0416674651f, 0.00836642366f, 0.00138683163f);
  return hn::MulAdd(hn::Mul(r, r), q, r);
}

// e^x over the whole range, denormal results included.
HWY_INLINE VF Exp(DF d, VF x) {
  x = MinKeepNan(hn::Set(d, 89.0f), MaxKeepNan(hn::Set(d, -104.0f), x));
  VF n;
  const VF r = ReduceLn2(d, x, &n);
  const VF p = hn::Add(Expm1Reduced(d, r), hn::Set(d, 1.0f));
  // Two factors, as 2^n alone may not be a normal number.
  const VI whole = hn::ConvertTo(DI(), n);
  const VI half = hn::ShiftRight<1>(whole);
  return hn::Mul(hn::Mul(p, Pow2(d, half)), Pow2(d, hn::Sub(whole, half)));
}

// e^x for x <= 88; results below 2^-126 become 0. The cheaper form for normalizations.
HWY_INLINE VF ExpFlush(DF d, VF x) {
  x = MaxKeepNan(hn::Set(d, -88.0f), x);
  VF n;
  const VF r = ReduceLn2(d, x, &n);
  const VF p = hn::Add(Expm1Reduced(d, r), hn::Set(d, 1.0f));
  return hn::Mul(p, Pow2(d, hn::ConvertTo(DI(), n)));
}

// e^x - 1 for x <= 88.
HWY_INLINE VF Expm1(DF d, VF x) {
  x = MaxKeepNan(hn::Set(d, -87.0f), x);
  VF n;
  const VF r = ReduceLn2(d, x, &n);
  const VF s = Pow2(d, hn::ConvertTo(DI(), n));
  return hn::MulAdd(s, Expm1Reduced(d, r), hn::Sub(s, hn::Set(d, 1.0f)));
}

// log(1 + f) + e ln2 for 1 + f in [sqrt(1/2), sqrt(2)].
HWY_INLINE VF LogReduced(DF d, VF f, VF e) {
  const VF q = Horner(d, f, 0.333333313f, -0.250008374f, 0.200012848f, -0.166227743f, 0.141998336f, -0.131642312f,
                      0.127783373f, -0.0764511004f);
  const VF f2 = hn::Mul(f, f);
  VF y = hn::Mul(hn::Mul(f2, f), q);
  y = hn::MulAdd(e, hn::Set(d, -2.12194440e-4f), y);
  y = hn::NegMulAdd(hn::Set(d, 0.5f), f2, y);
  return hn::MulAdd(e, hn::Set(d, 0.693359375f), hn::Add(f, y));
}

HWY_INLINE VF Log(DF d, VF x) {
  const VF kMin = hn::Set(d, 1.17549435e-38f);
  const MF tiny = hn::Lt(x, kMin);
  const VF scaled = hn::IfThenElse(tiny, hn::Mul(x, hn::Set(d, 8388608.0f)), x);
  // Split at sqrt(1/2): adding the distance to 1.0 carries into the exponent.
  const VI bits = hn::BitCast(DI(), scaled);
  const VI shifted = hn::Add(bits, hn::Set(DI(), 0x3f800000 - 0x3f3504f3));
  const VI exponent = hn::Sub(hn::ShiftRight<23>(shifted), hn::Set(DI(), 127));
  const VI mantissa = hn::Add(hn::And(shifted, hn::Set(DI(), 0x007fffff)), hn::Set(DI(), 0x3f3504f3));
  const VF e = hn::Sub(hn::ConvertTo(d, exponent), hn::IfThenElseZero(tiny, hn::Set(d, 23.0f)));
  VF y = LogReduced(d, hn::Sub(hn::BitCast(d, mantissa), hn::Set(d, 1.0f)), e);
  const VF inf = hn::Inf(d);
  y = hn::IfThenElse(hn::Lt(x, inf), y, x);  // infinity and NaN pass
  y = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Neg(inf), y);
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::NaN(d), y);
}

// log(1 + u) for u in [0, 1].
HWY_INLINE VF Log1pUnit(DF d, VF u) {
  const MF large = hn::Gt(u, hn::Set(d, 0.41421356f));
  const VF one = hn::Set(d, 1.0f);
  const VF f = hn::IfThenElse(large, hn::Mul(hn::Sub(u, one), hn::Set(d, 0.5f)), u);
  return LogReduced(d, f, hn::IfThenElseZero(large, one));
}

HWY_INLINE VF Sigmoid(DF d, VF x) {
  const VF one = hn::Set(d, 1.0f);
  const VF z = Exp(d, hn::Neg(hn::Abs(x)));
  return hn::Div(hn::IfThenElse(hn::Lt(x, hn::Zero(d)), z, one), hn::Add(one, z));
}

HWY_INLINE VF Tanh(DF d, VF x) {
  const VF a = MinKeepNan(hn::Set(d, 10.0f), hn::Abs(x));  // 1 from 9.01 on
  const VF em1 = Expm1(d, hn::Add(a, a));
  return hn::CopySign(hn::Div(em1, hn::Add(em1, hn::Set(d, 2.0f))), x);
}

HWY_INLINE VF Erf(DF d, VF x) {
  const VF one = hn::Set(d, 1.0f);
  const VF a = hn::Abs(x);
  const VF small = hn::MulAdd(a,
                              Horner(d, hn::Mul(a, a), 0.128379166f, -0.37612626f, 0.112835787f, -0.0268533472f,
                                     0.0051871622f, -0.00079978531f, 7.80690389e-05f),
                              a);
  // About the middle of [1, 3.92]; from there on erf is 1 in f32.
  const VF z = hn::Sub(MinKeepNan(hn::Set(d, 3.92f), a), hn::Set(d, 2.453125f));
  const VF large =
      MinKeepNan(one, Horner(d, z, 0.999478102f, 0.00274750544f, -0.00674134679f, 0.0101083824f, -0.0101409145f,
                             0.0069208229f, -0.00298463367f, 0.000439700409f, 0.00040940303f, -0.000304972695f,
                             4.99138114e-05f, 2.61430305e-05f, -9.15411692e-06f));
  return hn::CopySign(hn::IfThenElse(hn::Lt(a, one), small, large), x);
}

// x / 2 (1 + erf(x / sqrt 2)).
HWY_INLINE VF Gelu(DF d, VF x) {
  const VF half = hn::Mul(x, hn::Set(d, 0.5f));
  return hn::MulAdd(half, Erf(d, hn::Mul(x, hn::Set(d, 0.70710678f))), half);
}

// x / 2 (1 + tanh(u)) = x sigmoid(2 u), u = sqrt(2/pi) (x + 0.044715 x^3).
HWY_INLINE VF GeluTanh(DF d, VF x) {
  const VF x2 = hn::Mul(x, x);
  const VF u2 = hn::Mul(x, hn::MulAdd(x2, hn::Set(d, 0.0713548162f), hn::Set(d, 1.59576912f)));
  const VF z = ExpFlush(d, hn::Neg(hn::Abs(u2)));
  const VF one = hn::Set(d, 1.0f);
  return hn::Mul(x, hn::Div(hn::IfThenElse(hn::Lt(u2, hn::Zero(d)), z, one), hn::Add(one, z)));
}

}  // namespace trunnion::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
