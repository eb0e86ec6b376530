// f32 vector mathematics for x.simd.cc files, compiled once per target: tails, exp, log, expm1, tanh, erf, sin, cos.
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

#if HWY_TARGET == HWY_AVX3
// x = n ln2 + r with n a multiple of 1/16 and |r| <= ln2 / 32: e^r needs few terms, and 2^n is a look-up in a register
// by the low bits of `bits` (n in units of 1/16).
struct ExpParts {
  VF n, r;
  VI bits;
};
alignas(64) constexpr uint32_t kExp2Bits[16] = {  // 2^(j/16) as bits, less j << 19: adding bits << 19 gives 2^n
    0x3f800000, 0x3f7daac3, 0x3f7b95c2, 0x3f79c3d3, 0x3f7837f0, 0x3f76f532, 0x3f75fed7, 0x3f75583f,
    0x3f7504f3, 0x3f7508a4, 0x3f75672a, 0x3f76248c, 0x3f7744fd, 0x3f78ccdf, 0x3f7ac0c7, 0x3f7d257d};
alignas(64) constexpr float kExp2[16] = {1.0f,        1.04427373f, 1.09050775f, 1.13878858f, 1.18920708f, 1.24185777f,
                                         1.29683959f, 1.35425556f, 1.41421354f, 1.47682619f, 1.54221082f, 1.61049032f,
                                         1.68179286f, 1.75625217f, 1.8340081f,  1.91520655f};
alignas(64) constexpr float kExp2Error[16] = {  // 2^(j/16) over its f32, less 1
    0.0f,
    4.62854715e-08f,
    -1.19921575e-08f,
    4.72978243e-08f,
    3.19341815e-08f,
    3.62105723e-08f,
    -3.09907193e-08f,
    -7.47521334e-09f,
    1.71142709e-08f,
    -3.04768335e-08f,
    5.23333421e-09f,
    6.10759177e-09f,
    -1.47196051e-08f,
    -5.25879518e-09f,
    -6.12825968e-09f,
    5.14060927e-09f};

HWY_INLINE ExpParts ReduceExp(DF d, VF x) {
  const VF magic = hn::Set(d, 786432.0f);  // 1.5 2^19: the sum's last place is 1/16
  const VF shifted = hn::MulAdd(x, hn::Set(d, 1.442695041f), magic);
  const VF n = hn::Sub(shifted, magic);
  const VF r = hn::NegMulAdd(n, hn::Set(d, 0.6931471825f), x);
  return {n, hn::MulAdd(n, hn::Set(d, 1.9046543e-9f), r), hn::BitCast(DI(), shifted)};
}

// 2^n for n in [-126, 128).
HWY_INLINE VF Exp2OfParts(DF d, const ExpParts& p) {
  const VI low{_mm512_permutexvar_epi32(p.bits.raw, _mm512_load_si512(kExp2Bits))};
  return hn::BitCast(d, hn::Add(low, hn::ShiftLeft<19>(p.bits)));
}

// e^x for x <= 0, denormal results included: the whole part of n goes in at the end, where it may make such a number.
HWY_INLINE VF ExpOfNegative(DF d, VF x) {
  const ExpParts p = ReduceExp(d, MaxKeepNan(hn::Set(d, -104.0f), x));
  const VF fraction{_mm512_permutexvar_ps(p.bits.raw, _mm512_load_ps(kExp2))};
  const VF error{_mm512_permutexvar_ps(p.bits.raw, _mm512_load_ps(kExp2Error))};
  const VF em1 = hn::MulAdd(p.r, Horner(d, p.r, 1.0f, 0.50001619f, 0.16667053f), error);
  return VF{_mm512_scalef_ps(hn::MulAdd(fraction, em1, fraction).raw, p.n.raw)};
}

// e^x over the whole range, denormal results included.
HWY_INLINE VF Exp(DF d, VF x) { return ExpOfNegative(d, MinKeepNan(hn::Set(d, 89.0f), x)); }

// e^x for x <= 88. Below 2^-126 results are any numbers up to that, 0 from x = -88.03 on. The cheaper form for
// normalizations.
HWY_INLINE VF ExpFlush(DF d, VF x) {
  const ExpParts p = ReduceExp(d, MaxKeepNan(hn::Set(d, -88.03f), x));  // there n is -127, which gives 0
  const VF s = Exp2OfParts(d, p);
  return hn::MulAdd(hn::Mul(s, p.r), Horner(d, p.r, 1.0f, 0.50001619f, 0.16667053f), s);
}

// e^x - 1 for x <= 88.
HWY_INLINE VF Expm1(DF d, VF x) {
  const ExpParts p = ReduceExp(d, MaxKeepNan(hn::Set(d, -87.0f), x));
  const VF s = Exp2OfParts(d, p);
  const VF error{_mm512_permutexvar_ps(p.bits.raw, _mm512_load_ps(kExp2Error))};
  const VF em1 = hn::MulAdd(p.r, Horner(d, p.r, 1.0f, 0.5f, 0.16666991f, 0.04166759f), error);
  return hn::MulAdd(s, em1, hn::Sub(s, hn::Set(d, 1.0f)));
}
#else
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

// e^x for x <= 0, denormal results included.
HWY_INLINE VF ExpOfNegative(DF d, VF x) { return Exp(d, x); }
#endif

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
  const VF z = ExpOfNegative(d, hn::Or(x, hn::SignBit(d)));
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
  const VF z = ExpFlush(d, hn::Or(u2, hn::SignBit(d)));
  const VF one = hn::Set(d, 1.0f);
  return hn::Mul(x, hn::Div(hn::IfThenElse(hn::Lt(u2, hn::Zero(d)), z, one), hn::Add(one, z)));
}

// Sine and cosine of r in [-pi/4, pi/4].
HWY_INLINE VF SinReduced(DF d, VF r) {
  const VF r2 = hn::Mul(r, r);
  return hn::MulAdd(hn::Mul(r2, r), Horner(d, r2, -1.6666654611e-1f, 8.3321608736e-3f, -1.9515295891e-4f), r);
}
HWY_INLINE VF CosReduced(DF d, VF r) {
  const VF r2 = hn::Mul(r, r);
  const VF tail = Horner(d, r2, 4.166664568298827e-2f, -1.388731625493765e-3f, 2.443315711809948e-5f);
  return hn::MulAdd(hn::Mul(r2, r2), tail, hn::NegMulAdd(r2, hn::Set(d, 0.5f), hn::Set(d, 1.0f)));
}

// x = q pi/2 + r, |r| <= pi/4, for |x| <= kMaxAngle: there q times the first part of pi/2 is exact.
constexpr float kMaxAngle = 8192.0f;
HWY_INLINE VF ReduceAngle(DF d, VF x, VI* q) {
  const VF n = hn::Round(hn::Mul(x, hn::Set(d, 0.636619772f)));
  *q = hn::ConvertTo(DI(), n);
#if HWY_TARGET == HWY_SSE4  // without fused operations the parts must be short for exact products
  VF r = hn::Sub(x, hn::Mul(n, hn::Set(d, 1.5703125f)));
  r = hn::Sub(r, hn::Mul(n, hn::Set(d, 0.000483751296997f)));
  r = hn::Sub(r, hn::Mul(n, hn::Set(d, 7.54953362048e-08f)));
  r = hn::Sub(r, hn::Mul(n, hn::Set(d, 2.56328291925e-12f)));
  return hn::Sub(r, hn::Mul(n, hn::Set(d, 6.12323399574e-17f)));
#else
  VF r = hn::NegMulAdd(n, hn::Set(d, 1.57079637f), x);
  r = hn::MulAdd(n, hn::Set(d, 4.37113901e-8f), r);
  return hn::MulAdd(n, hn::Set(d, 1.71512451e-15f), r);
#endif
}

// Sine of q pi/2 + r; the cosine of an angle is the sine one q further.
HWY_INLINE VF SinOfQuadrant(DF d, VI q, VF r) {
  const DI di;
  const MF odd = hn::RebindMask(d, hn::TestBit(q, hn::Set(di, 1)));
  const VF sign = hn::BitCast(d, hn::ShiftLeft<30>(hn::And(q, hn::Set(di, 2))));
  return hn::Xor(hn::IfThenElse(odd, CosReduced(d, r), SinReduced(d, r)), sign);
}

// For |x| <= kMaxAngle.
HWY_INLINE VF Sin(DF d, VF x) {
  VI q;
  const VF r = ReduceAngle(d, x, &q);
  return hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, SinOfQuadrant(d, q, r));  // -0 stays
}
HWY_INLINE VF Cos(DF d, VF x) {
  VI q;
  const VF r = ReduceAngle(d, x, &q);
  return SinOfQuadrant(d, hn::Add(q, hn::Set(DI(), 1)), r);
}
HWY_INLINE VF Tan(DF d, VF x) {
  const DI di;
  VI q;
  const VF r = ReduceAngle(d, x, &q);
  const MF odd = hn::RebindMask(d, hn::TestBit(q, hn::Set(di, 1)));
  const VF s = SinReduced(d, r), c = CosReduced(d, r);
  const VF t = hn::Div(hn::IfThenElse(odd, c, s), hn::IfThenElse(odd, hn::Neg(s), c));
  return hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, t);
}

// For |x| <= 1/2 by a polynomial; above it pi/2 - 2 asin(sqrt((1 - |x|) / 2)). NaN beyond 1.
HWY_INLINE VF AsinOfSmall(DF d, VF x, VF z) {
  const VF q = Horner(d, z, 1.6666752422e-1f, 7.4953002686e-2f, 4.5470025998e-2f, 2.4181311049e-2f, 4.2163199048e-2f);
  return hn::MulAdd(hn::Mul(q, z), x, x);
}
HWY_INLINE VF Asin(DF d, VF x) {
  const VF a = hn::Abs(x), half = hn::Set(d, 0.5f);
  const MF large = hn::Gt(a, half);
  const VF z = hn::IfThenElse(large, hn::Mul(half, hn::Sub(hn::Set(d, 1.0f), a)), hn::Mul(a, a));
  const VF r = AsinOfSmall(d, hn::IfThenElse(large, hn::Sqrt(z), a), z);
  // pi/2 in two parts: the second one keeps the last place right.
  const VF far = hn::Add(hn::Sub(hn::Set(d, 1.57079637f), hn::Add(r, r)), hn::Set(d, -4.37113901e-8f));
  return hn::CopySign(hn::IfThenElse(large, far, r), x);
}
HWY_INLINE VF Acos(DF d, VF x) {
  const VF a = hn::Abs(x), half = hn::Set(d, 0.5f);
  const MF large = hn::Gt(a, half), negative = hn::Lt(x, hn::Zero(d));
  const VF z = hn::IfThenElse(large, hn::Mul(half, hn::Sub(hn::Set(d, 1.0f), a)), hn::Mul(a, a));
  const VF r = AsinOfSmall(d, hn::IfThenElse(large, hn::Sqrt(z), x), z);
  const VF twice = hn::Add(r, r);
  const VF near_pi = hn::Add(hn::Sub(hn::Set(d, 3.14159274f), twice), hn::Set(d, -8.74227801e-8f));
  const VF middle = hn::Add(hn::Sub(hn::Set(d, 1.57079637f), r), hn::Set(d, -4.37113901e-8f));
  return hn::IfThenElse(large, hn::IfThenElse(negative, near_pi, twice), middle);
}

// atan(a) = base + atan(t): t = -1 / a above tan(3 pi/8), (a - 1) / (a + 1) above tan(pi/8), else a.
HWY_INLINE VF Atan(DF d, VF x) {
  const VF a = hn::Abs(x), one = hn::Set(d, 1.0f);
  const MF high = hn::Gt(a, hn::Set(d, 2.41421356f)), mid = hn::Gt(a, hn::Set(d, 0.414213562f));
  const VF top = hn::IfThenElse(high, hn::Set(d, -1.0f), hn::IfThenElse(mid, hn::Sub(a, one), a));
  const VF bottom = hn::IfThenElse(high, a, hn::IfThenElse(mid, hn::Add(a, one), one));
  const VF t = hn::Div(top, bottom);
  const VF base = hn::IfThenElse(high, hn::Set(d, 1.57079637f), hn::IfThenElseZero(mid, hn::Set(d, 0.785398185f)));
  const VF rest =
      hn::IfThenElse(high, hn::Set(d, -4.37113901e-8f), hn::IfThenElseZero(mid, hn::Set(d, -2.1855695e-8f)));
  const VF z = hn::Mul(t, t);
  const VF q = Horner(d, z, -3.33329491539e-1f, 1.99777106478e-1f, -1.38776856032e-1f, 8.05374449538e-2f);
  const VF tail = hn::MulAdd(hn::Mul(q, z), t, rest);
  return hn::CopySign(hn::Add(base, hn::Add(t, tail)), x);
}

}  // namespace trunnion::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
