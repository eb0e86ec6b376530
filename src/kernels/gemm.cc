// fp32 GEMM: cutting C into tiles, a tile into row blocks, and the copies of A and B that a tile may need.
#include "kernels/gemm.h"

#include "kernels/gemm_driver.h"
#include "kernels/gemm_pack.h"

namespace trunnion::kernels {
namespace {

// Copied rows of A stand this far apart (floats) behind their length, so that they do not share cache sets.
constexpr int64_t kRowPad = 16;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }

int64_t longest_k_block(int64_t k) { return k < kKBlock ? k : kKBlock; }

// What the two callbacks of a run need.
struct Sources {
  const GemmMicroTable* table;
  const GemmArgs* args;
  // A: rows [row, row + rows) are copied to `a`, one K block at a time.
  float* a = nullptr;
  int64_t row = 0, rows = 0, a_stride = 0;
  int64_t copied_row = -1, copied_k = -1;
  // B: one K block of a panel group is packed to `b`.
  float* b = nullptr;
  bool b_in_place = false;  // the whole panels of it are read where they are
};

void copy_a(void* context, const KBlock& kb) {
  Sources& s = *static_cast<Sources*>(context);
  if (s.copied_row == s.row && s.copied_k == kb.k) return;
  s.copied_row = s.row;
  s.copied_k = kb.k;
  const GemmArgs& g = *s.args;
  copy_strided(g.a + s.row * g.a_row_stride + kb.offset * g.a_k_stride, g.a_row_stride, g.a_k_stride, s.rows, kb.length,
               s.a, s.a_stride);
}

BlockOfB source_b(void* context, const KBlock& kb, int64_t panel_begin, int64_t panel_end) {
  Sources& s = *static_cast<Sources*>(context);
  const GemmArgs& g = *s.args;
  const int64_t width = s.table->width;
  if (s.b_in_place && panel_end * width <= g.n) {
    return {g.b + kb.k * g.b_k_stride + panel_begin * width, width, 0, g.b_k_stride};
  }
  const int64_t panel_stride = is_narrow(g.n) ? kb.length : kb.length * width;
  pack_b_block(*s.table, g.b, g.b_k_stride, g.b_n_stride, kb.k, kb.k + kb.length, g.n, panel_begin, panel_end,
               panel_stride, s.b);
  return {s.b, panel_stride, 0};
}

// A few rows against a B that lies column by column: dot products in place. `m` decides, so the bits do not depend on
// the tile.
bool is_dot(const GemmArgs& g) {
  return !g.packed_b && g.m <= kNarrowCols && g.b_k_stride == 1 && !is_narrow(g.n) && !g.a_rows && g.a_k_stride == 1;
}

// The rows of B take the place of A's, and the other way round.
void dot_tile(const GemmMicroTable& table, const GemmArgs& args, BlockRun& run, const RowBlock& block, const float* a) {
  GemmMicroArgs g;
  g.segments = 1;
  g.b_panel_stride = args.a_row_stride;
  float sums[kNarrowCols * 64], products[kNarrowRows * kNarrowCols];
  const float* rows[kRowSlots];
  g.rows = rows;
  g.partial = products;
  const int64_t blocks = k_block_count(run.k);
  for (int64_t col = run.col_begin; col < run.col_end; col += table.width) {
    const int64_t end = col + table.width < run.col_end ? col + table.width : run.col_end;
    for (int64_t j = col; j < end; j += kNarrowRows) {
      const int count = static_cast<int>(end - j < kNarrowRows ? end - j : kNarrowRows);
      for (int i = 0; i < count; ++i) rows[i] = args.b + (j + i) * args.b_n_stride;
      for (int64_t i = 0; i < blocks; ++i) {
        const KBlock kb = k_block(run.k, i);
        g.first = i == 0;
        g.last = false;
        g.a_offset = kb.offset;
        g.length = kb.length;
        g.b = a + kb.offset;
        table.narrow[count][block.count](g);
      }
      for (int i = 0; i < count; ++i) {
        for (int r = 0; r < block.count; ++r) sums[r * table.width + j - col + i] = products[i * block.count + r];
      }
    }
    finish_sums(table, run, block, col, sums);
  }
}

// Rows a multiple of 4 KB apart share their cache sets; so many of them find room in a first-level cache of 8 ways.
constexpr int kAliasedRows = 8;

bool rows_alias(const GemmArgs& g) { return !g.a_rows && g.a_k_stride == 1 && g.a_row_stride % 1024 == 0 && g.k > 16; }

struct Scratch {
  int64_t partial, a, b;  // floats
};
Scratch scratch_parts(const GemmMicroTable& table, int64_t n, int64_t k) {
  const int64_t block = longest_k_block(k);
  const int64_t group = is_narrow(n) ? n : int64_t{kPanelGroup} * table.width;
  return {round_up(partial_size(table, {1, k}), 16),
          round_up(int64_t{kBlocksPerRun} * table.max_rows * (block + kRowPad), 16), round_up(group * block, 16)};
}

}  // namespace

int64_t gemm_panel_width() { return gemm_micro_table().width; }

int64_t gemm_panel_count(int64_t n) { return ceil_div(n, gemm_micro_table().width); }

int64_t gemm_packed_b_size(int64_t k, int64_t n) { return packed_b_size(gemm_micro_table(), k, n); }

void gemm_pack_b(const float* b, int64_t k_stride, int64_t n_stride, int64_t k, int64_t n, int64_t panel_begin,
                 int64_t panel_end, float* packed) {
  const GemmMicroTable& table = gemm_micro_table();
  pack_b_block(table, b, k_stride, n_stride, 0, k, n, panel_begin, panel_end, is_narrow(n) ? k : k * table.width,
               packed + panel_begin * k * table.width);
}

size_t gemm_scratch_size(int64_t n, int64_t k) {
  const Scratch s = scratch_parts(gemm_micro_table(), n, k);
  return static_cast<size_t>(s.partial + s.a + s.b) * sizeof(float);
}

GemmGrid gemm_grid(int64_t m, int64_t n, int64_t k, int threads) {
  const GemmMicroTable& table = gemm_micro_table();
  // Few rows take four panels at once.
  const int64_t unit = m <= table.wide_rows ? int64_t{kPanelGroup} * table.width : table.width;
  GemmGrid grid = cut_into_tiles(product_work(table, m, n, k, unit), threads);
  grid.col_step = grid.col_tiles == 1 ? n : grid.col_step * unit;
  return grid;
}

void gemm_tile(const GemmArgs& args, int64_t row_begin, int64_t row_end, int64_t col_begin, int64_t col_end,
               void* scratch) {
  if (row_begin >= row_end || col_begin >= col_end) return;
  const GemmMicroTable& table = gemm_micro_table();
  const Scratch parts = scratch_parts(table, args.n, args.k);
  Sources sources;
  sources.table = &table;
  sources.args = &args;
  sources.a = static_cast<float*>(scratch) + parts.partial;
  sources.b = sources.a + parts.a;
  sources.a_stride = longest_k_block(args.k) + kRowPad;

  BlockRun run;
  run.k = {1, args.k};
  run.n = args.n;
  run.packed_b = args.packed_b;
  run.col_begin = col_begin;
  run.col_end = col_end;
  run.ldc = args.ldc;
  run.residual_ld = args.epilogue.residual_ld;
  run.epilogue = &args.epilogue;
  run.partial = static_cast<float*>(scratch);
  run.context = &sources;
  if (!args.packed_b) {
    run.source_b = &source_b;
    sources.b_in_place = args.b_n_stride == 1 && !is_narrow(args.n) && row_end - row_begin <= kDirectRows &&
                         row_end - row_begin <= table.max_rows;
    run.whole_panels_apart = sources.b_in_place;
  }
  const bool copy = !args.a_rows && args.a_k_stride != 1;
  if (copy) run.copy_a = &copy_a;

  const Epilogue& e = args.epilogue;
  const float* pointers[kBlocksPerRun * kRowSlots];
  RowBlock blocks[kBlocksPerRun];
  const int most_rows = rows_alias(args) && table.max_rows > kAliasedRows ? kAliasedRows : table.max_rows;
  const int64_t rows = row_end - row_begin, block_count = ceil_div(rows, most_rows);
  const int64_t runs = ceil_div(block_count, kBlocksPerRun);
  for (int64_t r = 0; r < runs; ++r) {
    const int64_t first = even_part_begin(block_count, runs, r), last = even_part_begin(block_count, runs, r + 1);
    const int64_t run_row = row_begin + even_part_begin(rows, block_count, first);
    sources.row = run_row;
    sources.rows = row_begin + even_part_begin(rows, block_count, last) - run_row;
    for (int64_t i = first; i < last; ++i) {
      const int64_t row = row_begin + even_part_begin(rows, block_count, i);
      const float** p = pointers + (i - first) * kRowSlots;
      const int64_t row_last = row_begin + even_part_begin(rows, block_count, i + 1);
      const RowBlock& block = blocks[i - first] = row_block(p, row, row_last - row, args.c, args.ldc, e);
      for (int j = 0; j < block.count; ++j) {
        p[j] = copy          ? sources.a + (row + j - run_row) * sources.a_stride
               : args.a_rows ? args.a_rows[row + j]
                             : args.a + (row + j) * args.a_row_stride;
      }
    }
    run.fetch_b = r == 0 || args.n * args.k > kNearFloats;
    run.blocks = blocks;
    run.block_count = static_cast<int>(last - first);
    if (is_dot(args)) {
      for (int i = 0; i < run.block_count; ++i) dot_tile(table, args, run, blocks[i], blocks[i].rows[0]);
    } else {
      run_blocks(table, run);
    }
  }
}

void gemm_tile(const GemmArgs& args, const GemmGrid& grid, int64_t index, void* scratch) {
  const TileRange r = grid.range(index, args.m, args.n);
  gemm_tile(args, r.row_begin, r.row_end, r.col_begin, r.col_end, scratch);
}

}  // namespace trunnion::kernels
