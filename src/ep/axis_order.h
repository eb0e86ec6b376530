// Orders of axes for layouts, as Transpose takes them.
#pragma once
#include <cstdint>
#include <vector>

namespace trunnion::ep {

// [N, C, D...] to [N, D..., C].
inline std::vector<int64_t> to_last(int rank) {
  std::vector<int64_t> perm{0};
  for (int i = 2; i < rank; ++i) perm.push_back(i);
  perm.push_back(1);
  return perm;
}
// And back.
inline std::vector<int64_t> to_first(int rank) {
  std::vector<int64_t> perm{0, rank - 1};
  for (int i = 1; i < rank - 1; ++i) perm.push_back(i);
  return perm;
}

}  // namespace trunnion::ep
