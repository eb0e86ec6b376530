// BlockCache: large blocks that outputs have left, for the outputs of later runs. Memory that comes fresh from the
// system is cleared page by page when it is touched, which takes longer than most operators need to fill it.
#pragma once
#include <array>
#include <atomic>
#include <memory>
#include <span>

#include "base/fork_lock.h"
#include "tensor/tensor.h"

namespace trunnion::run {

// Of one session, used by all its runs. Held by shared_ptr only: every tensor that it gave holds it, too.
class BlockCache : public std::enable_shared_from_this<BlockCache> {
 public:
  static constexpr size_t kLeastBytes = size_t{256} << 10;  // smaller ones the heap keeps by itself
  static constexpr size_t kMaxBlocks = 32;                  // idle ones
  static constexpr int kWindow = 16;                        // runs after which a larger one is forgotten, or twice that

  BlockCache() = default;
  ~BlockCache();
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  // Like Tensor::allocate. A large tensor's block comes back when its last copy goes, on whatever thread, also when the
  // session is gone by then.
  Result<Tensor> allocate(DType dtype, std::span<const int64_t> dims);
  // One of at most `concurrent` runs has ended; its outputs take `bytes`. What idle blocks may hold follows from it:
  // the outputs of as many runs, of the largest in the last windows.
  void run_ended(size_t bytes, size_t concurrent);
  void clear();  // gives the idle blocks to the system
  void close();  // the same, and keeps none from now on
  size_t idle_bytes() const { return idle_bytes_.load(std::memory_order_relaxed); }

 private:
  struct Block {
    void* data = nullptr;
    size_t bytes = 0;
  };
  struct Blocks {  // oldest first
    std::array<Block, kMaxBlocks> items;
    size_t count = 0;
  };
  struct Window {
    size_t outputs = 0;  // bytes of those of one run
    size_t largest = 0;  // block
    int runs = 0;
  };
  struct GiveBack {  // the deleter of a tensor's owner
    std::shared_ptr<BlockCache> cache;
    size_t bytes;
    void operator()(const void* data) const { cache->put({const_cast<void*>(data), bytes}); }
  };
  Block take(size_t bytes);
  void put(Block block);
  size_t limit() const;
  void remove(size_t at, Blocks& to);
  void shrink(size_t bytes, size_t blocks, Blocks& gone);
  static void release(const Blocks& blocks);

  mutable ForkLock lock_;
  Blocks idle_;
  std::atomic<size_t> idle_bytes_{0};  // written under the lock
  Window now_, before_;
  size_t concurrent_ = 1;
  bool closed_ = false;
};

}  // namespace trunnion::run
