// Index tensors that address elements: GatherElements, GatherND and the scatter operators check and read them alike.
#pragma once
#include "ops/op.h"
#include "ops/shape.h"

namespace trunnion::ops {

// The rule for `indices` (input 1) beside `data` (input 0) in GatherElements and ScatterElements: same rank, and no
// other axis than `axis` longer than the data's.
Status check_element_indices(const ir::Facts& f, int axis);
Status check_element_indices(std::span<const int64_t> data, std::span<const int64_t> indices, int axis);

// Refuses an index (i32 or i64) outside [-size, size), naming it.
Status check_indices(const TensorView& indices, int64_t size);

// Element offsets of slices in `data`: entry k holds where the k-th tuple of the last axis of `indices` (i64) points,
// behind batch_dims leading axes that both share. An error names an index that is out of range.
Result<std::vector<int64_t>> slice_offsets(const TensorView& data, const TensorView& indices, int batch_dims);

}  // namespace trunnion::ops
