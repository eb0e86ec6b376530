// Look-up of two-input functions.
#include "kernels/binary.h"

#include "kernels/binary_table.h"

namespace trunnion::kernels {
namespace {
using Op = BinaryOp;
using Shape = BinaryShape;
}  // namespace

BinaryFn binary(Op op, Elem type, Shape shape) {
  if (int(op) >= kBinaryOps || int(shape) > 2) return nullptr;
  switch (type) {
    case Elem::f32:
      if (op > Op::greater_equal) return nullptr;
      if (BinaryFn fn = binary_table().fn[int(op)][int(shape)]) return fn;
      if (op < Op::pow || op > Op::atan2) return nullptr;
      return binary_plain_table().f32[int(op) - int(Op::pow)][int(shape)];
    case Elem::f64:
      return op > Op::greater_equal ? nullptr : binary_plain_table().f64[int(op)][int(shape)];
    case Elem::f16:
    case Elem::bf16:
      return binary_half(op, type, shape);
    case Elem::i32:
      if (op == Op::div) return binary_plain_table().i32[0][int(shape)];
      if (op == Op::mod) return binary_plain_table().i32[1][int(shape)];
      if (op == Op::fmod) return binary_plain_table().i32[2][int(shape)];
      return binary_integer(op, type, shape);
    default:
      return binary_integer(op, type, shape);
  }
}

}  // namespace trunnion::kernels
