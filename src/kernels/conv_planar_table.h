// What conv_planar.simd.cc gives to conv_planar.cc.
#pragma once
#include <cstdint>

namespace trunnion::kernels {

// Output channels that share the loads of a block of neighbouring outputs.
inline constexpr int64_t kPlanarChannels = 6;

// A row of outputs of up to kPlanarChannels channels: y[c][j] = bias[c] + sum over k of w[k][c] * x[offset[k] + j].
// paired: channels 2 i and 2 i + 1 are the even and the odd elements of one row of twice the length.
struct PlanarRow {
  const float* x = nullptr;
  const int64_t* offset = nullptr;
  int64_t taps = 0;
  const float* w = nullptr;  // [tap][channels]
  int64_t channels = 0;
  float* y[kPlanarChannels] = {};  // one per channel, paired: one for two
  bool paired = false;
  float bias[kPlanarChannels] = {};
  int64_t count = 0;    // outputs of a channel; up to a multiple of the vector may be read from x
  bool padded = false;  // that much may be read
};

// Rows of one plane: y[r][j] = bias + sum over k of w[k] * x[r * x_step + offset[k] + j].
struct PlanarPlane {
  const float* x = nullptr;
  const int64_t* offset = nullptr;
  int64_t taps = 0;
  const float* w = nullptr;
  float bias = 0;
  int64_t x_step = 0, y_step = 0, rows = 0, count = 0;
  int64_t kernel_rows = 0, kernel_columns = 0;  // taps, row by row
  bool neighbours = false;                      // a tap of the next kernel row reads what the next output row's does
  float* y = nullptr;
};

struct PlanarTable {
  int64_t lanes;
  void (*row)(const PlanarRow&);
  void (*plane)(const PlanarPlane&);
  // to[r * to_step + i] = x[r * x_step + i] for i < n, r < rows.
  void (*copy)(const float* x, int64_t x_step, float* to, int64_t to_step, int64_t n, int64_t rows);
  // even[i] = x[2 i] and odd[i] = x[2 i + 1] for the n elements of each row of x.
  void (*split)(const float* x, int64_t x_step, float* even, float* odd, int64_t to_step, int64_t n, int64_t rows);
};
const PlanarTable& planar_table();

}  // namespace trunnion::kernels
