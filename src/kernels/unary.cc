// Look-up of element-wise functions by type, and the plain loops: f64, the rare functions in f32, integers, half
// precision (through f32 in blocks).
#include "kernels/unary.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "kernels/convert.h"
#include "kernels/unary_table.h"

namespace trunnion::kernels {
namespace {

using Op = UnaryOp;

// f32 and f64 by libm.
template <Op kOp, class T>
T real(T x, T a, T b) {
  if constexpr (kOp == Op::identity) return x;
  if constexpr (kOp == Op::abs) return std::fabs(x);
  if constexpr (kOp == Op::neg) return -x;
  if constexpr (kOp == Op::sign) return x > 0 ? T(1) : x < 0 ? T(-1) : x;
  if constexpr (kOp == Op::floor) return std::floor(x);
  if constexpr (kOp == Op::ceil) return std::ceil(x);
  if constexpr (kOp == Op::round) return std::nearbyint(x);
  if constexpr (kOp == Op::trunc) return std::trunc(x);
  if constexpr (kOp == Op::sqrt) return std::sqrt(x);
  if constexpr (kOp == Op::rsqrt) return 1 / std::sqrt(x);
  if constexpr (kOp == Op::reciprocal) return 1 / x;
  if constexpr (kOp == Op::square) return x * x;
  if constexpr (kOp == Op::exp) return std::exp(x);
  if constexpr (kOp == Op::log) return std::log(x);
  if constexpr (kOp == Op::relu) return x < 0 ? T(0) : x;
  if constexpr (kOp == Op::leaky_relu) return x < 0 ? a * x : x;
  if constexpr (kOp == Op::elu) return x < 0 ? a * std::expm1(x) : x;
  if constexpr (kOp == Op::selu) return b * (x <= 0 ? a * std::expm1(x) : x);
  if constexpr (kOp == Op::celu) {
    const T low = a * std::expm1(x / a);
    return (x < 0 ? T(0) : x) + (low > 0 ? T(0) : low);
  }
  if constexpr (kOp == Op::thresholded_relu) return x <= a ? T(0) : x;
  if constexpr (kOp == Op::shrink) return x < -b ? x + a : x > b ? x - a : x * 0;
  if constexpr (kOp == Op::sigmoid) {
    const T z = std::exp(-std::fabs(x));
    return (x < 0 ? z : T(1)) / (1 + z);
  }
  if constexpr (kOp == Op::tanh) return std::tanh(x);
  if constexpr (kOp == Op::erf) return std::erf(x);
  if constexpr (kOp == Op::gelu) return x / 2 * std::erfc(x * T(-0.70710678118654752));
  if constexpr (kOp == Op::gelu_tanh) {
    const T u = T(0.79788456080286536) * (x + T(0.044715) * x * x * x);
    return x / 2 * (1 + std::tanh(u));
  }
  if constexpr (kOp == Op::silu) return x * real<Op::sigmoid>(a * x, a, b);
  if constexpr (kOp == Op::hard_sigmoid || kOp == Op::hard_swish) {
    T t = kOp == Op::hard_sigmoid ? a * x + b : x / 6 + T(0.5);
    t = t < 0 ? T(0) : t > 1 ? T(1) : t;
    return kOp == Op::hard_sigmoid ? t : x * t;
  }
  if constexpr (kOp == Op::mish) return x * std::tanh(real<Op::softplus>(x, a, b));
  if constexpr (kOp == Op::softplus) return (x < 0 ? T(0) : x) + std::log1p(std::exp(-std::fabs(x)));
  if constexpr (kOp == Op::softsign) return x / (1 + std::fabs(x));
  if constexpr (kOp == Op::scaled_tanh) return a * std::tanh(b * x);
  if constexpr (kOp == Op::affine) return a * x + b;
  if constexpr (kOp == Op::clip) {
    const T t = x < a ? a : x;
    return t > b ? b : t;
  }
  if constexpr (kOp == Op::sin) return std::sin(x);
  if constexpr (kOp == Op::cos) return std::cos(x);
  if constexpr (kOp == Op::tan) return std::tan(x);
  if constexpr (kOp == Op::asin) return std::asin(x);
  if constexpr (kOp == Op::acos) return std::acos(x);
  if constexpr (kOp == Op::atan) return std::atan(x);
  if constexpr (kOp == Op::sinh) return std::sinh(x);
  if constexpr (kOp == Op::cosh) return std::cosh(x);
  if constexpr (kOp == Op::asinh) return std::asinh(x);
  if constexpr (kOp == Op::acosh) return std::acosh(x);
  if constexpr (kOp == Op::atanh) return std::atanh(x);
}

template <Op kOp, class T>
void run_real(const void* xv, void* yv, size_t n, const UnaryParams& params) {
  const T* x = static_cast<const T*>(xv);
  T* y = static_cast<T*>(yv);
  const T a = static_cast<T>(params.a), b = static_cast<T>(params.b);
  for (size_t i = 0; i < n; ++i) y[i] = real<kOp, T>(x[i], a, b);
}

template <Op kOp, class T>
T integer(T x) {
  using U = std::make_unsigned_t<T>;
  if constexpr (kOp == Op::identity) return x;
  if constexpr (kOp == Op::abs) return x < 0 ? static_cast<T>(U(0) - static_cast<U>(x)) : x;
  if constexpr (kOp == Op::neg) return static_cast<T>(U(0) - static_cast<U>(x));
  if constexpr (kOp == Op::sign) return static_cast<T>((x > 0) - (x < 0));
  if constexpr (kOp == Op::relu) return x < 0 ? T(0) : x;
  if constexpr (kOp == Op::bit_not) return static_cast<T>(~static_cast<U>(x));
}

template <Op kOp, class T>
void run_integer(const void* xv, void* yv, size_t n, const UnaryParams&) {
  const T* x = static_cast<const T*>(xv);
  T* y = static_cast<T*>(yv);
  for (size_t i = 0; i < n; ++i) y[i] = integer<kOp, T>(x[i]);
}

void run_logical_not(const void* xv, void* yv, size_t n, const UnaryParams&) {
  const uint8_t* x = static_cast<const uint8_t*>(xv);
  uint8_t* y = static_cast<uint8_t*>(yv);
  for (size_t i = 0; i < n; ++i) y[i] = x[i] == 0;
}

UnaryFn f32_function(Op op);

// Half precision: blocks of f32 on the stack.
template <Op kOp, Elem kType>
void run_half(const void* xv, void* yv, size_t n, const UnaryParams& params) {
  constexpr size_t kBlock = 256;
  const uint16_t* x = static_cast<const uint16_t*>(xv);
  uint16_t* y = static_cast<uint16_t*>(yv);
  const UnaryFn fn = f32_function(kOp);
  float block[kBlock];
  for (size_t i = 0; i < n; i += kBlock) {
    const size_t m = n - i < kBlock ? n - i : kBlock;
    if constexpr (kType == Elem::f16) f16_to_f32(x + i, block, m);
    if constexpr (kType == Elem::bf16) bf16_to_f32(x + i, block, m);
    fn(block, block, m, params);
    if constexpr (kType == Elem::f16) f32_to_f16(block, y + i, m);
    if constexpr (kType == Elem::bf16) f32_to_bf16(block, y + i, m);
  }
}

constexpr int kRealOps = int(Op::atanh) + 1;
struct RealTable {
  UnaryFn fn[kRealOps];
};

template <class T, size_t... kOps>
constexpr RealTable real_table(std::index_sequence<kOps...>) {
  return {{&run_real<static_cast<Op>(kOps), T>...}};
}
template <Elem kType, size_t... kOps>
constexpr RealTable half_table(std::index_sequence<kOps...>) {
  return {{&run_half<static_cast<Op>(kOps), kType>...}};
}
// From sinh on; the operations before have a vector form.
template <size_t... kOps>
constexpr RealTable rare_table(std::index_sequence<kOps...>) {
  return {{&run_real<static_cast<Op>(int(Op::sinh) + kOps), float>...}};
}

constexpr RealTable kF64 = real_table<double>(std::make_index_sequence<kRealOps>());
constexpr RealTable kF16 = half_table<Elem::f16>(std::make_index_sequence<kRealOps>());
constexpr RealTable kBf16 = half_table<Elem::bf16>(std::make_index_sequence<kRealOps>());
constexpr RealTable kRareF32 = rare_table(std::make_index_sequence<kRealOps - int(Op::sinh)>());

UnaryFn f32_function(Op op) {
  if (int(op) >= kRealOps) return nullptr;
  return op < Op::sinh ? unary_table().fn[int(op)] : kRareF32.fn[int(op) - int(Op::sinh)];
}

template <class T>
UnaryFn integer_function(Op op) {
  switch (op) {
    case Op::identity:
      return &run_integer<Op::identity, T>;
    case Op::abs:
      return std::is_signed_v<T> ? &run_integer<Op::abs, T> : &run_integer<Op::identity, T>;
    case Op::neg:
      return &run_integer<Op::neg, T>;
    case Op::sign:
      return &run_integer<Op::sign, T>;
    case Op::relu:
      return std::is_signed_v<T> ? &run_integer<Op::relu, T> : &run_integer<Op::identity, T>;
    case Op::bit_not:
      return &run_integer<Op::bit_not, T>;
    default:
      return nullptr;
  }
}

template <class T>
void run_clip(const void* xv, void* yv, size_t n, const void* lo, const void* hi) {
  T a, b;
  std::memcpy(&a, lo, sizeof(T));
  std::memcpy(&b, hi, sizeof(T));
  if constexpr (std::is_same_v<T, float>) {
    unary_table().fn[int(Op::clip)](xv, yv, n, {a, b});
  } else {
    const T* x = static_cast<const T*>(xv);
    T* y = static_cast<T*>(yv);
    for (size_t i = 0; i < n; ++i) {
      const T t = x[i] < a ? a : x[i];
      y[i] = t > b ? b : t;
    }
  }
}

template <Elem kType>
void run_clip_half(const void* x, void* y, size_t n, const void* lo, const void* hi) {
  uint16_t a, b;
  std::memcpy(&a, lo, sizeof(a));
  std::memcpy(&b, hi, sizeof(b));
  const UnaryParams params =
      kType == Elem::f16 ? UnaryParams{f16_to_f32(a), f16_to_f32(b)} : UnaryParams{bf16_to_f32(a), bf16_to_f32(b)};
  run_half<Op::clip, kType>(x, y, n, params);
}

// NaN and infinity by the bits: for a float of kBits with the exponent mask kExp (all bits below it are mantissa).
template <class U, U kExp, int kSigns>  // kSigns: 0 NaN, 1 +inf, 2 -inf, 3 either
void run_test(const void* xv, bool* y, size_t n) {
  constexpr U kSign = static_cast<U>(U(1) << (8 * sizeof(U) - 1));
  const U* x = static_cast<const U*>(xv);
  for (size_t i = 0; i < n; ++i) {
    if constexpr (kSigns == 0) y[i] = static_cast<U>(x[i] & static_cast<U>(~kSign)) > kExp;
    if constexpr (kSigns == 1) y[i] = x[i] == kExp;
    if constexpr (kSigns == 2) y[i] = x[i] == static_cast<U>(kExp | kSign);
    if constexpr (kSigns == 3) y[i] = static_cast<U>(x[i] & static_cast<U>(~kSign)) == kExp;
  }
}
template <uint8_t kCode, uint8_t kMask>
void run_code_test(const void* xv, bool* y, size_t n) {
  const uint8_t* x = static_cast<const uint8_t*>(xv);
  for (size_t i = 0; i < n; ++i) y[i] = (x[i] & kMask) == kCode;
}
void run_never(const void*, bool* y, size_t n) {
  if (n) std::memset(y, 0, n);
}

template <int kSigns>
TestFn float_test(Elem type) {
  switch (type) {
    case Elem::f32:
      return &run_test<uint32_t, 0x7f800000u, kSigns>;
    case Elem::f64:
      return &run_test<uint64_t, 0x7ff0000000000000u, kSigns>;
    case Elem::f16:
      return &run_test<uint16_t, 0x7c00u, kSigns>;
    case Elem::bf16:
      return &run_test<uint16_t, 0x7f80u, kSigns>;
    case Elem::f8e5m2:
      return &run_test<uint8_t, 0x7cu, kSigns>;
    default:
      return nullptr;
  }
}

}  // namespace

UnaryFn unary(Op op, Elem type) {
  if (int(op) >= kUnaryOps) return nullptr;
  switch (type) {
    case Elem::f32:
      return f32_function(op);
    case Elem::f64:
      return int(op) < kRealOps ? kF64.fn[int(op)] : nullptr;
    case Elem::f16:
      return int(op) < kRealOps ? kF16.fn[int(op)] : nullptr;
    case Elem::bf16:
      return int(op) < kRealOps ? kBf16.fn[int(op)] : nullptr;
    case Elem::i8:
      return integer_function<int8_t>(op);
    case Elem::i16:
      return integer_function<int16_t>(op);
    case Elem::i32:
      return integer_function<int32_t>(op);
    case Elem::i64:
      return integer_function<int64_t>(op);
    case Elem::u8:
      return integer_function<uint8_t>(op);
    case Elem::u16:
      return integer_function<uint16_t>(op);
    case Elem::u32:
      return integer_function<uint32_t>(op);
    case Elem::u64:
      return integer_function<uint64_t>(op);
    case Elem::boolean:
      if (op == Op::logical_not) return &run_logical_not;
      return op == Op::identity ? &run_integer<Op::identity, uint8_t> : nullptr;
    default:
      return nullptr;
  }
}

ClipFn clip(Elem type) {
  switch (type) {
    case Elem::f32:
      return &run_clip<float>;
    case Elem::f64:
      return &run_clip<double>;
    case Elem::f16:
      return &run_clip_half<Elem::f16>;
    case Elem::bf16:
      return &run_clip_half<Elem::bf16>;
    case Elem::i8:
      return &run_clip<int8_t>;
    case Elem::i16:
      return &run_clip<int16_t>;
    case Elem::i32:
      return &run_clip<int32_t>;
    case Elem::i64:
      return &run_clip<int64_t>;
    case Elem::u8:
      return &run_clip<uint8_t>;
    case Elem::u16:
      return &run_clip<uint16_t>;
    case Elem::u32:
      return &run_clip<uint32_t>;
    case Elem::u64:
      return &run_clip<uint64_t>;
    default:
      return nullptr;
  }
}

TestFn is_nan(Elem type) {
  switch (type) {
    case Elem::f8e4m3fn:
      return &run_code_test<0x7f, 0x7f>;
    case Elem::f8e4m3fnuz:
    case Elem::f8e5m2fnuz:
      return &run_code_test<0x80, 0xff>;
    case Elem::f8e8m0:
      return &run_code_test<0xff, 0xff>;
    default:
      return float_test<0>(type);
  }
}

TestFn is_inf(Elem type, bool positive, bool negative) {
  switch (type) {
    case Elem::f8e4m3fn:
    case Elem::f8e4m3fnuz:
    case Elem::f8e5m2fnuz:
    case Elem::f8e8m0:
      return &run_never;  // these formats have no infinity
    default:
      break;
  }
  if (!float_test<3>(type)) return nullptr;
  if (positive && negative) return float_test<3>(type);
  if (positive) return float_test<1>(type);
  return negative ? float_test<2>(type) : &run_never;
}

}  // namespace trunnion::kernels
