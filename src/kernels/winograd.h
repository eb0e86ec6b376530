// The transforms of Winograd convolution F(m x m, 3 x 3), m = 2 or 4, on vectors of channels (Lavin and Gray, "Fast
// Algorithms for Convolutional Neural Networks", 2015). A tile of a x a pixels (a = m + 2) gives m x m outputs.
// Points: m = 2: 0, 1, -1, infinity; m = 4: 0, 1, -1, 1/2, -2, infinity (smaller errors than the usual +-2).
// Private to the convolution; start at kernels/conv.h.
#pragma once
#include <cstdint>

#include "kernels/epilogue.h"

namespace trunnion::kernels {

inline constexpr int kMostWinogradPixels = 36;   // of a tile of inputs
inline constexpr int kMostWinogradOutputs = 16;  // of a tile

// One tile of sums [a * a] [cols] (planes stand `plane` floats apart) to its output pixels.
struct WinogradOutput {
  const float* sums = nullptr;  // rows of whole vectors: memory up to the next multiple of a panel is readable
  int64_t plane = 0;
  int64_t col = 0, cols = 0;        // output channels [col, col + cols)
  const int64_t* pixels = nullptr;  // m * m indices of output pixels, below 0: outside
  float* y = nullptr;               // channel 0 of pixel 0, like the residual
  int64_t y_pixel_stride = 0;
  const Epilogue* epilogue = nullptr;  // bias_row is not used
};

struct WinogradTransforms {
  // x: a * a pixels; v gets `channels` floats in each of a * a planes.
  void (*input)(const float* const* x, int64_t channels, float* v, int64_t plane);
  void (*output)(const WinogradOutput& out);
  // taps: [9][width], to a * a planes of `width` floats.
  void (*weights)(const float* taps, int64_t width, float* u, int64_t plane);
};

// What each rung provides: for m = 2 and m = 4.
struct WinogradTable {
  WinogradTransforms two, four;
};
const WinogradTable& winograd_table();

}  // namespace trunnion::kernels
