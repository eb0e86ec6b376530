// TensorBlocks: many tensors that are made one after the other, in few large blocks: the system clears memory by large
// pages there, which takes a fifth of the time. A block goes with the last of its tensors.
#pragma once
#include <algorithm>
#include <memory>

#include "base/os.h"
#include "tensor/tensor.h"

namespace trunnion {

class TensorBlocks {
 public:
  // `expected`: about how many bytes there will be; a block is no larger than that. Large blocks waste less at their
  // ends, small ones are free again sooner.
  explicit TensorBlocks(size_t expected, size_t block = size_t{8} << 20) : expected_(expected), most_(block) {}

  // Like Tensor::allocate; no strings.
  Result<Tensor> allocate(DType dtype, std::span<const int64_t> dims) {
    const int64_t count = element_count(dims);
    const auto bytes = storage_bytes(dtype, count);
    if (count < 0 || !bytes) return Tensor::allocate(dtype, dims);  // which says what is wrong
    const size_t needed = (std::max<size_t>(*bytes, 1) + os::kAlignment - 1) / os::kAlignment * os::kAlignment;
    expected_ -= std::min(expected_, needed);
    spent_ += needed;
    if (needed >= kOwn) return Tensor::allocate(dtype, dims);
    if (size_ - used_ < needed) {
      // Whole large pages; where more comes than was expected, a quarter of what there was at a time.
      size_t more = std::max(needed, std::min(most_, needed + std::max(expected_, spent_ / 4)));
      if (more >= kLargePage) more = (more + kLargePage - 1) / kLargePage * kLargePage;
      auto* p = static_cast<std::byte*>(os::allocate(more));
      if (!p) return Tensor::allocate(dtype, dims);
      block_ = std::shared_ptr<std::byte>(p, [](std::byte* b) { os::release(b); });
      size_ = more;
      used_ = 0;
    }
    std::byte* at = block_.get() + used_;
    used_ += needed;
    // An owner of its own for each: whoever asks whether it is alive means the tensor, not the block.
    return Tensor::borrow(dtype, dims, at, std::shared_ptr<const void>(at, [block = block_](const void*) {}));
  }

 private:
  static constexpr size_t kOwn = size_t{4} << 20;  // has large pages by itself
  static constexpr size_t kLargePage = size_t{2} << 20;
  size_t expected_, most_, spent_ = 0;
  std::shared_ptr<std::byte> block_;  // the one that is being filled
  size_t used_ = 0, size_ = 0;
};

}  // namespace trunnion
