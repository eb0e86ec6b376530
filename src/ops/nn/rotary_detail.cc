#include "ops/nn/rotary_detail.h"

#include <algorithm>

#include "kernels/rotary.h"

namespace trunnion::ops {

void rotate(const Rotation& r, const float* x, float* y, const float* cos, const float* sin) {
  (r.interleaved ? kernels::rotary().pairs : kernels::rotary().halves)(x, y, cos, sin, r.rotated / 2);
  if (x != y) std::copy(x + r.rotated, x + r.size, y + r.rotated);
}

}  // namespace trunnion::ops
