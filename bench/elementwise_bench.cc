// Element-wise functions of one and two inputs.
#include <fmt/format.h>

#include "kernels/binary.h"
#include "kernels/unary.h"
#include "measured.h"

namespace trunnion::bench {
namespace {

using namespace kernels;

constexpr int64_t kSizes[] = {4096, 401408};  // in the first cache, and beyond it

void add_unary(const char* name, UnaryOp op, UnaryParams params = {}) {
  for (const int64_t n : kSizes)
    add(fmt::format("{}/{}", name, n), {0, 8.0 * static_cast<double>(n)}, [=] {
      const auto x = random_floats(n), y = random_floats(n);
      const UnaryFn f = unary(op, Elem::f32);
      return [=] { f(x.get(), y.get(), static_cast<size_t>(n), params); };
    });
}

void add_binary(const char* name, BinaryOp op, Elem type, BinaryShape shape) {
  for (const int64_t n : kSizes) {
    const int64_t size = elem_bits(type) / 8, arrays = shape == BinaryShape::vector_vector ? 2 : 1;
    const int64_t out = gives_boolean(op) ? 1 : size;
    add(fmt::format("{}/{}", name, n), {0, static_cast<double>(n * (arrays * size + out))}, [=] {
      const auto a = random_floats(n * 2), b = random_floats(n * 2), y = random_floats(n * 2);
      const BinaryFn f = binary(op, type, shape);
      return [=] { f(a.get(), b.get(), y.get(), static_cast<size_t>(n)); };
    });
  }
}

}  // namespace

void suite() {
  constexpr UnaryParams kSilu{1, 0}, kSwish{1.0 / 6, 0.5}, kClip{0, 6}, kLeaky{0.1, 0};
  add_unary("relu", UnaryOp::relu), add_unary("leaky_relu", UnaryOp::leaky_relu, kLeaky);
  add_unary("clip", UnaryOp::clip, kClip), add_unary("exp", UnaryOp::exp), add_unary("log", UnaryOp::log);
  add_unary("sigmoid", UnaryOp::sigmoid), add_unary("tanh", UnaryOp::tanh), add_unary("erf", UnaryOp::erf);
  add_unary("gelu", UnaryOp::gelu), add_unary("silu", UnaryOp::silu, kSilu);
  add_unary("hard_swish", UnaryOp::hard_swish, kSwish), add_unary("softplus", UnaryOp::softplus);
  add_unary("mish", UnaryOp::mish), add_unary("sqrt", UnaryOp::sqrt), add_unary("sin", UnaryOp::sin);
  using S = BinaryShape;
  add_binary("add", BinaryOp::add, Elem::f32, S::vector_vector);
  add_binary("add_scalar", BinaryOp::add, Elem::f32, S::vector_scalar);
  add_binary("mul", BinaryOp::mul, Elem::f32, S::vector_vector);
  add_binary("div", BinaryOp::div, Elem::f32, S::vector_vector);
  add_binary("max", BinaryOp::max, Elem::f32, S::vector_vector);
  add_binary("pow", BinaryOp::pow, Elem::f32, S::vector_vector);
  add_binary("less", BinaryOp::less, Elem::f32, S::vector_vector);
  add_binary("add_i64", BinaryOp::add, Elem::i64, S::vector_vector);
  add_binary("equal_i64", BinaryOp::equal, Elem::i64, S::vector_vector);
}

}  // namespace trunnion::bench
