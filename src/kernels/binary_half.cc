// Two-input functions of f16 and bf16: f32 in blocks on the stack.
#include <utility>

#include "kernels/binary_table.h"
#include "kernels/convert.h"

namespace trunnion::kernels {
namespace {

using Shape = BinaryShape;

void load(const uint16_t* x, float* y, size_t n, Elem type) {
  type == Elem::f16 ? f16_to_f32(x, y, n) : bf16_to_f32(x, y, n);
}
void store(const float* x, uint16_t* y, size_t n, Elem type) {
  type == Elem::f16 ? f32_to_f16(x, y, n) : f32_to_bf16(x, y, n);
}

void run_blocks(BinaryOp op, Elem type, Shape shape, const uint16_t* a, const uint16_t* b, void* y, size_t n) {
  constexpr size_t kBlock = 256;
  float left[kBlock], right[kBlock];
  const BinaryFn fn = binary(op, Elem::f32, shape);
  if (n == 0) return;
  if (shape == Shape::scalar_vector) load(a, left, 1, type);
  if (shape == Shape::vector_scalar) load(b, right, 1, type);
  for (size_t i = 0; i < n; i += kBlock) {
    const size_t m = n - i < kBlock ? n - i : kBlock;
    if (shape != Shape::scalar_vector) load(a + i, left, m, type);
    if (shape != Shape::vector_scalar) load(b + i, right, m, type);
    if (gives_boolean(op)) {
      fn(left, right, static_cast<uint8_t*>(y) + i, m);
    } else {
      float result[kBlock];
      fn(left, right, result, m);
      store(result, static_cast<uint16_t*>(y) + i, m, type);
    }
  }
}

template <BinaryOp kOp, Elem kType, Shape kShape>
void run(const void* a, const void* b, void* y, size_t n) {
  run_blocks(kOp, kType, kShape, static_cast<const uint16_t*>(a), static_cast<const uint16_t*>(b), y, n);
}

constexpr int kOps = int(BinaryOp::greater_equal) + 1;
struct HalfTable {
  BinaryFn fn[kOps * 6];
};
template <size_t... kIndex>
constexpr HalfTable half_table(std::index_sequence<kIndex...>) {
  return {{&run < static_cast<BinaryOp>(kIndex / 6), kIndex % 6 < 3 ? Elem::f16 : Elem::bf16,
           static_cast<Shape>(kIndex % 3) > ...}};
}
constexpr HalfTable kTable = half_table(std::make_index_sequence<kOps * 6>());

}  // namespace

BinaryFn binary_half(BinaryOp op, Elem type, Shape shape) {
  if (!binary(op, Elem::f32, shape)) return nullptr;
  return kTable.fn[int(op) * 6 + (type == Elem::f16 ? 0 : 3) + int(shape)];
}

}  // namespace trunnion::kernels
