// Look-up of reductions, what integers compute in f64, and the (outer, axis, inner) form of a set of reduced
// dimensions.
#include "kernels/reduce.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/arg_extreme_table.h"
#include "kernels/convert.h"
#include "kernels/reduce_table.h"
#include "kernels/transpose.h"

namespace trunnion::kernels {
namespace {

using Op = ReduceOp;

// What integers compute in f64: l2, log_sum, log_sum_exp.
template <Op kOp, class T>
T in_double(const T* x, int64_t axis, int64_t step) {
  double sum = 0, max = 0;
  if constexpr (kOp == Op::log_sum_exp) {
    T largest = std::numeric_limits<T>::lowest();
    for (int64_t k = 0; k < axis; ++k) largest = x[k * step] > largest ? x[k * step] : largest;
    if (axis == 0) return T(0);
    max = static_cast<double>(largest);
  }
  for (int64_t k = 0; k < axis; ++k) {
    const double v = static_cast<double>(x[k * step]);
    sum += kOp == Op::l2 ? v * v : kOp == Op::log_sum ? v : std::exp(v - max);
  }
  const double r = kOp == Op::l2 ? std::sqrt(sum) : max + std::log(sum);
  T out;
  convert(Elem::f64, sizeof(T) == 8 ? Elem::i64 : Elem::i32)(&r, &out, 1, {});
  return out;
}

template <Op kOp, class T>
void run(const void* xv, void* yv, const ReduceShape& shape) {
  const T* x = static_cast<const T*>(xv);
  T* y = static_cast<T*>(yv);
  for (int64_t o = 0; o < shape.outer; ++o, x += shape.axis * shape.stride, y += shape.stride)
    for (int64_t i = 0; i < shape.inner; ++i) y[i] = in_double<kOp, T>(x + i, shape.axis, shape.stride);
}

template <class T>
ReduceFn integers(const ReduceFn* sums, Op op) {
  if (op == Op::l2) return &run<Op::l2, T>;
  if (op == Op::log_sum) return &run<Op::log_sum, T>;
  if (op == Op::log_sum_exp) return &run<Op::log_sum_exp, T>;
  return sums[int(op)];
}
ReduceFn extremes(const ReduceFn* fn, Op op) { return op == Op::max ? fn[0] : op == Op::min ? fn[1] : nullptr; }

// Short rows of f32 are turned to columns first: a vector then has an element of many rows. Whether depends on the
// axis alone, so that a row has the same bits however rows are split.
constexpr int64_t kShortRow = 17;
template <Op kOp>
void run_f32(const void* xv, void* yv, const ReduceShape& s) {
  const ReduceFn fn = reduce_table().fn[int(kOp)];
  if (s.inner != 1 || s.stride != 1 || s.axis < 2 || s.axis >= kShortRow) return fn(xv, yv, s);
  constexpr int64_t kRows = 128;
  alignas(64) float turned[kShortRow * kRows];
  const float* x = static_cast<const float*>(xv);
  float* y = static_cast<float*>(yv);
  alignas(64) float result[kRows];
  for (int64_t o = 0; o < s.outer; o += kRows) {
    const int64_t n = s.outer - o < kRows ? s.outer - o : kRows;
    transpose_2d_f32(x + o * s.axis, s.axis, turned, kRows, n, s.axis);
    fn(turned, result, {1, s.axis, n, kRows});
    std::memcpy(y + o, result, static_cast<size_t>(n) * sizeof(float));
  }
}
constexpr ReduceFn kShortRows[] = {
    &run_f32<Op::sum>,        &run_f32<Op::mean>, &run_f32<Op::max>, &run_f32<Op::min>,     &run_f32<Op::prod>,
    &run_f32<Op::sum_square>, &run_f32<Op::l1>,   &run_f32<Op::l2>,  &run_f32<Op::log_sum>, &run_f32<Op::log_sum_exp>};

}  // namespace

ReduceFn reduce(Op op, Elem type) {
  if (int(op) >= kReduceOps) return nullptr;
  const ReduceTypesTable& types = reduce_types_table();
  switch (type) {
    case Elem::f32:
      return kShortRows[int(op)];
    case Elem::f64:
      return types.f64[int(op)];
    case Elem::i32:
      return integers<int32_t>(types.i32, op);
    case Elem::i64:
      return integers<int64_t>(types.i64, op);
    case Elem::u32:
      return integers<uint32_t>(types.u32, op);
    case Elem::u64:
      return integers<uint64_t>(types.u64, op);
    case Elem::i8:
      return extremes(types.i8, op);
    case Elem::i16:
      return extremes(types.i16, op);
    case Elem::u8:
    case Elem::boolean:
      return extremes(types.u8, op);
    case Elem::u16:
      return extremes(types.u16, op);
    default:
      return nullptr;
  }
}

ArgFn arg_extreme(bool largest, bool select_last, Elem type) {
  const int row = arg_row(type);
  return row < 0 ? nullptr : arg_table().fn[row][largest][select_last];
}

bool reduce_shape(const int64_t* dims, const bool* reduced, int rank, ReduceShape& shape) {
  shape = ReduceShape{};
  int stage = 0;  // 0 before, 1 in, 2 behind the reduced dimensions
  for (int d = 0; d < rank; ++d) {
    if (dims[d] == 1) continue;
    if (reduced[d]) {
      if (stage == 2) return false;
      stage = 1;
      shape.axis *= dims[d];
    } else if (stage == 0) {
      shape.outer *= dims[d];
    } else {
      stage = 2;
      shape.inner *= dims[d];
    }
  }
  shape.stride = shape.inner;
  return true;
}

}  // namespace trunnion::kernels
