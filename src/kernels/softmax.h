// Softmax and log-softmax. No alignment is required; y may be x itself. exp is within 2 ULP; sums use vector
// accumulators in an order that the shape fixes. A row of only -inf, or with a NaN or +inf in it, follows
// exp(x - max) / sum as written: NaN. Empty rows write nothing.
#pragma once
#include "kernels/elem.h"

namespace trunnion::kernels {

struct SoftmaxKernels {
  // rows contiguous rows of cols elements.
  void (*rows)(const float* x, float* y, int64_t rows, int64_t cols);
  void (*log_rows)(const float* x, float* y, int64_t rows, int64_t cols);
  // Along the middle of (outer, axis, inner). A thread takes a range of outer.
  void (*strided)(const float* x, float* y, int64_t outer, int64_t axis, int64_t inner);
  void (*log_strided)(const float* x, float* y, int64_t outer, int64_t axis, int64_t inner);
  // In place for attention: x = softmax(scale x + mask) by row; row r is at x + r stride, its mask at
  // mask + r mask_stride (0: one mask for all; null mask: none). A row that is masked wholly (all -inf) becomes 0.
  void (*attention)(float* x, const float* mask, int64_t rows, int64_t cols, int64_t stride, int64_t mask_stride,
                    float scale);
};
const SoftmaxKernels& softmax();

// f64, plain: (outer, axis, inner), log or not.
void softmax_f64(const double* x, double* y, int64_t outer, int64_t axis, int64_t inner, bool log);

}  // namespace trunnion::kernels
