// Implicit-GEMM convolution: the rows of A are output pixels, reached through pointers per (pixel, tap) that are built
// for a few blocks of pixels at a time. A transposed convolution is one such GEMM per output phase (sub-pixel split).
// With few input channels the innermost taps of a pixel are read as one segment; pixels at the border are then copied.
#include <algorithm>
#include <cstring>

#include "kernels/conv_geometry.h"
#include "kernels/conv_walk.h"
#include "kernels/gemm.h"
#include "kernels/gemm_bf16_table.h"
#include "kernels/gemm_pack.h"

namespace trunnion::kernels {
namespace {

constexpr int64_t kPointerBytes = 128 << 10, kCopyFloats = 64 << 10;  // aims for the tables of one chunk
constexpr int64_t kMergeBelow = 64;  // input channels from which a tap is long enough for a segment of its own
constexpr int kAliasedRows = 8;      // as in gemm.cc: pixels a multiple of 4 KB apart share their cache sets

// All offsets in bytes.
struct ScratchParts {
  size_t pointers, firsts, zeros, copies, partial, size;
};

ScratchParts scratch_parts(const ConvPlan& plan) {
  const ConvShape& s = plan.shape;
  const GemmMicroTable& table = gemm_micro_table();
  const int64_t segments = most_taps(s, 0) * most_taps(s, 1) * most_taps(s, 2);
  const int64_t slots = plan.chunk_blocks * kRowSlots;
  ScratchParts p{};
  size_t at = 0;
  const auto take = [&at](int64_t bytes) {
    const size_t begin = at;
    at += static_cast<size_t>(conv_round_up(bytes, 64));
    return begin;
  };
  p.pointers = take(slots * segments * 8);
  p.firsts = take((s.kernel[0] + s.kernel[1] + s.kernel[2]) * 8);
  p.zeros = take(s.cin * plan.merged * 4);
  p.copies = take(plan.merged > 1 ? slots * segments * s.cin * 4 : 0);
  const int64_t k = segments * conv_gemm(plan).cin;
  p.partial = take(k > kKBlock ? partial_size(table, {1, k}) * 4 : 0);
  p.size = at;
  return p;
}

class TileRun {
 public:
  TileRun(const ConvPlan& plan, const ConvArgs& args, int64_t phase, void* scratch)
      : plan_(plan),
        args_(args),
        s_(plan.shape),
        table_(s_.bf16 != 0 ? bf16_table()->micro : gemm_micro_table()),
        parts_(scratch_parts(plan)),
        base_(static_cast<char*>(scratch)),
        walk_(s_, phase, args.x, args.x_pixel_stride, reinterpret_cast<float*>(base_ + parts_.zeros),
              reinterpret_cast<int64_t*>(base_ + parts_.firsts)) {
    pointers_ = reinterpret_cast<const float**>(base_ + parts_.pointers);
    std::memset(base_ + parts_.zeros, 0, static_cast<size_t>(s_.cin * plan.merged) * sizeof(float));
    copies_ = reinterpret_cast<float*>(base_ + parts_.copies);
    merged_ = plan.merged > 1 && args.x_pixel_stride == s_.cin;
    segments_ = walk_.z.count * walk_.y.count * (merged_ ? 1 : walk_.x.count);
    flat_ = !s_.transposed || conv_phases(s_) == 1;
    const int64_t pitch = walk_.lines.x.advance() * args.x_pixel_stride;
    max_rows_ = pitch % 1024 == 0 && table_.max_rows > kAliasedRows ? kAliasedRows : table_.max_rows;

    run_.blocks = blocks_;
    run_.ldc = args.y_pixel_stride * walk_.lines.x.step();
    run_.residual_ld = args.epilogue.residual_ld * walk_.lines.x.step();
    run_.partial = reinterpret_cast<float*>(base_ + parts_.partial);
  }

  // Rows of this phase: pixels if they follow each other in memory, else lines of pixels.
  int64_t rows() const {
    const int64_t lines = s_.batch * walk_.lines.z.outputs() * walk_.lines.y.outputs();
    return flat_ ? lines * walk_.lines.x.outputs() : lines;
  }

  void run(int64_t row_begin, int64_t row_end, int64_t col_begin, int64_t col_end) {
    const int64_t width = walk_.lines.x.outputs();
    if (row_begin >= row_end || width == 0) return;
    if (flat_) {
      const int64_t rows = row_end - row_begin, count = conv_ceil_div(rows, max_rows_);
      const int64_t chunks = conv_ceil_div(count, plan_.chunk_blocks);
      for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        const int64_t last = even_part_begin(count, chunks, chunk + 1);
        for (int64_t i = even_part_begin(count, chunks, chunk); i < last; ++i) {
          const int64_t begin = row_begin + even_part_begin(rows, count, i);
          add_block(begin / width, begin % width, row_begin + even_part_begin(rows, count, i + 1) - begin);
        }
        flush(col_begin, col_end);
      }
      return;
    }
    const int64_t per_line = conv_ceil_div(width, max_rows_);
    for (int64_t line = row_begin; line < row_end; ++line) {
      for (int64_t i = 0; i < per_line; ++i) {
        if (run_.block_count == plan_.chunk_blocks) flush(col_begin, col_end);
        const int64_t begin = even_part_begin(width, per_line, i);
        add_block(line, begin, even_part_begin(width, per_line, i + 1) - begin);
      }
    }
    flush(col_begin, col_end);
  }

 private:
  void add_block(int64_t line, int64_t j, int64_t count) {
    RowBlock& block = blocks_[run_.block_count];
    const float** rows = pointers_ + run_.block_count * segments_ * kRowSlots;
    ++run_.block_count;
    const int64_t pixel = walk_.out_pixel(line, j);
    block.rows = rows;
    block.count = static_cast<int>(count);
    block.c = args_.y + pixel * args_.y_pixel_stride;
    block.residual = args_.epilogue.residual ? args_.epilogue.residual + pixel * args_.epilogue.residual_ld : nullptr;
    while (count > 0) {
      const int64_t rest = walk_.lines.x.outputs() - j, n = rest < count ? rest : count;
      if (merged_) {
        point_merged(line, j, n, rows);
      } else {
        walk_.point(line, j, n, kRowSlots, rows);
      }
      rows += n;
      count -= n;
      j = 0;
      ++line;
    }
  }

  // Pointers of n neighbouring pixels of a line where all taps along x are one segment.
  void point_merged(int64_t line, int64_t j, int64_t n, const float** rows) {
    const int64_t advance = walk_.lines.x.advance(), count = walk_.x.count;
    const int64_t x = walk_.x.at[0] + j * advance, step = advance * s_.cin;
    // Pixels [whole, behind) see the input with all taps.
    const int64_t whole = x < 0 ? std::min(n, conv_ceil_div(-x, advance)) : 0;
    const int64_t reach = s_.in[2] - count - x;
    const int64_t behind = reach < 0 ? whole : std::max(whole, std::min(n, reach / advance + 1));
    for (int64_t a = 0; a < walk_.z.count; ++a) {
      for (int64_t b = 0; b < walk_.y.count; ++b, rows += kRowSlots) {
        const float* in = walk_.input_line(line, walk_.z.at[a], walk_.y.at[b]);
        if (!in) {
          for (int64_t i = 0; i < n; ++i) rows[i] = walk_.outside;
          continue;
        }
        for (int64_t i = 0; i < whole; ++i) rows[i] = copy_border(in, x + i * advance);
        const float* at = in + x * s_.cin + whole * step;
        for (int64_t i = whole; i < behind; ++i, at += step) rows[i] = at;
        for (int64_t i = behind; i < n; ++i) rows[i] = copy_border(in, x + i * advance);
      }
    }
  }

  // The segment of a pixel at column x of an input line, some of whose taps are padding.
  const float* copy_border(const float* in, int64_t x) {
    const int64_t count = walk_.x.count;
    if (x + count <= 0 || x >= s_.in[2]) return walk_.outside;
    const int64_t before = x < 0 ? -x : 0, end = std::min(count, s_.in[2] - x);
    float* to = copies_ + copied_ * count * s_.cin;
    ++copied_;
    std::memset(to, 0, static_cast<size_t>(before * s_.cin) * sizeof(float));
    std::memcpy(to + before * s_.cin, in + (x + before) * s_.cin,
                static_cast<size_t>((end - before) * s_.cin) * sizeof(float));
    std::memset(to + end * s_.cin, 0, static_cast<size_t>((count - end) * s_.cin) * sizeof(float));
    return to;
  }

  // Computes the blocks gathered so far; columns are groups when there are several.
  void flush(int64_t col_begin, int64_t col_end) {
    if (run_.block_count == 0) return;
    const ConvGemm gemm = conv_gemm(plan_);
    const int64_t taps = walk_.z.count * walk_.y.count * walk_.x.count;
    const float* weights =
        args_.packed + packed_b_size(table_, 1, gemm.n) * gemm.cin * gemm.groups * taps_before(s_, walk_.lines);
    run_.k = {segments_, merged_ ? walk_.x.count * s_.cin : gemm.cin};
    run_.n = gemm.n;
    Epilogue epilogue = args_.epilogue;
    epilogue.bias_row = nullptr;
    run_.epilogue = &epilogue;
    if (gemm.groups == 1) {
      run_.packed_b = weights;
      run_.col_begin = col_begin;
      run_.col_end = col_end;
      run_blocks(table_, run_);
    } else {
      run_.col_begin = 0;
      run_.col_end = gemm.n;
      for (int64_t g = col_begin; g < col_end; ++g) {
        run_.packed_b = weights + packed_b_size(table_, 1, gemm.n) * gemm.cin * taps * g;
        run_.a_offset = g * gemm.cin;
        epilogue.bias_col = args_.epilogue.bias_col ? args_.epilogue.bias_col + g * gemm.n : nullptr;
        const int64_t move = g == col_begin ? g * gemm.n : gemm.n;
        for (int i = 0; i < run_.block_count; ++i) {
          blocks_[i].c += move;
          if (blocks_[i].residual) blocks_[i].residual += move;
        }
        run_blocks(table_, run_);
      }
    }
    run_.block_count = 0;
    run_.fetch_b = gemm.n * taps * gemm.cin * gemm.groups > kNearFloats;
    copied_ = 0;
  }

  const ConvPlan& plan_;
  const ConvArgs& args_;
  const ConvShape& s_;
  const GemmMicroTable& table_;
  const ScratchParts parts_;
  char* const base_;
  const TapWalk<float> walk_;
  const float** pointers_;
  float* copies_;
  int64_t copied_ = 0;
  bool merged_, flat_;
  int64_t segments_;
  int max_rows_;
  BlockRun run_;
  RowBlock blocks_[kBlocksPerRun];
};

}  // namespace

void conv_indirect_plan(ConvPlan& plan, int threads) {
  const ConvShape& s = plan.shape;
  const GemmMicroTable& table = gemm_micro_table();
  const ConvGemm gemm = conv_gemm(plan);
  const int64_t segments = most_taps(s, 0) * most_taps(s, 1) * most_taps(s, 2), k = segments * gemm.cin;
  const bool mergeable = !s.transposed && s.groups == 1 && s.kernel[2] > 1 && s.dilation[2] == 1;
  plan.merged = mergeable && s.cin < kMergeBelow ? s.kernel[2] : 1;
  int64_t blocks = kPointerBytes / (segments * kRowSlots * 8);
  if (plan.merged > 1 && blocks > kCopyFloats / (kRowSlots * k)) blocks = kCopyFloats / (kRowSlots * k);
  plan.chunk_blocks = blocks < 1 ? 1 : blocks > kBlocksPerRun ? kBlocksPerRun : blocks;
  plan.scratch_size = scratch_parts(plan).size;

  const int64_t phases = conv_phases(s), pixels = s.batch * conv_out_pixels(s);
  if (pixels == 0) return;
  const int64_t cols = gemm.groups > 1 ? gemm.groups : gemm.n;
  // Phases are cut by lines, and groups are never cut in two.
  const int64_t lines = s.batch * conv_ceil_div(s.out[0], s.transposed ? s.stride[0] : 1) *
                        conv_ceil_div(s.out[1], s.transposed ? s.stride[1] : 1);
  const int64_t rows = phases == 1 ? pixels : lines, unit = gemm.groups > 1 ? gemm.n : table.width;
  TileWork work = product_work(table, rows, gemm.n, k, unit);
  if (phases > 1) {
    const double line = static_cast<double>(pixels) / static_cast<double>(phases * lines);
    work.cell *= line;
    work.row_read *= line;
    work.row_block = 1;
    work.row_block_extra = 1.0 / line;
  }
  if (gemm.groups > 1) {
    work.cols = gemm.groups;
    work.row_read = 0;  // each group has channels of its own
    work.cell += 3.0 * static_cast<double>(k);
  }
  const TileGrid grid = cut_into_tiles(work, static_cast<int>(conv_ceil_div(threads, phases)));
  plan.row_step = grid.row_step;
  plan.row_tiles = grid.row_tiles;
  plan.col_step = gemm.groups > 1 ? grid.col_step : grid.col_tiles == 1 ? cols : grid.col_step * unit;
  plan.col_tiles = grid.col_tiles;
  plan.tiles = phases * grid.count();
}

void conv_indirect_tile(const ConvPlan& plan, const ConvArgs& args, int64_t tile, void* scratch) {
  const ConvGemm gemm = conv_gemm(plan);
  const int64_t cols = gemm.groups > 1 ? gemm.groups : gemm.n;
  const int64_t col = tile % plan.col_tiles * plan.col_step,
                row = tile / plan.col_tiles % plan.row_tiles * plan.row_step;
  TileRun run(plan, args, tile / plan.col_tiles / plan.row_tiles, scratch);
  const int64_t row_end = row + plan.row_step, col_end = col + plan.col_step;
  run.run(row, row_end < run.rows() ? row_end : run.rows(), col, col_end < cols ? col_end : cols);
}

}  // namespace trunnion::kernels
