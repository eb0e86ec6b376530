// Reductions over the middle of (outer, axis, inner). No alignment is required; y may not overlap x.
//
// f32 sums use a fixed tree of vector accumulators: the order depends on the shape and the CPU's rung only, never on
// how outer or inner was split among threads. f16 and bf16 are not taken: convert first.
// NaN anywhere gives NaN (max and min too). An empty axis gives: sum, l1, l2, sum_square 0; prod 1; mean NaN;
// max -inf (or the type's lowest); min +inf (highest); log_sum and log_sum_exp -inf.
#pragma once
#include "kernels/elem.h"

namespace trunnion::kernels {

enum class ReduceOp : uint8_t { sum, mean, max, min, prod, sum_square, l1, l2, log_sum, log_sum_exp };
inline constexpr int kReduceOps = int(ReduceOp::log_sum_exp) + 1;

// Reads x[(o * axis + r) * stride + i], writes y[o * stride + i], for i < inner <= stride. stride == inner unless a
// thread takes a slice of inner: then x and y point to the slice's start and stride is the whole inner size.
struct ReduceShape {
  int64_t outer = 1;
  int64_t axis = 1;
  int64_t inner = 1;
  int64_t stride = 1;
};

using ReduceFn = void (*)(const void* x, void* y, const ReduceShape& shape);

// f32, f64, i32, i64, u32, u64: all (integers wrap; mean truncates; l2, log_* are computed in f64 and truncated).
// i8, u8, i16, u16, boolean: max and min. Null otherwise.
ReduceFn reduce(ReduceOp op, Elem type);

// Index along axis of the largest (smallest) element; of equal ones the first, or the last. A NaN wins over numbers.
// All types of reduce() but boolean, and f16, bf16.
using ArgFn = void (*)(const void* x, int64_t* y, const ReduceShape& shape);
ArgFn arg_extreme(bool largest, bool select_last, Elem type);

// Merges dims and the flags reduced[] to (outer, axis, inner). False when the reduced dimensions are not neighbours
// (size 1 ones do not count): transpose first, or reduce one group after the other.
bool reduce_shape(const int64_t* dims, const bool* reduced, int rank, ReduceShape& shape);

}  // namespace trunnion::kernels
