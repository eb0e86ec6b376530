// Rotation of pairs of elements by given angles (rotary positions). No alignment is required; y may be x itself.
#pragma once
#include <cstdint>

namespace trunnion::kernels {

struct RotaryKernels {
  // Pairs (x[i], x[half + i]): y[i] = cos[i] x[i] - sin[i] x[half + i], y[half + i] = sin[i] x[i] + cos[i] x[half + i].
  void (*halves)(const float* x, float* y, const float* cos, const float* sin, int64_t half);
  // The same for pairs (x[2 i], x[2 i + 1]).
  void (*pairs)(const float* x, float* y, const float* cos, const float* sin, int64_t half);
};
const RotaryKernels& rotary();

}  // namespace trunnion::kernels
