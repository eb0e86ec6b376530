// 8-bit integer convolution with 32-bit sums (ConvInteger, QLinearConv), channels last, exact modulo 2^32.
// y[p, o] = sum over taps and channels of (x - x_zero) * (w - w_zero[o]); outside of the input x equals x_zero.
// Order of use as in conv.h.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/conv.h"

namespace trunnion::kernels {

struct ConvInt8Plan {
  ConvShape shape;          // always rank 3; not transposed
  int64_t packed_size = 0;  // bytes, 64-byte aligned memory
  int64_t pack_units = 0;
  size_t scratch_size = 0;  // bytes for one running tile, 64-byte aligned memory
  int64_t tiles = 0;

  // Private to the implementation.
  bool depthwise = false;
  bool copied = false;  // rows of A are gathered in scratch; else they are pointers into x
  int64_t chunk_blocks = 1;
  int64_t row_step = 0, row_tiles = 0;
  int64_t col_step = 0, col_tiles = 0;
};

ConvInt8Plan conv_int8_plan(const ConvShape& shape, int threads);

// ONNX weights [cout, cin/groups, kernel...], u8 or s8.
void conv_int8_pack(const ConvInt8Plan& plan, const void* weights, bool w_signed, int64_t unit_begin, int64_t unit_end,
                    void* packed);

struct ConvInt8Args {
  const void* x = nullptr;  // u8 or s8
  bool x_signed = false;
  int64_t x_pixel_stride = 0;
  const void* packed = nullptr;
  bool w_signed = false;  // as at packing
  int32_t* y = nullptr;
  int64_t y_pixel_stride = 0;
  int32_t x_zero = 0;
  const int32_t* w_zero = nullptr;  // one per output channel, or a single one, or null for zero
  bool w_zero_per_channel = false;
};

void conv_int8_tile(const ConvInt8Plan& plan, const ConvInt8Args& args, int64_t tile_begin, int64_t tile_end,
                    void* scratch);

// What a tile writes: output pixels (all images counted through) and channels.
struct ConvInt8Region {
  int64_t pixel_begin = 0, pixel_end = 0;
  int64_t channel_begin = 0, channel_end = 0;
};
ConvInt8Region conv_int8_region(const ConvInt8Plan& plan, int64_t tile);

}  // namespace trunnion::kernels
