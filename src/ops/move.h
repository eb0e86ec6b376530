// What kernels that move elements share: strided copies of every element type over threads, strings and packed
// sub-byte types included; and the kernel of operators whose output has the bytes of their input.
#pragma once
#include "kernels/copy.h"
#include "ops/op.h"

namespace trunnion::ops {

// Elements that one piece of parallel work should move at least, for elements of that many bytes.
inline int64_t move_grain(size_t element_bytes) {
  return element_bytes >= 65536 ? 1 : 65536 / static_cast<int64_t>(element_bytes ? element_bytes : 1);
}

// Copies a box of elements; strides as in kernels/copy.h. Not for sub-byte types.
void copy_strided(KernelContext& ctx, const void* src, void* dst, kernels::CopyShape shape, DType type);

// dst[i] = src[i].
void copy_elements(KernelContext& ctx, const void* src, void* dst, int64_t count, DType type);

// dst[i] = *value.
void fill_elements(KernelContext& ctx, void* dst, const void* value, int64_t count, DType type);

// A pointer to element `index`. Not for sub-byte types.
inline const void* element(const void* data, int64_t index, DType type) {
  return static_cast<const std::byte*>(data) + index * static_cast<int64_t>(size_of(type));
}
inline void* element(void* data, int64_t index, DType type) {
  return static_cast<std::byte*>(data) + index * static_cast<int64_t>(size_of(type));
}

// The view, of a copy in `holder` when the output lies on the same bytes: operators that overwrite one input while they
// read another need it where both inputs are the same value.
Result<TensorView> apart_from(const TensorView& out, const TensorView& in, Tensor& holder);

// Refuses ranks that the copy kernels do not take.
Status expect_copy_rank(int64_t rank);

// Output 0 = the elements of input 0, whatever the shapes: for operators that are views, when they run all the same.
class ViewCopy final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node&) { return std::unique_ptr<Kernel>(new ViewCopy); }
  Status run(KernelContext& ctx) const override;
};

}  // namespace trunnion::ops
