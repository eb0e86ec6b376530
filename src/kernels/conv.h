// fp32 convolution and transposed convolution, channels last, 1 to 3 spatial dimensions, cut into tiles.
// Order of use: conv_plan (pure, cheap), conv_pack once per weight, conv_tile for each tile on any thread.
// The bits of a result depend on the shape, on the rung and on whether pixels are contiguous, never on the tiles.
// Nothing here allocates. Small groups share a GEMM, with zeros between them: an infinity in one group may come out as
// NaN in its neighbours.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/epilogue.h"

namespace trunnion::kernels {

// x is [batch, in..., cin], y is [batch, out..., cout]. Unused trailing dimensions need not be set.
// The padding behind the input follows from `out`: whatever lies outside of the input is zero.
struct ConvShape {
  int rank = 2;             // spatial dimensions, 1 to 3
  bool transposed = false;  // ConvTranspose
  int64_t batch = 1, cin = 0, cout = 0, groups = 1;
  int64_t in[3] = {1, 1, 1};
  int64_t out[3] = {1, 1, 1};
  int64_t kernel[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1};
  int64_t dilation[3] = {1, 1, 1};
  int64_t pad_begin[3] = {0, 0, 0};
  int winograd = 0;  // 2 or 4: F(2x2) or F(4x4) of a shape that conv_winograd_fits; decides the order of packed weights
  int bf16 =
      0;  // planes of bfloat16 that factors may be split into (gemm_bf16.h, gemm_split.h), if the CPU gains by it
};

// Whether a convolution can run as Winograd: 3x3 over two dimensions, stride 1, one group, a vector of channels at
// least on both sides. An infinity or NaN of x then spoils all outputs of its tile.
bool conv_winograd_fits(const ConvShape& shape);

enum class ConvAlgorithm : unsigned char {
  gemm,      // 1x1, stride 1: pixels are the rows of A
  indirect,  // implicit GEMM over pointers per (pixel, tap)
  direct,    // depthwise and small groups: vectorised over output channels
  subpixel,  // transposed: one implicit GEMM per output phase
  winograd,  // fewer multiplications for 3x3, where the shape asks for it
  split,     // implicit GEMM on planes of bfloat16
};

// Everything that follows from the shape and the rung. `tiles` depends on `threads` too, the rest does not.
struct ConvPlan {
  // Always rank 3: lower ranks got leading dimensions of 1. bf16 is left only where it is done; cin counts pairs of
  // channels then, but for `split`.
  ConvShape shape;
  int64_t channels_in = 0;  // of x
  bool rounds_x = false;    // conv_tile wants x as conv_round_x makes it
  int64_t x_stride = 0;     // floats from pixel to pixel of that
  ConvAlgorithm algorithm = ConvAlgorithm::indirect;
  int64_t packed_size = 0;  // floats of packed weights, 64-byte aligned memory
  int64_t pack_units = 0;   // how many parts conv_pack can be split into
  size_t scratch_size = 0;  // bytes for one running tile, 64-byte aligned memory
  int64_t tiles = 0;

  // Private to the implementation.
  int64_t group_step = 1;    // groups that share one GEMM, block-diagonal
  int64_t merged = 1;        // innermost taps that are read as one segment when the pixels of x are contiguous
  int64_t chunk_blocks = 1;  // row blocks whose pointers fit the scratch
  int64_t row_step = 0, row_tiles = 0;
  int64_t col_step = 0, col_tiles = 0;
  int64_t block_tiles = 0;  // Winograd: tiles of the picture whose planes fit the scratch
};

// The shape must be valid: all sizes >= 1 (batch and out may be 0), channels divisible by groups.
ConvPlan conv_plan(const ConvShape& shape, int threads);

// Packs units [unit_begin, unit_end) of ONNX weights: [cout, cin/groups, kernel...] for Conv,
// [cin, cout/groups, kernel...] for ConvTranspose. `packed` is the address of unit 0.
void conv_pack(const ConvPlan& plan, const float* weights, int64_t unit_begin, int64_t unit_end, float* packed);

struct ConvArgs {
  const float* x = nullptr;
  int64_t x_pixel_stride = 0;  // floats from pixel to pixel, >= cin: x may be a slice of more channels
  const float* packed = nullptr;
  float* y = nullptr;
  int64_t y_pixel_stride = 0;  // floats from pixel to pixel, >= cout: y may be a slice of a concatenation
  Epilogue epilogue;           // bias_col has cout entries, residual_ld is its pixel stride, bias_row is not used
};

// Rounds pixels [begin, end) of x to pairs of bfloat16, plan.x_stride floats a pixel, for plans with rounds_x.
void conv_round_x(const ConvPlan& plan, const float* x, int64_t x_pixel_stride, int64_t begin, int64_t end, float* out);

// Computes tiles [tile_begin, tile_end); scratch belongs to this call alone.
void conv_tile(const ConvPlan& plan, const ConvArgs& args, int64_t tile_begin, int64_t tile_end, void* scratch);

}  // namespace trunnion::kernels
