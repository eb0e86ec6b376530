// Convolution on planes of bfloat16: the rows of A are output pixels, whose taps are copied one behind the other.
#include <algorithm>
#include <cstring>

#include "kernels/conv_geometry.h"
#include "kernels/conv_walk.h"
#include "kernels/gemm_split.h"

namespace trunnion::kernels {
namespace {

int64_t row_length(const ConvShape& s) { return conv_taps(s) * s.cin; }

// Floats for the zeros that padding reads, and 8-byte words for the taps and their pointers.
struct Tables {
  int64_t zeros, words;
};
Tables tables_of(const ConvShape& s) {
  return {conv_round_up(s.cin, 16), conv_round_up(s.kernel[0] + s.kernel[1] + s.kernel[2] + conv_taps(s), 8)};
}

struct Pixels {
  const ConvShape& s;
  const TapWalk<float> walk;
  const float** pointers;

  static void gather(const void* context, int64_t row, float* out) {
    const Pixels& p = *static_cast<const Pixels*>(context);
    const int64_t width = p.walk.lines.x.outputs(), taps = conv_taps(p.s);
    p.walk.point(row / width, row % width, 1, 1, p.pointers);
    for (int64_t t = 0; t < taps; ++t, out += p.s.cin)
      std::memcpy(out, p.pointers[t], static_cast<size_t>(p.s.cin) * sizeof(float));
  }
};

}  // namespace

bool conv_split_fits(const ConvShape& s) {
  return split_unit() && !s.transposed && s.groups == 1 && split_fits(row_length(s), s.cout);
}

void conv_split_plan(ConvPlan& plan, int threads) {
  const ConvShape& s = plan.shape;
  const int64_t k = row_length(s);
  plan.packed_size = split_packed_b_size(k, s.cout, s.bf16) / 2;
  plan.pack_units = split_panel_count(s.cout);
  const Tables t = tables_of(s);
  plan.scratch_size =
      static_cast<size_t>(t.zeros) * sizeof(float) + static_cast<size_t>(t.words) * 8 + split_scratch_size(k, s.bf16);
  const GemmGrid grid = split_grid(s.batch * conv_out_pixels(s), s.cout, k, threads);
  plan.row_step = grid.row_step;
  plan.row_tiles = grid.row_tiles;
  plan.col_step = grid.col_step;
  plan.col_tiles = grid.col_tiles;
  plan.tiles = grid.count();
}

void conv_split_pack(const ConvPlan& plan, const float* weights, int64_t panel, float* packed) {
  const ConvShape& s = plan.shape;
  split_pack_b_taps(weights, conv_taps(s), s.cin, s.cout, s.bf16, panel, reinterpret_cast<uint16_t*>(packed));
}

void conv_split_tile(const ConvPlan& plan, const ConvArgs& args, int64_t tile, void* scratch) {
  const ConvShape& s = plan.shape;
  const Tables t = tables_of(s);
  auto* zeros = static_cast<float*>(scratch);
  auto* words = reinterpret_cast<int64_t*>(zeros + t.zeros);
  const int64_t firsts = s.kernel[0] + s.kernel[1] + s.kernel[2];
  std::fill_n(zeros, s.cin, 0.0f);
  const Pixels pixels{
      s, {s, 0, args.x, args.x_pixel_stride, zeros, words}, reinterpret_cast<const float**>(words + firsts)};
  SplitGemmArgs g;
  g.m = s.batch * conv_out_pixels(s);
  g.n = s.cout;
  g.k = row_length(s);
  g.planes = s.bf16;
  g.gather = Pixels::gather;
  g.context = &pixels;
  g.packed_b = reinterpret_cast<const uint16_t*>(args.packed);
  g.c = args.y;
  g.ldc = args.y_pixel_stride;
  g.epilogue = args.epilogue;
  g.epilogue.bias_row = nullptr;
  const int64_t row = tile / plan.col_tiles * plan.row_step, col = tile % plan.col_tiles * plan.col_step;
  split_gemm_tile(*split_unit(), g, row, std::min(row + plan.row_step, g.m), col, std::min(col + plan.col_step, g.n),
                  words + t.words);
}

}  // namespace trunnion::kernels
