// A range of items that threads take one by one, each from a share of its own first. The same share covers the same
// part of the range in one loop after another, so that a thread mostly finds in its own cache what it has written in
// the loop before; what is left of a share goes to whoever is done with his.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>

namespace trunnion {

class WorkShares {
 public:
  static constexpr int kMostShares = 16;
  static constexpr int64_t kMostItems = UINT32_MAX;

  // Items [0, count), at most kMostItems. Nobody may be taking items.
  void reset(int64_t count, int shares) {
    shares_ = std::clamp(shares, 1, kMostShares);
    for (int s = 0; s < shares_; ++s) {
      const auto begin = static_cast<uint64_t>(count * s / shares_),
                 end = static_cast<uint64_t>(count * (s + 1) / shares_);
      ranges_[s].left.store(begin << 32 | end, std::memory_order_relaxed);
    }
  }

  // The next item for the one that works on a share: the first of that, or else the last of another. -1: none is left.
  int64_t take(int share) {
    const int own = share % shares_;
    std::atomic<uint64_t>& mine = ranges_[own].left;
    for (uint64_t r = mine.load(std::memory_order_relaxed); begin_of(r) < end_of(r);)
      if (mine.compare_exchange_weak(r, r + (uint64_t{1} << 32), std::memory_order_relaxed)) return begin_of(r);
    for (int i = 1; i < shares_; ++i) {
      std::atomic<uint64_t>& other = ranges_[(own + i) % shares_].left;
      for (uint64_t r = other.load(std::memory_order_relaxed); begin_of(r) < end_of(r);)
        if (other.compare_exchange_weak(r, r - 1, std::memory_order_relaxed)) return end_of(r) - 1;
    }
    return -1;
  }

 private:
  static int64_t begin_of(uint64_t range) { return static_cast<int64_t>(range >> 32); }
  static int64_t end_of(uint64_t range) { return static_cast<int64_t>(range & UINT32_MAX); }

  struct alignas(64) Range {
    std::atomic<uint64_t> left{0};  // first item that nobody has taken | the one behind the last
  };
  Range ranges_[kMostShares];
  int shares_ = 1;
};

}  // namespace trunnion
