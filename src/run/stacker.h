// Collects equally shaped tensors, one per iteration, into one tensor with the iterations along an axis.
#pragma once
#include <vector>

#include "tensor/tensor.h"

namespace trunnion::run {

class Stacker {
 public:
  // `expected`: how many pieces will come, if known; memory is taken ahead only up to a modest size.
  explicit Stacker(int64_t expected = -1) : expected_(expected) {}

  // Copies the piece; its type and shape must be those of the first.
  Status add(const TensorView& piece);
  int64_t pieces() const { return pieces_; }

  // The stacked tensor: pieces along `axis` (of the result), in reverse order if asked for. Without any piece, dtype
  // and shape of a piece are those given.
  Result<Tensor> finish(int64_t axis, bool reverse, DType dtype, std::span<const int64_t> shape) &&;

 private:
  Status grow(size_t bytes);
  int64_t expected_;
  int64_t pieces_ = 0;
  DType dtype_ = DType::undefined;
  Shape shape_;
  size_t piece_bytes_ = 0, used_ = 0;
  Tensor buffer_;  // bytes, grows by doubling
  std::vector<std::string> strings_;
};

}  // namespace trunnion::run
