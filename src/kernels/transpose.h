// Permutation of dimensions for elements of 1, 2, 4, 8 or 16 bytes. The plan merges dimensions and picks the inner
// kernel; threads share it, each with its own range of units. No alignment is required; x and y may not overlap.
#pragma once
#include "kernels/elem.h"

namespace trunnion::kernels {

inline constexpr int kMaxTransposeDims = 16;

struct TransposePlan {
  enum class Kind : uint8_t { copy, rows, blocks } kind = Kind::copy;
  int rank = 1;                                // merged
  size_t size = 1;                             // bytes of an element
  int64_t dim[kMaxTransposeDims] = {1};        // output order, outermost first
  int64_t in_stride[kMaxTransposeDims] = {1};  // elements of the input, for each output dimension
  int64_t out_stride[kMaxTransposeDims] = {1};
  int column = -1;         // blocks: the output dimension that is innermost in the input
  int64_t units = 1;       // pieces of work: transpose() takes ranges of them
  int64_t unit_bytes = 0;  // bytes moved by one, about; for the thread grain
};

// Output dimension d is input dimension perm[d]. False when perm is no permutation, a size is negative or overflows,
// rank is over the limit or size is not one of those above. Rank 0 is a copy of one element.
bool transpose_plan(const int64_t* dims, const int64_t* perm, int rank, size_t size, TransposePlan& plan);

// Does the units [begin, end) of plan.units.
void transpose(const TransposePlan& plan, const void* x, void* y, int64_t begin, int64_t end);

// 2-D: y[c * y_stride + r] = x[r * x_stride + c] for r < rows, c < cols (f32), on the active rung.
void transpose_2d_f32(const float* x, int64_t x_stride, float* y, int64_t y_stride, int64_t rows, int64_t cols);

}  // namespace trunnion::kernels
