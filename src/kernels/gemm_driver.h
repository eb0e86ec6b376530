// The loops around the fp32 micro-kernels, shared by GEMM (one segment) and implicit-GEMM convolution (one per tap).
// Loop order: groups of panels; blocks of K; panels; blocks of rows. The partial sums of a group live in scratch, so C
// is written once and B is read once from far away.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/epilogue.h"
#include "kernels/gemm_microkernel.h"
#include "kernels/tile_grid.h"

namespace trunnion::kernels {

inline constexpr int kBlocksPerRun = 16;  // row blocks that share one pass over B
inline constexpr int kPanelGroup = 4;
inline constexpr int64_t kKBlock = 256;  // multiply-adds in one chain; fixed, since it decides the bits

// Floats of B that stay in the second-level cache from one pass over it to the next.
inline constexpr int64_t kNearFloats = 64 << 10;

struct KShape {
  int64_t segments = 0;
  int64_t length = 0;
  int64_t size() const { return segments * length; }
};

// Blocks follow from the shape alone. A block is a run of whole segments or a piece of one.
struct KBlock {
  int64_t segment, segments;
  int64_t offset, length;  // within each segment
  int64_t k;               // first k of the block
};
int64_t k_block_count(const KShape& k);
KBlock k_block(const KShape& k, int64_t index);

// `rows` is indexed by [segment][kRowSlots].
struct RowBlock {
  const float* const* rows = nullptr;
  float* c = nullptr;  // at column 0, like residual
  const float* residual = nullptr;
  const float* bias_row = nullptr;
  int count = 0;
};

// Rows [row, row + count) of C; what `rows` points to is the caller's business.
inline RowBlock row_block(const float* const* rows, int64_t row, int64_t count, float* c, int64_t ldc,
                          const Epilogue& e) {
  RowBlock block;
  block.rows = rows;
  block.count = static_cast<int>(count);
  block.c = c + row * ldc;
  block.residual = e.residual ? e.residual + row * e.residual_ld : nullptr;
  block.bias_row = e.bias_row ? e.bias_row + row : nullptr;
  return block;
}

// A K block of a group of panels.
struct BlockOfB {
  const float* at;       // first panel of the group
  int64_t panel_stride;  // floats; narrow: from column to column
  int64_t k;             // first k within the panels
  int64_t step = 0;      // floats from k to k + 1, or 0: packed
};

struct BlockRun {
  const RowBlock* blocks = nullptr;  // at most kBlocksPerRun
  int block_count = 0;
  KShape k;
  int64_t a_offset = 0;  // floats, added to every row pointer
  int64_t n = 0;         // columns of packed B
  const float* packed_b = nullptr;
  int64_t col_begin = 0, col_end = 0;
  int64_t ldc = 0, residual_ld = 0;
  const Epilogue* epilogue = nullptr;  // bias_col at column 0; residual and bias_row come from the blocks
  float* partial = nullptr;            // partial_size() floats
  bool fetch_b = true;                 // packed B is far away: the next panel is fetched while one is worked on

  // Optional sources, with `context`: gives one K block of the panels, packed somewhere or in place ...
  BlockOfB (*source_b)(void* context, const KBlock& block, int64_t panel_begin, int64_t panel_end) = nullptr;
  bool whole_panels_apart = false;  // asks for a partly filled last panel on its own
  // ... and makes the row pointers valid for a K block, with offset 0 within it.
  void (*copy_a)(void* context, const KBlock& block) = nullptr;
  void* context = nullptr;
};

// The work of a product for cut_into_tiles; a column is a unit of `unit` columns of B, or all of them when they are so
// few that they are dot products.
TileWork product_work(const GemmMicroTable& table, int64_t m, int64_t n, int64_t k, int64_t unit);

void run_blocks(const GemmMicroTable& table, const BlockRun& run);

// The epilogue of `run` alone, for one panel of one row block: sums is [rows][panel width].
void finish_sums(const GemmMicroTable& table, const BlockRun& run, const RowBlock& block, int64_t col, float* sums);

// Floats of partial sums for one run.
int64_t partial_size(const GemmMicroTable& table, const KShape& k);

// An N so small that B is packed by columns and the sums are dot products.
inline bool is_narrow(int64_t n) { return n <= kNarrowCols; }

// Columns that the last panel holds in memory.
inline int64_t last_panel_width(const GemmMicroTable& table, int64_t n) {
  const int64_t rest = n % table.width;
  return rest == 0 || rest > table.lanes ? table.width : table.lanes;
}

// Rows of block `index` when `rows` rows are cut into `count` nearly equal blocks, and where it begins.
inline int64_t even_part_begin(int64_t rows, int64_t count, int64_t index) {
  const int64_t base = rows / count, extra = rows % count;
  return base * index + (index < extra ? index : extra);
}

}  // namespace trunnion::kernels
