// Convolution of f32 planes (NCHW) without a change of layout: a vector of neighbouring outputs of a row at a time. For
// a convolution that stands alone, where transposing to channels last and back costs more than it saves: depthwise,
// few input channels, and transposed ones whose stride is their kernel. Order of use and threads as in conv.h.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/conv.h"

namespace trunnion::kernels {

struct ConvPlanarPlan {
  ConvShape shape;          // always rank 3, of one plane in depth
  int64_t packed_size = 0;  // floats
  size_t scratch_size = 0;  // bytes for one running tile, 64-byte aligned memory
  int64_t tiles = 0;

  // Private to the implementation.
  int64_t pitch = 0;      // floats of a row in scratch, for each remainder of a column by the stride
  int64_t band_rows = 0;  // output rows of a tile
  int64_t band_in = 0;    // input rows that those need
  int64_t bands = 0;      // of a picture
};

// Whether this kernel can and should run a shape whose x and y are planes.
bool conv_planar_fits(const ConvShape& shape);
ConvPlanarPlan conv_planar_plan(const ConvShape& shape, int threads);
// ONNX weights.
void conv_planar_pack(const ConvPlanarPlan& plan, const float* weights, float* packed);

struct ConvPlanarArgs {
  const float* x = nullptr;  // [batch, cin, rows, columns]
  const float* packed = nullptr;
  float* y = nullptr;           // [batch, cout, rows, columns]
  const float* bias = nullptr;  // cout, or null
  Activation activation = Activation::none;
  float a = 0, b = 0;
};
void conv_planar_tile(const ConvPlanarPlan& plan, const ConvPlanarArgs& args, int64_t tile, void* scratch);

}  // namespace trunnion::kernels
