#include "plan/memory.h"

#include <algorithm>

namespace trunnion::plan {

size_t ArenaPlanner::take(size_t bytes) {
  bytes = rounded(bytes);
  auto best = free_.end();
  for (auto it = free_.begin(); it != free_.end(); ++it)
    if (it->second >= bytes && (best == free_.end() || it->second < best->second)) best = it;
  if (best != free_.end()) {
    const size_t offset = best->first, left = best->second - bytes;
    free_.erase(best);
    if (left) free_.emplace(offset + bytes, left);
    return offset;
  }
  // Nothing fits: grow, from a free block at the end if there is one.
  size_t offset = top_;
  if (!free_.empty()) {
    const auto last = std::prev(free_.end());
    if (last->first + last->second == top_) {
      offset = last->first;
      free_.erase(last);
    }
  }
  top_ = offset + bytes;
  peak_ = std::max(peak_, top_);
  return offset;
}

void ArenaPlanner::give(size_t offset, size_t bytes) {
  bytes = rounded(bytes);
  auto next = free_.lower_bound(offset);
  if (next != free_.end() && offset + bytes == next->first) {
    bytes += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      before->second += bytes;
      return;
    }
  }
  free_.emplace(offset, bytes);
}

}  // namespace trunnion::plan
