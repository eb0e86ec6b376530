// Two-input functions of integers and booleans. What wraps around is shared between signed and unsigned; operations
// that take a fast loop are instantiated per shape, slow ones (division, pow) once, with strides.
#include <cstdint>
#include <type_traits>

#include "kernels/binary_table.h"

namespace trunnion::kernels {
namespace {

using Op = BinaryOp;
using Shape = BinaryShape;

template <class T>
T wrapping_pow(T base, T exponent) {
  using U = std::make_unsigned_t<T>;
  if (exponent < 0) {
    if (base == 1) return 1;
    if constexpr (std::is_signed_v<T>) {
      if (base == -1) return exponent % 2 ? T(-1) : T(1);
    }
    return 0;
  }
  uint64_t result = 1, square = static_cast<U>(base);
  for (U e = static_cast<U>(exponent); e; e = static_cast<U>(e >> 1)) {
    if (e & 1) result *= square;
    square *= square;
  }
  return static_cast<T>(result);
}

template <Op kOp, class T>
auto integer(T a, T b) {
  using U = std::make_unsigned_t<T>;
  using W = std::conditional_t<(sizeof(T) < 4), uint32_t, U>;  // no promotion to a signed int that could overflow
  if constexpr (kOp == Op::add) return static_cast<T>(static_cast<W>(a) + static_cast<W>(b));
  if constexpr (kOp == Op::sub) return static_cast<T>(static_cast<W>(a) - static_cast<W>(b));
  if constexpr (kOp == Op::mul) return static_cast<T>(static_cast<W>(a) * static_cast<W>(b));
  if constexpr (kOp == Op::div || kOp == Op::mod || kOp == Op::fmod) {
    if (b == 0) return T(0);
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return kOp == Op::div ? static_cast<T>(U(0) - static_cast<U>(a)) : T(0);
    }
    if constexpr (kOp == Op::div) return static_cast<T>(a / b);
    const T r = static_cast<T>(a % b);
    if constexpr (kOp == Op::mod && std::is_signed_v<T>)
      return r != 0 && (r < 0) != (b < 0) ? static_cast<T>(r + b) : r;
    return r;
  }
  if constexpr (kOp == Op::min) return a < b ? a : b;
  if constexpr (kOp == Op::max) return a > b ? a : b;
  if constexpr (kOp == Op::pow) return wrapping_pow(a, b);
  if constexpr (kOp == Op::prelu) return a < 0 ? integer<Op::mul, T>(a, b) : a;
  if constexpr (kOp == Op::bit_and) return static_cast<T>(a & b);
  if constexpr (kOp == Op::bit_or) return static_cast<T>(a | b);
  if constexpr (kOp == Op::bit_xor) return static_cast<T>(a ^ b);
  if constexpr (kOp == Op::shift_left || kOp == Op::shift_right) {
    if (static_cast<U>(b) >= 8 * sizeof(T))
      return static_cast<T>(kOp == Op::shift_right && a < T(0) ? -1 : 0);  // the sign alone
    return kOp == Op::shift_left ? static_cast<T>(static_cast<W>(a) << b) : static_cast<T>(a >> b);
  }
  if constexpr (kOp == Op::equal) return a == b;
  if constexpr (kOp == Op::not_equal) return a != b;
  if constexpr (kOp == Op::less) return a < b;
  if constexpr (kOp == Op::less_equal) return a <= b;
  if constexpr (kOp == Op::logical_and) return a && b;
  if constexpr (kOp == Op::logical_or) return a || b;
  if constexpr (kOp == Op::logical_xor) return !a != !b;
}

template <Op kOp, class T, Shape kShape>
void run(const void* av, const void* bv, void* yv, size_t n) {
  using Y = std::conditional_t<gives_boolean(kOp), uint8_t, T>;
  const T* a = static_cast<const T*>(av);
  const T* b = static_cast<const T*>(bv);
  Y* y = static_cast<Y*>(yv);
  if (n == 0) return;
  const T a0 = a[0], b0 = b[0];
  for (size_t i = 0; i < n; ++i) {
    y[i] = integer<kOp, T>(kShape == Shape::scalar_vector ? a0 : a[i], kShape == Shape::vector_scalar ? b0 : b[i]);
  }
}

template <Op kOp, class T>
void run_strided(const T* a, size_t a_step, const T* b, size_t b_step, T* y, size_t n) {
  for (size_t i = 0; i < n; ++i) y[i] = integer<kOp, T>(a[i * a_step], b[i * b_step]);
}
template <Op kOp, class T, Shape kShape>
void run_slow(const void* a, const void* b, void* y, size_t n) {
  T first;  // the scalar side is read once: y may be its array
  if (n == 0) return;
  if constexpr (kShape == Shape::scalar_vector) {
    first = *static_cast<const T*>(a);
    run_strided<kOp, T>(&first, 0, static_cast<const T*>(b), 1, static_cast<T*>(y), n);
  } else if constexpr (kShape == Shape::vector_scalar) {
    first = *static_cast<const T*>(b);
    run_strided<kOp, T>(static_cast<const T*>(a), 1, &first, 0, static_cast<T*>(y), n);
  } else {
    run_strided<kOp, T>(static_cast<const T*>(a), 1, static_cast<const T*>(b), 1, static_cast<T*>(y), n);
  }
}

// The function with its sides exchanged.
template <BinaryFn kFn>
void swapped(const void* a, const void* b, void* y, size_t n) {
  kFn(b, a, y, n);
}

template <Op kOp, class T>
BinaryFn fast(Shape shape) {
  switch (shape) {
    case Shape::vector_vector:
      return &run<kOp, T, Shape::vector_vector>;
    case Shape::vector_scalar:
      return &run<kOp, T, Shape::vector_scalar>;
    case Shape::scalar_vector:
      return &run<kOp, T, Shape::scalar_vector>;
  }
  return nullptr;
}
// f(a, b) = f(b, a).
template <Op kOp, class T>
BinaryFn commutative(Shape shape) {
  if (shape == Shape::scalar_vector) return &swapped<&run<kOp, T, Shape::vector_scalar>>;
  return shape == Shape::vector_vector ? &run<kOp, T, Shape::vector_vector> : &run<kOp, T, Shape::vector_scalar>;
}
// The mirror image of kOp: a > b is b < a.
template <Op kOp, class T>
BinaryFn mirrored(Shape shape) {
  switch (shape) {
    case Shape::vector_vector:
      return &swapped<&run<kOp, T, Shape::vector_vector>>;
    case Shape::vector_scalar:
      return &swapped<&run<kOp, T, Shape::scalar_vector>>;
    case Shape::scalar_vector:
      return &swapped<&run<kOp, T, Shape::vector_scalar>>;
  }
  return nullptr;
}
template <Op kOp, class T>
BinaryFn slow(Shape shape) {
  switch (shape) {
    case Shape::vector_vector:
      return &run_slow<kOp, T, Shape::vector_vector>;
    case Shape::vector_scalar:
      return &run_slow<kOp, T, Shape::vector_scalar>;
    case Shape::scalar_vector:
      return &run_slow<kOp, T, Shape::scalar_vector>;
  }
  return nullptr;
}

template <class T>
BinaryFn by_type(Op op, Shape shape) {
  using U = std::make_unsigned_t<T>;
  switch (op) {
    case Op::add:
      return commutative<Op::add, U>(shape);
    case Op::sub:
      return fast<Op::sub, U>(shape);
    case Op::mul:
      return commutative<Op::mul, U>(shape);
    case Op::div:
      return slow<Op::div, T>(shape);
    case Op::min:
      return commutative<Op::min, T>(shape);
    case Op::max:
      return commutative<Op::max, T>(shape);
    case Op::pow:
      return slow<Op::pow, T>(shape);
    case Op::mod:
      return slow<Op::mod, T>(shape);
    case Op::fmod:
      return slow<Op::fmod, T>(shape);
    case Op::prelu:
      return slow<Op::prelu, T>(shape);
    case Op::bit_and:
      return commutative<Op::bit_and, U>(shape);
    case Op::bit_or:
      return commutative<Op::bit_or, U>(shape);
    case Op::bit_xor:
      return commutative<Op::bit_xor, U>(shape);
    case Op::shift_left:
      return slow<Op::shift_left, U>(shape);
    case Op::shift_right:
      return slow<Op::shift_right, T>(shape);
    case Op::equal:
      return commutative<Op::equal, U>(shape);
    case Op::not_equal:
      return commutative<Op::not_equal, U>(shape);
    case Op::less:
      return fast<Op::less, T>(shape);
    case Op::less_equal:
      return fast<Op::less_equal, T>(shape);
    case Op::greater:
      return mirrored<Op::less, T>(shape);
    case Op::greater_equal:
      return mirrored<Op::less_equal, T>(shape);
    default:
      return nullptr;
  }
}

BinaryFn by_boolean(Op op, Shape shape) {
  switch (op) {
    case Op::equal:
      return commutative<Op::equal, uint8_t>(shape);
    case Op::not_equal:
      return commutative<Op::not_equal, uint8_t>(shape);
    case Op::logical_and:
      return commutative<Op::logical_and, uint8_t>(shape);
    case Op::logical_or:
      return commutative<Op::logical_or, uint8_t>(shape);
    case Op::logical_xor:
      return commutative<Op::logical_xor, uint8_t>(shape);
    default:
      return nullptr;
  }
}

}  // namespace

BinaryFn binary_integer(Op op, Elem type, Shape shape) {
  switch (type) {
    case Elem::i8:
      return by_type<int8_t>(op, shape);
    case Elem::i16:
      return by_type<int16_t>(op, shape);
    case Elem::i32:
      return by_type<int32_t>(op, shape);
    case Elem::i64:
      return by_type<int64_t>(op, shape);
    case Elem::u8:
      return by_type<uint8_t>(op, shape);
    case Elem::u16:
      return by_type<uint16_t>(op, shape);
    case Elem::u32:
      return by_type<uint32_t>(op, shape);
    case Elem::u64:
      return by_type<uint64_t>(op, shape);
    case Elem::boolean:
      return by_boolean(op, shape);
    default:
      return nullptr;
  }
}

}  // namespace trunnion::kernels
