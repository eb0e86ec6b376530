// Running sums. y may be x itself. Integers wrap around.
//
// Along a contiguous row floats are added up in vectors: the sum of a vector's first elements is made by a tree, then
// added to the sum of all vectors before it. Columns are added up one element after the other.
#pragma once
#include "kernels/elem.h"

namespace trunnion::kernels {

struct RunningSum {
  // y[i] = x[0] + ... + x[i], or up to x[i - 1] when exclusive; from the end when reverse.
  void (*row)(const void* x, void* y, int64_t n, bool exclusive, bool reverse);
  // The same down `width` neighbouring columns of n elements that are `stride` elements apart.
  void (*columns)(const void* x, void* y, int64_t n, int64_t width, int64_t stride, bool exclusive, bool reverse);
};

// f32, f64, i32, i64, u32, u64. Null otherwise.
const RunningSum* running_sum(Elem type);

}  // namespace trunnion::kernels
