// Bilinear blend of one output row from two input rows, f32. Products and sums are rounded one by one, in the order
// left of a, right of a, left of b, right of b: the bits are the same on every rung, and models that quantize what
// comes out find the values that they were calibrated with. No alignment is required; y may not overlap the inputs.
#pragma once
#include "kernels/elem.h"

namespace trunnion::kernels {

// Column j reads elements left[j] and right[j] of both rows.
struct BilinearColumns {
  const int32_t* left;
  const int32_t* right;
  const float* left_weight;
  const float* right_weight;
  int64_t count;
};

struct BilinearKernels {
  void (*row)(const float* a, const float* b, float a_weight, float b_weight, const BilinearColumns& columns, float* y);
};
const BilinearKernels& bilinear();

}  // namespace trunnion::kernels
