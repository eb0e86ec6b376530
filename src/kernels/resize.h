// Resize along one axis with a table of taps: y[j] = sum over t of weight(j, t) * x[index(j, t)]. A multi-axis resize
// applies one axis after the other. resize_tables.cc makes the tables from ONNX's attributes, once per shape.
// No alignment is required; y may not overlap x.
#pragma once
#include <vector>

#include "kernels/elem.h"

namespace trunnion::kernels {

enum class ResizeMode : uint8_t { nearest, linear, cubic };
enum class ResizeCoords : uint8_t {
  half_pixel,
  half_pixel_symmetric,
  pytorch_half_pixel,
  align_corners,
  asymmetric,
  tf_half_pixel_for_nn,  // Resize-10 only
  tf_crop_and_resize,
};
enum class ResizeNearest : uint8_t { round_prefer_floor, round_prefer_ceil, floor, ceil };

struct ResizeAxis {
  ResizeMode mode = ResizeMode::nearest;
  ResizeCoords coords = ResizeCoords::half_pixel;
  ResizeNearest nearest = ResizeNearest::round_prefer_floor;
  int64_t in = 1;
  int64_t out = 1;
  double scale = 1;      // out / in as the model states it (it may differ from the ratio of the sizes)
  double roi_begin = 0;  // tf_crop_and_resize
  double roi_end = 1;
  double extrapolation = 0;  // tf_crop_and_resize: value outside the input
  double cubic_a = -0.75;
  bool exclude_outside = false;
  bool antialias = false;
};

// Tap t of output position j is entry [t * out + j]; unused taps have weight 0 and a valid index.
struct ResizeTable {
  int64_t in = 0;
  int64_t out = 0;
  int taps = 0;
  std::vector<int32_t> index;
  std::vector<float> weight;     // empty for nearest: the one tap is copied
  std::vector<uint8_t> outside;  // empty, or 1 where the output is the extrapolation value
  float extrapolation = 0;
  bool identity = false;  // every output is its input: the axis can be skipped
};
// False for sizes below 1 or over 2^31 - 1, or a scale that is not positive and finite.
bool resize_table(const ResizeAxis& axis, ResizeTable& table);

// A table of mode nearest, as far as moving elements needs it.
struct NearestAxis {
  const int32_t* index = nullptr;
  int64_t in = 0, out = 0;
};

struct ResizeKernels {
  // x is (outer, table.in, inner), y is (outer, table.out, inner), f32.
  void (*axis)(const float* x, float* y, const ResizeTable& table, int64_t outer, int64_t inner);
  // Elements of 4 bytes by tables of mode nearest without extrapolation: their indices only rise, or only fall. x is
  // (planes, rows.in, cols.in), y (planes, rows.out, cols.out); makes the rows [begin, end) of planes * rows.out.
  void (*nearest_words)(const uint32_t* x, uint32_t* y, const NearestAxis& rows, const NearestAxis& cols, int64_t begin,
                        int64_t end);
};
const ResizeKernels& resize();

// Nearest for any element size in bytes (the table's mode must be nearest without extrapolation).
void resize_nearest(const void* x, void* y, const ResizeTable& table, int64_t outer, int64_t inner, size_t size);

// Nearest over two neighbouring axes at once: x is (planes, rows.in, cols.in, inner), y (planes, rows.out, cols.out,
// inner). Makes the rows [begin, end) of planes * rows.out.
void resize_nearest_planes(const void* x, void* y, const ResizeTable& rows, const ResizeTable& cols, int64_t begin,
                           int64_t end, int64_t inner, size_t size);

}  // namespace trunnion::kernels
