// Shapes of operators that take either order of dimensions: [N, D..., C] and [N, C, D...] (rank at least 2).
#pragma once
#include <algorithm>

namespace trunnion::ops {

template <class S>
S to_channels_first(S dims) {
  std::rotate(dims.begin() + 1, dims.end() - 1, dims.end());
  return dims;
}
template <class S>
S to_channels_last(S dims) {
  std::rotate(dims.begin() + 1, dims.begin() + 2, dims.end());
  return dims;
}

}  // namespace trunnion::ops
