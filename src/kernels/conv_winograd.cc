// Winograd convolution F(m x m, 3 x 3): tiles of the picture are transformed into a * a planes (a = m + 2), each plane
// is one GEMM with its transformed weights, and the sums are transformed back into m * m pixels. Planes of a block of
// tiles stay in the second-level cache; columns go through in groups of panels.
#include <algorithm>

#include "kernels/conv_geometry.h"
#include "kernels/gemm.h"
#include "kernels/gemm_pack.h"
#include "kernels/transpose.h"
#include "kernels/winograd.h"

namespace trunnion::kernels {
namespace {

constexpr int64_t kBlockBytes = 512 << 10;  // aim for the planes of one block of tiles: half of a second level cache
constexpr int64_t kGroupPanels = 2;         // panels of columns that go through the planes together
constexpr int64_t kPackChannels = 16;       // input channels whose weights are transformed at a time

const WinogradTransforms& transforms(const ConvShape& s) {
  return s.winograd == 2 ? winograd_table().two : winograd_table().four;
}

struct Planes {
  int64_t count;                      // a * a
  int64_t row, sum_row;               // floats from tile to tile
  int64_t stride, sum_stride;         // floats from plane to plane
  int64_t blocks;                     // row blocks of a full block of tiles
  size_t sums, partial, zeros, size;  // offsets in bytes; the planes are first
};

// Rows and planes are kept from standing a multiple of 4 KB apart: they would share their cache sets.
Planes planes_of(const ConvPlan& plan) {
  const ConvShape& s = plan.shape;
  const GemmMicroTable& table = gemm_micro_table();
  Planes p{};
  const int64_t a = s.winograd + 2;
  p.count = a * a;
  p.row = s.cin % 256 == 0 ? s.cin + 16 : s.cin;
  p.sum_row = kGroupPanels * table.width;
  p.stride = conv_round_up(plan.block_tiles * p.row, 16) + 16;
  p.sum_stride = plan.block_tiles * p.sum_row + 16;
  size_t at = 0;
  const auto take = [&at](int64_t floats) {
    const size_t begin = at;
    at += static_cast<size_t>(conv_round_up(floats, 16)) * sizeof(float);
    return begin;
  };
  // GEMM addresses its result from column 0, which may lie before the group: there must be so much memory.
  take(std::max(p.count * p.stride, s.cout));
  p.sums = take(p.count * p.sum_stride);
  p.partial = take(partial_size(table, {1, s.cin}));
  p.zeros = take(s.cin);
  p.size = at;
  return p;
}

struct OutputTiles {
  int64_t y, x;
  int64_t count() const { return y * x; }
};
OutputTiles tile_grid(const ConvShape& s) {
  return {conv_ceil_div(s.out[1], s.winograd), conv_ceil_div(s.out[2], s.winograd)};
}

class BlockOfTiles {
 public:
  BlockOfTiles(const ConvPlan& plan, const ConvArgs& args, void* scratch)
      : args_(args),
        s_(plan.shape),
        table_(gemm_micro_table()),
        transforms_(transforms(s_)),
        planes_(planes_of(plan)),
        grid_(tile_grid(s_)),
        values_(static_cast<float*>(scratch)),
        sums_(reinterpret_cast<float*>(static_cast<char*>(scratch) + planes_.sums)),
        zeros_(reinterpret_cast<float*>(static_cast<char*>(scratch) + planes_.zeros)) {
    std::fill_n(zeros_, s_.cin, 0.0f);
    run_.blocks = blocks_;
    run_.k = {1, s_.cin};
    run_.n = s_.cout;
    run_.ldc = planes_.sum_row;
    run_.epilogue = &plain_;
    run_.partial = reinterpret_cast<float*>(static_cast<char*>(scratch) + planes_.partial);
  }

  void run(int64_t tile_begin, int64_t tile_end, int64_t col_begin, int64_t col_end) {
    for (int64_t t = tile_begin; t < tile_end; ++t) gather(t, values_ + (t - tile_begin) * planes_.row);
    const int64_t rows = tile_end - tile_begin;
    const int max_rows = table_.max_rows;
    run_.block_count = static_cast<int>(conv_ceil_div(rows, max_rows));
    const int64_t group = kGroupPanels * table_.width;
    const int64_t weights_plane = packed_b_size(table_, s_.cin, s_.cout);
    for (int64_t col = col_begin; col < col_end; col += group) {
      run_.col_begin = col;
      run_.col_end = std::min(col + group, col_end);
      for (int64_t i = 0; i < planes_.count; ++i) {
        run_.packed_b = args_.packed + i * weights_plane;
        run_.a_offset = i * planes_.stride;
        for (int b = 0; b < run_.block_count; ++b) {
          const int64_t row = even_part_begin(rows, run_.block_count, b);
          const int64_t next = even_part_begin(rows, run_.block_count, b + 1);
          for (int64_t r = row; i == 0 && r < next; ++r) rows_[b * kRowSlots + r - row] = values_ + r * planes_.row;
          blocks_[b] = {rows_ + b * kRowSlots, sums_ + i * planes_.sum_stride + row * planes_.sum_row - col, nullptr,
                        nullptr, static_cast<int>(next - row)};
        }
        run_blocks(table_, run_);
      }
      for (int64_t t = tile_begin; t < tile_end; ++t)
        scatter(t, sums_ + (t - tile_begin) * planes_.sum_row, col, run_.col_end - col);
    }
  }

 private:
  void gather(int64_t tile, float* to) const {
    const int64_t m = s_.winograd, a = m + 2;
    const int64_t image = tile / grid_.count(), within = tile % grid_.count();
    const int64_t y0 = within / grid_.x * m - s_.pad_begin[1], x0 = within % grid_.x * m - s_.pad_begin[2];
    const float* x[kMostWinogradPixels];
    for (int64_t i = 0; i < a; ++i) {
      const int64_t y = y0 + i;
      const float* line = args_.x + (image * s_.in[1] + y) * s_.in[2] * args_.x_pixel_stride;
      for (int64_t j = 0; j < a; ++j) {
        const bool inside = y >= 0 && y < s_.in[1] && x0 + j >= 0 && x0 + j < s_.in[2];
        x[i * a + j] = inside ? line + (x0 + j) * args_.x_pixel_stride : zeros_;
      }
    }
    transforms_.input(x, s_.cin, to, planes_.stride);
  }

  void scatter(int64_t tile, const float* sums, int64_t col, int64_t cols) const {
    const int64_t m = s_.winograd;
    const int64_t image = tile / grid_.count(), within = tile % grid_.count();
    const int64_t y0 = within / grid_.x * m, x0 = within % grid_.x * m;
    int64_t pixels[kMostWinogradOutputs];
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < m; ++j) {
        const int64_t y = y0 + i, x = x0 + j;
        pixels[i * m + j] = y < s_.out[1] && x < s_.out[2] ? (image * s_.out[1] + y) * s_.out[2] + x : -1;
      }
    }
    WinogradOutput out;
    out.sums = sums;
    out.plane = planes_.sum_stride;
    out.col = col;
    out.cols = cols;
    out.pixels = pixels;
    out.y = args_.y;
    out.y_pixel_stride = args_.y_pixel_stride;
    out.epilogue = &args_.epilogue;
    transforms_.output(out);
  }

  const ConvArgs& args_;
  const ConvShape& s_;
  const GemmMicroTable& table_;
  const WinogradTransforms& transforms_;
  const Planes planes_;
  const OutputTiles grid_;
  float* const values_;
  float* const sums_;
  float* const zeros_;
  const Epilogue plain_;
  BlockRun run_;
  RowBlock blocks_[kBlocksPerRun];
  const float* rows_[kBlocksPerRun * kRowSlots];
};

}  // namespace

bool conv_winograd_fits(const ConvShape& shape) {
  const ConvShape s = conv_with_rank_3(shape);
  const int64_t lanes = gemm_micro_table().lanes;
  if (s.transposed || s.groups != 1 || s.kernel[0] != 1 || s.in[0] != s.out[0] || s.pad_begin[0] != 0) return false;
  for (int i = 0; i < 3; ++i) {
    if (s.stride[i] != 1 || s.dilation[i] != 1 || (i > 0 && s.kernel[i] != 3)) return false;
  }
  return s.cin >= lanes && s.cout >= lanes;
}

void conv_winograd_plan(ConvPlan& plan, int threads) {
  const ConvShape& s = plan.shape;
  const GemmMicroTable& table = gemm_micro_table();
  const int64_t a = s.winograd + 2;
  plan.packed_size = a * a * packed_b_size(table, s.cin, s.cout);
  plan.pack_units = gemm_panel_count(s.cout);

  const int64_t images = s.batch * s.in[0], tiles = images * tile_grid(s).count();
  const int64_t tile_bytes = a * a * (s.cin + kGroupPanels * table.width) * static_cast<int64_t>(sizeof(float));
  const int64_t fitting = kBlockBytes / tile_bytes / table.max_rows * table.max_rows;
  const int64_t most = std::clamp<int64_t>(fitting, 2 * table.max_rows, kBlocksPerRun * table.max_rows);
  const int64_t width = kGroupPanels * table.width;
  TileWork work;
  work.rows = tiles;
  work.cols = conv_ceil_div(s.cout, width);
  const auto planes = static_cast<double>(a * a * s.cin);
  work.cell = planes * static_cast<double>(width);
  work.cell_moved = static_cast<double>(3 * s.winograd * s.winograd * width);
  work.row_read = 8.0 * planes;  // each piece of the columns transforms the pixels anew
  work.col_read = 5.0 * work.cell;
  work.row_block = table.max_rows;
  work.row_block_extra = 1.0;
  work.most_rows = most;
  const TileGrid grid = cut_into_tiles(work, threads);
  plan.row_tiles = std::max<int64_t>(1, grid.row_tiles);
  plan.row_step = std::max<int64_t>(1, grid.row_step);
  plan.block_tiles = plan.row_step;
  plan.scratch_size = planes_of(plan).size;
  plan.col_step = grid.col_step * width;
  plan.col_tiles = grid.col_tiles;
  plan.tiles = grid.count();
}

void conv_winograd_pack(const ConvPlan& plan, const float* weights, int64_t panel, float* packed) {
  const ConvShape& s = plan.shape;
  const GemmMicroTable& table = gemm_micro_table();
  const int64_t panels = gemm_panel_count(s.cout), col = panel * table.width;
  const int64_t width = panel + 1 < panels ? table.width : last_panel_width(table, s.cout);
  const int64_t cols = std::min(width, s.cout - col), plane = packed_b_size(table, s.cin, s.cout);
  alignas(64) float taps[kPackChannels * 9 * 64] = {};  // [input channel][tap][width]
  for (int64_t ci = 0; ci < s.cin; ci += kPackChannels) {
    const int64_t channels = std::min(kPackChannels, s.cin - ci);
    transpose_2d_f32(weights + (col * s.cin + ci) * 9, s.cin * 9, taps, width, cols, channels * 9);
    for (int64_t i = 0; i < channels; ++i)
      transforms(s).weights(taps + i * 9 * width, width, packed + col * s.cin + (ci + i) * width, plane);
  }
}

void conv_winograd_tile(const ConvPlan& plan, const ConvArgs& args, int64_t tile, void* scratch) {
  const ConvShape& s = plan.shape;
  const int64_t tiles = s.batch * s.in[0] * tile_grid(s).count();
  const int64_t row = tile / plan.col_tiles * plan.row_step, col = tile % plan.col_tiles * plan.col_step;
  BlockOfTiles(plan, args, scratch)
      .run(row, std::min(row + plan.row_step, tiles), col, std::min(col + plan.col_step, s.cout));
}

}  // namespace trunnion::kernels
