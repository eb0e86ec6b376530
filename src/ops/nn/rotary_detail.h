// The rotation of a head's elements by the angles of its position, for every operator that has one.
#pragma once
#include <cstdint>

namespace trunnion::ops {

struct Rotation {
  int64_t rotated = 0, size = 0;  // elements: an even number of them, and all of the head
  bool interleaved = false;       // pairs are neighbours; else one from each half of what is rotated
};

// y may be x. cos and sin: rotated / 2 elements each.
void rotate(const Rotation& r, const float* x, float* y, const float* cos, const float* sin);

}  // namespace trunnion::ops
