// Offsets in one arena: buffers are taken and given back in execution order; best fit, neighbours merge.
#pragma once
#include <cstddef>
#include <map>

namespace trunnion::plan {

class ArenaPlanner {
 public:
  static constexpr size_t kAlignment = 64;
  static size_t rounded(size_t bytes) {
    return bytes == 0 ? kAlignment : (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }

  size_t take(size_t bytes);
  void give(size_t offset, size_t bytes);
  size_t peak() const { return peak_; }

 private:
  std::map<size_t, size_t> free_;  // offset -> bytes
  size_t top_ = 0, peak_ = 0;
};

}  // namespace trunnion::plan
