// Element-wise functions of one input: y[i] = f(x[i]). Look a function up once, then call it on any range.
// No alignment is required; y may be x itself (in place), but may not overlap x otherwise. n may be 0.
//
// Accuracy of f32 against the exact result, in ULP, where it is not exact:
//   exp, log, sin, cos <= 2; sigmoid, tanh, erf <= 3; tan, elu, selu, celu, silu, softplus, mish <= 4 (x > -80);
//   gelu, gelu_tanh: absolute error <= 2e-7 max(1, |x|); asin, acos, atan <= 3; the hyperbolic ones as libm.
// NaN gives NaN; infinities and signed zeros follow the C library. f64 follows libm. f16 and bf16 are computed in f32
// and rounded once.
#pragma once
#include "kernels/elem.h"

namespace trunnion::kernels {

enum class UnaryOp : uint8_t {
  identity,
  abs,
  neg,
  sign,
  floor,
  ceil,
  round,  // half to even
  trunc,
  sqrt,
  rsqrt,
  reciprocal,
  square,
  exp,
  log,
  relu,
  leaky_relu,        // x < 0: a x
  elu,               // x < 0: a (e^x - 1)
  selu,              // b (x > 0 ? x : a (e^x - 1)); a = alpha, b = gamma
  celu,              // max(0,x) + min(0, a (e^(x/a) - 1))
  thresholded_relu,  // x > a ? x : 0
  shrink,            // x < -b: x + a; x > b: x - a; else 0 (a = bias, b = lambd)
  sigmoid,
  tanh,
  erf,
  gelu,          // x/2 (1 + erf(x/sqrt 2))
  gelu_tanh,     // x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
  silu,          // x sigmoid(a x); set a = 1 for the plain form
  hard_sigmoid,  // clamp(a x + b, 0, 1)
  hard_swish,    // x clamp(x/6 + 1/2, 0, 1)
  mish,          // x tanh(softplus(x))
  softplus,
  softsign,
  scaled_tanh,  // a tanh(b x)
  affine,       // a x + b
  clip,         // min(max(x, a), b); a > b gives b; NaN stays
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  asinh,
  acosh,
  atanh,
  bit_not,      // integers
  logical_not,  // boolean
};
inline constexpr int kUnaryOps = int(UnaryOp::logical_not) + 1;

// What a and b mean stands at the operation. Unused ones are ignored.
struct UnaryParams {
  double a = 0;
  double b = 0;
};

using UnaryFn = void (*)(const void* x, void* y, size_t n, const UnaryParams& params);

// f32, f64, f16, bf16: all but bit_not and logical_not. Integers: identity, abs, neg, sign, relu, bit_not (wraparound).
// boolean: identity, logical_not. Null when the pair does not exist.
UnaryFn unary(UnaryOp op, Elem type);

// Clip with bounds of the element's own type: lo and hi point to one element each. f32 .. f16, all integers.
using ClipFn = void (*)(const void* x, void* y, size_t n, const void* lo, const void* hi);
ClipFn clip(Elem type);

// y[i] is 0 or 1. f32, f64, f16, bf16 and the 8-bit floats.
using TestFn = void (*)(const void* x, bool* y, size_t n);
TestFn is_nan(Elem type);
// Infinity of the chosen signs.
TestFn is_inf(Elem type, bool positive, bool negative);

}  // namespace trunnion::kernels
