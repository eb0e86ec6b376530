// Look-up of two-input functions, and the plain loops for f64 and for what f32 has no vector form of.
#include "kernels/binary.h"

#include <cmath>
#include <type_traits>

#include "kernels/binary_table.h"

namespace trunnion::kernels {
namespace {

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

template <Op kOp, class T>
BinaryFn by_shape(Shape shape) {
  switch (shape) {
    case Shape::vector_vector:
      return &run_real<kOp, T, Shape::vector_vector>;
    case Shape::vector_scalar:
      return &run_real<kOp, T, Shape::vector_scalar>;
    case Shape::scalar_vector:
      return &run_real<kOp, T, Shape::scalar_vector>;
  }
  return nullptr;
}

template <class T>
BinaryFn rare(Op op, Shape shape) {
  switch (op) {
    case Op::pow:
      return by_shape<Op::pow, T>(shape);
    case Op::mod:
      return by_shape<Op::mod, T>(shape);
    case Op::fmod:
      return by_shape<Op::fmod, T>(shape);
    case Op::atan2:
      return by_shape<Op::atan2, T>(shape);
    default:
      return nullptr;
  }
}

BinaryFn f64_function(Op op, Shape shape) {
  switch (op) {
    case Op::add:
      return by_shape<Op::add, double>(shape);
    case Op::sub:
      return by_shape<Op::sub, double>(shape);
    case Op::mul:
      return by_shape<Op::mul, double>(shape);
    case Op::div:
      return by_shape<Op::div, double>(shape);
    case Op::min:
      return by_shape<Op::min, double>(shape);
    case Op::max:
      return by_shape<Op::max, double>(shape);
    case Op::prelu:
      return by_shape<Op::prelu, double>(shape);
    case Op::equal:
      return by_shape<Op::equal, double>(shape);
    case Op::not_equal:
      return by_shape<Op::not_equal, double>(shape);
    case Op::less:
      return by_shape<Op::less, double>(shape);
    case Op::less_equal:
      return by_shape<Op::less_equal, double>(shape);
    case Op::greater:
      return by_shape<Op::greater, double>(shape);
    case Op::greater_equal:
      return by_shape<Op::greater_equal, double>(shape);
    default:
      return rare<double>(op, shape);
  }
}

}  // namespace

BinaryFn binary(Op op, Elem type, Shape shape) {
  if (int(op) >= kBinaryOps || int(shape) > 2) return nullptr;
  switch (type) {
    case Elem::f32:
      if (op > Op::greater_equal) return nullptr;
      if (BinaryFn fn = binary_table().fn[int(op)][int(shape)]) return fn;
      return rare<float>(op, shape);
    case Elem::f64:
      return f64_function(op, shape);
    case Elem::f16:
    case Elem::bf16:
      return binary_half(op, type, shape);
    default:
      return binary_integer(op, type, shape);
  }
}

}  // namespace trunnion::kernels
