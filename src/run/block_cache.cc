#include "run/block_cache.h"

#include <algorithm>
#include <mutex>

#include "base/checked_math.h"
#include "base/os.h"

namespace trunnion::run {

BlockCache::~BlockCache() { release(idle_); }

void BlockCache::release(const Blocks& blocks) {
  for (size_t i = 0; i < blocks.count; ++i) os::release(blocks.items[i].data);
}

Result<Tensor> BlockCache::allocate(DType dtype, std::span<const int64_t> dims) {
  const int64_t count = element_count(dims);
  const auto bytes = storage_bytes(dtype, count);
  if (dtype == DType::string || count < 0 || !bytes || *bytes < kLeastBytes) return Tensor::allocate(dtype, dims);
  Block block = take(*bytes);
  if (!block.data) block = {os::allocate(*bytes), *bytes};
  if (!block.data) {
    clear();
    block.data = os::allocate(*bytes);
  }
  if (!block.data) return Tensor::allocate(dtype, dims);  // which says what is wrong
  std::shared_ptr<const void> owner(block.data, GiveBack{shared_from_this(), block.bytes});
  return Tensor::borrow(dtype, dims, block.data, std::move(owner));
}

// The smallest that is large enough and wastes little.
BlockCache::Block BlockCache::take(size_t bytes) {
  std::lock_guard guard(lock_);
  now_.largest = std::max(now_.largest, bytes);
  size_t best = idle_.count;
  for (size_t i = 0; i < idle_.count; ++i) {
    const size_t have = idle_.items[i].bytes;
    if (have >= bytes && have - bytes <= bytes / 8 && (best == idle_.count || have < idle_.items[best].bytes)) best = i;
  }
  if (best == idle_.count) return {};
  Blocks taken;
  remove(best, taken);
  return taken.items[0];
}

void BlockCache::put(Block block) {
  Blocks gone;  // given to the system after the lock is free
  {
    std::lock_guard guard(lock_);
    const size_t most = closed_ ? 0 : limit();
    if (block.bytes > most) {
      gone.items[gone.count++] = block;
    } else {
      shrink(most - block.bytes, kMaxBlocks - 1, gone);
      idle_.items[idle_.count++] = block;
      idle_bytes_ += block.bytes;
    }
  }
  release(gone);
}

void BlockCache::run_ended(size_t bytes, size_t concurrent) {
  if (bytes == 0 && idle_bytes() == 0) return;  // a model without large outputs pays for nothing
  Blocks gone;
  {
    std::lock_guard guard(lock_);
    concurrent_ = std::max<size_t>(concurrent, 1);
    now_.outputs = std::max(now_.outputs, bytes);
    if (++now_.runs >= kWindow) before_ = std::exchange(now_, {});
    shrink(limit(), kMaxBlocks, gone);
  }
  release(gone);
}

void BlockCache::clear() {
  Blocks gone;
  {
    std::lock_guard guard(lock_);
    gone = std::exchange(idle_, {});
    idle_bytes_ = 0;
  }
  release(gone);
}

void BlockCache::close() {
  {
    std::lock_guard guard(lock_);
    closed_ = true;
  }
  clear();
}

// A block may be an eighth larger than what lies in it.
size_t BlockCache::limit() const {
  const size_t outputs = std::max(now_.outputs, before_.outputs), largest = std::max(now_.largest, before_.largest);
  const size_t runs = checked_mul(outputs, concurrent_).value_or(outputs);
  const size_t bytes = std::max(runs, largest);
  return bytes + bytes / 8;
}

void BlockCache::remove(size_t at, Blocks& to) {
  to.items[to.count++] = idle_.items[at];
  idle_bytes_ -= idle_.items[at].bytes;
  std::copy(idle_.items.begin() + static_cast<ptrdiff_t>(at) + 1,
            idle_.items.begin() + static_cast<ptrdiff_t>(idle_.count),
            idle_.items.begin() + static_cast<ptrdiff_t>(at));
  --idle_.count;
}

// Until at most so much is idle; the oldest go.
void BlockCache::shrink(size_t bytes, size_t blocks, Blocks& gone) {
  while (idle_.count > 0 && (idle_bytes() > bytes || idle_.count > blocks)) remove(0, gone);
}

}  // namespace trunnion::run
