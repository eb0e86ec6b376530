// The kernel of the direct convolution: depthwise and small groups, vectorised over output channels.
#pragma once
#include <cstdint>

#include "kernels/epilogue.h"

namespace trunnion::kernels {

// A run of output pixels of one line that use the same taps. Input channel of output channel c: c / cout * cin + i.
struct DirectArgs {
  const float* x = nullptr;  // pixel 0 of the run, before the offset of a tap
  int64_t x_step = 0;        // floats between the inputs of neighbouring output pixels
  const float* w = nullptr;  // [tap][cin][channels]
  int64_t taps = 0;
  const int64_t* x_offset = nullptr;  // per tap
  const int64_t* w_offset = nullptr;
  int64_t cin = 0, cout = 0;                   // channels of one group
  int64_t channels = 0;                        // all output channels
  int64_t in_channels = 0;                     // all input channels
  int64_t channel_begin = 0, channel_end = 0;  // the part to compute; begin is a multiple of the vector length
  float* y = nullptr;                          // pixel 0
  int64_t y_step = 0;
  const float* residual = nullptr;  // pixel 0
  int64_t residual_step = 0;
  int64_t pixels = 0;
  const Epilogue* epilogue = nullptr;  // bias_col at channel 0
};

// Depthwise, with taps side by side along the line: `pixels` <= kWindowPixels output pixels that share the input
// columns around them. A tap stands for a row of taps: x_offset leads to the first column, w_offset to the first
// weight. Columns outside of [column_begin, column_end) are padding and not read. x_step is from column to column.
struct WindowArgs : DirectArgs {
  int taps_x = 0, stride = 0;
  int64_t column_begin = 0, column_end = 0;
};
inline constexpr int kWindowPixels = 8;

struct DirectTable {
  int64_t lanes;
  void (*run)(const DirectArgs&);
  void (*window)(const WindowArgs&);
};
bool has_window(int64_t taps_x, int64_t stride);  // whether there is a kernel
const DirectTable& direct_table();

}  // namespace trunnion::kernels
