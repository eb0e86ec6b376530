// Broadcast of 1 to 3 inputs by ONNX (numpy) rules, reduced to few dimensions, and the loop over it.
// Make the plan once per shape; threads then share it, each with its own range of output elements.
#pragma once
#include "kernels/binary.h"

namespace trunnion::kernels {

inline constexpr int kMaxBroadcastDims = 12;
inline constexpr int kMaxBroadcastInputs = 3;

// Output dimensions with neighbours merged wherever every input allows it; dim[0] is the outermost, dim[rank-1] the
// inner loop. Strides are in elements and 0 where the input is repeated; the inner stride of an input is 0 or 1.
struct BroadcastPlan {
  int rank = 1;
  int inputs = 0;
  int64_t dim[kMaxBroadcastDims] = {1};
  int64_t stride[kMaxBroadcastInputs][kMaxBroadcastDims] = {};
  int64_t elements = 1;  // of the output

  int64_t inner() const { return dim[rank - 1]; }
  int64_t inner_stride(int input) const { return stride[input][rank - 1]; }
  // For two inputs: which loop the inner dimension needs. Both strides 0 happens only when inner() is 1.
  BinaryShape shape() const {
    if (inner_stride(0) == inner_stride(1)) return BinaryShape::vector_vector;
    return inner_stride(0) ? BinaryShape::vector_scalar : BinaryShape::scalar_vector;
  }
};

// False when the shapes do not broadcast, a size is negative, the output overflows, or the merged rank is over the
// limit. shapes[i] has ranks[i] entries. Rank 0 is a scalar; zero-sized dimensions are allowed.
bool broadcast_plan(int inputs, const int64_t* const* shapes, const int* ranks, BroadcastPlan& plan);

// The same onto a given output shape (Expand and the like): no input may be larger than the output.
bool broadcast_plan_to(int inputs, const int64_t* const* shapes, const int* ranks, const int64_t* out, int out_rank,
                       BroadcastPlan& plan);

// Calls row(offsets, y_offset, n) for consecutive runs along the inner dimension that together cover the output
// elements [begin, end). offsets[i] is the element offset of input i at the run's start.
template <class Row>
void broadcast_rows(const BroadcastPlan& plan, int64_t begin, int64_t end, Row&& row) {
  if (begin >= end) return;
  const int last = plan.rank - 1;
  int64_t index[kMaxBroadcastDims];
  int64_t offset[kMaxBroadcastInputs] = {};
  int64_t rest = begin;
  for (int d = last; d >= 0; --d) {
    index[d] = rest % plan.dim[d];
    rest /= plan.dim[d];
    for (int i = 0; i < plan.inputs; ++i) offset[i] += index[d] * plan.stride[i][d];
  }
  for (int64_t at = begin; at < end;) {
    int64_t n = plan.dim[last] - index[last];
    if (n > end - at) n = end - at;
    row(static_cast<const int64_t*>(offset), at, n);
    at += n;
    if (at >= end) return;
    for (int i = 0; i < plan.inputs; ++i) offset[i] -= index[last] * plan.stride[i][last];
    index[last] = 0;
    for (int d = last - 1; d >= 0; --d) {
      for (int i = 0; i < plan.inputs; ++i) offset[i] += plan.stride[i][d];
      if (++index[d] < plan.dim[d]) break;
      for (int i = 0; i < plan.inputs; ++i) offset[i] -= plan.dim[d] * plan.stride[i][d];
      index[d] = 0;
    }
  }
}

// Runs fn = binary(op, type, plan.shape()) over the output elements [begin, end). Element sizes in bytes.
void broadcast_binary(const BroadcastPlan& plan, int64_t begin, int64_t end, BinaryFn fn, const void* a, const void* b,
                      void* y, size_t in_size, size_t out_size);

// y = condition ? a : b over the output elements [begin, end); inputs of the plan are condition (bool bytes), a, b.
// size is the element size in bytes: 1, 2, 4, 8 or 16.
void broadcast_where(const BroadcastPlan& plan, int64_t begin, int64_t end, const bool* condition, const void* a,
                     const void* b, void* y, size_t size);

// Writes input 0 of the plan, repeated, into output elements [begin, end) (Expand). size as above.
void broadcast_copy(const BroadcastPlan& plan, int64_t begin, int64_t end, const void* x, void* y, size_t size);

}  // namespace trunnion::kernels
