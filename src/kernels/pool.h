// Pooling over 1 to 3 spatial dimensions, f32, planes (NCHW) or channels-last (NHWC). No alignment is required;
// y may not overlap x. Output sizes are the caller's (ceil mode and auto_pad are decided there); windows may hang
// over the padded border.
#pragma once
#include "kernels/elem.h"

namespace trunnion::kernels {

// Sizes are given innermost last; with fewer than 3 dimensions the leading entries keep their defaults.
struct PoolShape {
  int64_t in[3] = {1, 1, 1};
  int64_t out[3] = {1, 1, 1};
  int64_t kernel[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1};
  int64_t dilation[3] = {1, 1, 1};
  int64_t pad_begin[3] = {0, 0, 0};
  int64_t pad_end[3] = {0, 0, 0};
  bool count_include_pad = false;  // average: the divisor counts padding (but not what ceil mode adds beyond it)
  int p = 2;                       // Lp
  int64_t index_base = 0;          // added to every index (threads: first plane * plane size)
};

// A window without any input element gives: max -inf with index -1, average and Lp 0. NaN in a window gives NaN.
struct PoolKernels {
  // Planes: `planes` consecutive (in) planes to as many (out) planes. indices is optional: the position of the
  // maximum, counted from x (plus index_base); within a plane row-major, or column-major (last dimension slowest).
  void (*max)(const float* x, float* y, int64_t* indices, int64_t planes, const PoolShape& shape, bool column_major);
  void (*average)(const float* x, float* y, int64_t planes, const PoolShape& shape);
  void (*lp)(const float* x, float* y, int64_t planes, const PoolShape& shape);
  // Channels-last: one image, output rows [begin, end) of out[0] * out[1] (a row is out[2] positions of `channels`).
  // x and y point to the image's start.
  void (*max_nhwc)(const float* x, float* y, int64_t channels, int64_t begin, int64_t end, const PoolShape& shape);
  void (*average_nhwc)(const float* x, float* y, int64_t channels, int64_t begin, int64_t end, const PoolShape& shape);
  // Planes of 8-bit elements; a row of the window spans at most kMaxByteSpan elements.
  void (*max_u8)(const uint8_t* x, uint8_t* y, int64_t planes, const PoolShape& shape);
  void (*max_i8)(const int8_t* x, int8_t* y, int64_t planes, const PoolShape& shape);
};
const PoolKernels& pool();
inline constexpr int64_t kMaxByteSpan = 2048;
// Global pooling is a reduction: kernels/reduce.h with (planes, size, 1) or (images, size, channels).

// Max pooling of other types (i8, u8, f64; f16 and bf16 are converted by the caller); as PoolKernels::max. Plain loops,
// but for 8 bits without indices.
bool max_pool(Elem type, const void* x, void* y, int64_t* indices, int64_t planes, const PoolShape& shape,
              bool column_major);

}  // namespace trunnion::kernels
