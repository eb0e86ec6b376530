// 8-bit integer convolution: an implicit GEMM over pointers into x where the micro-kernel reads bytes and a tap is a
// multiple of four of them, over gathered rows elsewhere; depthwise by a kernel of its own.
#include "kernels/conv_int8.h"

#include <cstring>

#include "kernels/conv_int8_depthwise.h"
#include "kernels/conv_walk.h"
#include "kernels/gemm.h"
#include "kernels/gemm_int8_driver.h"

namespace trunnion::kernels {
namespace {

constexpr int64_t kChunkBytes = 128 << 10;  // aim for the pointers or gathered rows of one chunk

struct Group {
  int64_t cin, n, k;
};
Group group_of(const ConvShape& s) { return {s.cin / s.groups, s.cout / s.groups, s.cin / s.groups * conv_taps(s)}; }

int64_t row_stride(const Int8MicroTable& t, int64_t k) { return int8_groups(t, k) * 4 + 64; }

// Bytes of weights of one group, so that each begins at a multiple of 64.
int64_t group_bytes(const Int8MicroTable& t, const Group& g) {
  return int8_round_up(int8_packed_size(t, g.k, g.n), 64);
}

struct ScratchParts {
  size_t pointers, firsts, outside, rows, size;
};
ScratchParts scratch_parts(const Int8MicroTable& t, const ConvInt8Plan& plan) {
  const ConvShape& s = plan.shape;
  const int64_t slots = plan.chunk_blocks * kInt8RowSlots;
  ScratchParts p{};
  size_t at = 0;
  const auto take = [&at](int64_t bytes) {
    const size_t begin = at;
    at += static_cast<size_t>(int8_round_up(bytes, 64));
    return begin;
  };
  p.pointers = take(slots * conv_taps(s) * 8);
  p.firsts = take((s.kernel[0] + s.kernel[1] + s.kernel[2]) * 8);
  p.outside = take(s.cin);
  p.rows = take(plan.copied ? slots * row_stride(t, group_of(s).k) : 0);
  p.size = at;
  return p;
}

// Everything a tile needs while it goes over its chunks of pixels.
class TileRun {
 public:
  TileRun(const ConvInt8Plan& plan, const ConvInt8Args& args, void* scratch)
      : plan_(plan),
        args_(args),
        s_(plan.shape),
        t_(int8_micro_table()),
        group_(group_of(s_)),
        parts_(scratch_parts(t_, plan)),
        base_(static_cast<unsigned char*>(scratch)),
        walk_(s_, 0, static_cast<const unsigned char*>(args.x), args.x_pixel_stride, base_ + parts_.outside,
              reinterpret_cast<int64_t*>(base_ + parts_.firsts)),
        pointers_(reinterpret_cast<const unsigned char**>(base_ + parts_.pointers)) {
    std::memset(base_ + parts_.outside, args.x_zero & 255, static_cast<size_t>(s_.cin));
  }

  void run(int64_t row_begin, int64_t row_end, int64_t col_begin, int64_t col_end) {
    if (row_begin >= row_end) return;
    const int64_t rows = row_end - row_begin, count = int8_ceil_div(rows, t_.max_rows);
    const int64_t chunks = int8_ceil_div(count, plan_.chunk_blocks);
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      const int64_t last = even_part_begin(count, chunks, chunk + 1);
      blocks_ = 0;
      for (int64_t i = even_part_begin(count, chunks, chunk); i < last; ++i) {
        const int64_t begin = row_begin + even_part_begin(rows, count, i);
        add_block(begin, row_begin + even_part_begin(rows, count, i + 1) - begin);
      }
      if (s_.groups == 1) {
        run_group(0, col_begin, col_end);
      } else {
        for (int64_t g = col_begin; g < col_end; ++g) run_group(g, 0, group_.n);
      }
    }
  }

 private:
  void add_block(int64_t pixel, int64_t count) {
    const int64_t width = s_.out[2];
    firsts_[blocks_] = pixel;
    block_[blocks_].count = static_cast<int>(count);
    const unsigned char** rows = pointers_ + blocks_ * conv_taps(s_) * kInt8RowSlots;
    ++blocks_;
    for (int64_t line = pixel / width, j = pixel % width; count > 0; ++line, j = 0) {
      const int64_t n = width - j < count ? width - j : count;
      walk_.point(line, j, n, kInt8RowSlots, rows);
      rows += n;
      count -= n;
    }
  }

  void run_group(int64_t g, int64_t col_begin, int64_t col_end) {
    const int64_t taps = conv_taps(s_), stride = row_stride(t_, group_.k);
    const int32_t zero = args_.x_zero + int8_a_shift(t_, args_.x_signed);
    const int32_t* w_zero = args_.w_zero && args_.w_zero_per_channel ? args_.w_zero + g * group_.n : args_.w_zero;
    const bool has_w_zero = int8_has_b_zero(t_, w_zero, args_.w_zero_per_channel, group_.n, args_.w_signed);
    for (int i = 0; i < kInt8RowSlots; ++i) a_zero_[i] = zero;
    unsigned char* copy = base_ + parts_.rows;
    for (int b = 0; b < blocks_; ++b) {
      Int8Block& block = block_[b];
      const unsigned char** rows = pointers_ + b * taps * kInt8RowSlots;
      block.rows = plan_.copied ? copied_ + b * kInt8RowSlots : rows;
      block.c = args_.y + firsts_[b] * args_.y_pixel_stride + g * group_.n;
      block.a_zero = a_zero_;
      block.row_terms = has_w_zero ? row_terms_ + b * kInt8RowSlots : nullptr;
      for (int i = 0; i < block.count && (plan_.copied || has_w_zero); ++i) {
        uint32_t sum = 0;
        int64_t at = 0;
        for (int64_t t = 0; t < taps;) {
          const unsigned char* from = rows[t * kInt8RowSlots + i] + g * group_.cin;
          int64_t count = group_.cin;  // taps side by side are taken together
          for (++t; t < taps && rows[t * kInt8RowSlots + i] + g * group_.cin == from + count; ++t) count += group_.cin;
          if (plan_.copied) at = int8_copy_values(t_, from, args_.x_signed, 1, count, copy, at);
          if (has_w_zero) sum += static_cast<uint32_t>(int8_sum(from, args_.x_signed, 1, count));
        }
        row_terms_[b * kInt8RowSlots + i] =
            static_cast<int32_t>(sum - static_cast<uint32_t>(group_.k) * static_cast<uint32_t>(args_.x_zero));
        if (plan_.copied) {
          int8_finish_row(t_, copy, at);
          copied_[b * kInt8RowSlots + i] = copy;
          copy += stride;
        }
      }
    }
    Int8Run run;
    run.blocks = block_;
    run.block_count = blocks_;
    run.segments = plan_.copied ? 1 : taps;
    run.groups = int8_groups(t_, plan_.copied ? group_.k : group_.cin);
    run.a_offset = plan_.copied ? 0 : g * group_.cin;
    run.a_signed = args_.x_signed;
    run.b_signed = args_.w_signed;
    run.packed = static_cast<const char*>(args_.packed) + g * group_bytes(t_, group_);
    run.k = group_.k;
    run.n = group_.n;
    run.col_begin = col_begin;
    run.col_end = col_end;
    run.ldc = args_.y_pixel_stride;
    run.b_zero = w_zero;
    run.b_zero_per_col = args_.w_zero_per_channel;
    int8_run_blocks(t_, run);
  }

  const ConvInt8Plan& plan_;
  const ConvInt8Args& args_;
  const ConvShape& s_;
  const Int8MicroTable& t_;
  const Group group_;
  const ScratchParts parts_;
  unsigned char* const base_;
  const TapWalk<unsigned char> walk_;
  const unsigned char** const pointers_;
  int blocks_ = 0;
  Int8Block block_[kInt8Blocks];
  int64_t firsts_[kInt8Blocks];
  int32_t a_zero_[kInt8RowSlots];
  int32_t row_terms_[kInt8Blocks * kInt8RowSlots];
  const unsigned char* copied_[kInt8Blocks * kInt8RowSlots];
};

}  // namespace

ConvInt8Plan conv_int8_plan(const ConvShape& shape, int threads) {
  ConvInt8Plan plan;
  plan.shape = conv_with_rank_3(shape);
  const ConvShape& s = plan.shape;
  const Int8MicroTable& t = int8_micro_table();
  const Group group = group_of(s);
  const int64_t pixels = s.batch * conv_out_pixels(s), lines = s.batch * s.out[0] * s.out[1];
  if (s.groups > 1 && group.cin == 1 && group.n == 1) {
    plan.depthwise = true;
    plan.packed_size = group.k * s.cout * static_cast<int64_t>(sizeof(int16_t));
    plan.pack_units = conv_taps(s);
    plan.scratch_size = static_cast<size_t>(int8_round_up(conv_taps(s) * 16, 64));
    if (int8_depthwise_by_four()) {
      plan.packed_size = int8_depthwise_packed_size(s);
      plan.pack_units = int8_depthwise_pack_units(s);
      plan.scratch_size = static_cast<size_t>(int8_depthwise_scratch_size(s));
    }
    if (pixels == 0) return plan;
    TileWork work;
    work.rows = lines;
    work.cols = 1;
    // A multiply-add costs about as much as a fp32 one in a product; elsewhere a quarter of it.
    work.cell = static_cast<double>(pixels / lines) * static_cast<double>(s.cout) * static_cast<double>(group.k);
    const TileGrid grid = cut_into_tiles(work, threads);
    plan.row_step = grid.row_step;
    plan.row_tiles = grid.row_tiles;
    plan.col_step = s.cout;
    plan.col_tiles = 1;
    plan.tiles = plan.row_tiles;
    return plan;
  }
  plan.copied = !t.bytes || group.cin % 4 != 0;
  plan.packed_size = group_bytes(t, group) * s.groups;
  plan.pack_units = s.groups * int8_ceil_div(group.n, t.width);
  const int64_t row = conv_taps(s) * 8 + (plan.copied ? row_stride(t, group.k) : 0);
  const int64_t blocks = kChunkBytes / (row * kInt8RowSlots);
  plan.chunk_blocks = blocks < 1 ? 1 : blocks > kInt8Blocks ? kInt8Blocks : blocks;
  plan.scratch_size = scratch_parts(t, plan).size;
  if (pixels == 0) return plan;
  const GemmGrid grid = gemm_grid(pixels, s.groups == 1 ? s.cout : 1,
                                  s.groups == 1 ? group.k / 4 + 1 : group.k * s.cout / 4 + 1, threads);
  plan.row_step = grid.row_step;
  plan.row_tiles = grid.row_tiles;
  plan.col_step = s.groups > 1 ? s.groups : grid.col_tiles == 1 ? s.cout : int8_round_up(grid.col_step, t.width);
  plan.col_tiles = s.groups > 1 ? 1 : int8_ceil_div(s.cout, plan.col_step);
  plan.tiles = plan.row_tiles * plan.col_tiles;
  return plan;
}

void conv_int8_pack(const ConvInt8Plan& plan, const void* weights, bool w_signed, int64_t unit_begin, int64_t unit_end,
                    void* packed) {
  const ConvShape& s = plan.shape;
  const Int8MicroTable& t = int8_micro_table();
  const int64_t taps = conv_taps(s);
  const Group group = group_of(s);
  const int64_t panels = int8_ceil_div(group.n, t.width);
  const uint8_t* w = static_cast<const uint8_t*>(weights);
  for (int64_t unit = unit_begin; unit < unit_end; ++unit) {
    if (plan.depthwise && int8_depthwise_by_four()) {
      int8_depthwise_pack(s, w, w_signed, unit, packed);
      continue;
    }
    if (plan.depthwise) {
      int16_t* out = static_cast<int16_t*>(packed) + unit * s.cout;
      for (int64_t c = 0; c < s.cout; ++c) {
        const uint8_t byte = w[c * taps + unit];
        out[c] = w_signed ? static_cast<int8_t>(byte) : static_cast<int16_t>(byte);
      }
      continue;
    }
    const int64_t g = unit / panels;
    Int8SourceB source;
    source.b = w + g * group.n * group.k;
    source.is_signed = w_signed;
    source.outer_count = taps;
    source.outer_stride = 1;
    source.inner_count = group.cin;
    source.inner_stride = taps;
    source.n_stride = group.k;
    int8_pack_panel(t, source, group.n, unit % panels, static_cast<char*>(packed) + g * group_bytes(t, group));
  }
}

void conv_int8_tile(const ConvInt8Plan& plan, const ConvInt8Args& args, int64_t tile_begin, int64_t tile_end,
                    void* scratch) {
  for (int64_t tile = tile_begin; tile < tile_end; ++tile) {
    const ConvShape& s = plan.shape;
    const int64_t row = tile / plan.col_tiles * plan.row_step, col = tile % plan.col_tiles * plan.col_step;
    if (plan.depthwise) {
      const int64_t lines = s.batch * s.out[0] * s.out[1];
      const auto run = int8_depthwise_by_four() ? conv_int8_depthwise_by_four : conv_int8_depthwise;
      run(s, args, row, row + plan.row_step < lines ? row + plan.row_step : lines, scratch);
      continue;
    }
    const int64_t pixels = s.batch * conv_out_pixels(s), cols = s.groups > 1 ? s.groups : s.cout;
    TileRun run(plan, args, scratch);
    run.run(row, row + plan.row_step < pixels ? row + plan.row_step : pixels, col,
            col + plan.col_step < cols ? col + plan.col_step : cols);
  }
}

ConvInt8Region conv_int8_region(const ConvInt8Plan& plan, int64_t tile) {
  const ConvShape& s = plan.shape;
  const int64_t row = tile / plan.col_tiles * plan.row_step, col = tile % plan.col_tiles * plan.col_step;
  const int64_t unit = plan.depthwise ? s.out[2] : 1;  // pixels of a row
  const int64_t last = s.batch * conv_out_pixels(s);
  const int64_t end = (row + plan.row_step) * unit;
  ConvInt8Region r{row * unit, end < last ? end : last, 0, s.cout};
  if (s.groups == 1) {
    r.channel_begin = col;
    r.channel_end = col + plan.col_step < s.cout ? col + plan.col_step : s.cout;
  }
  return r;
}

}  // namespace trunnion::kernels
