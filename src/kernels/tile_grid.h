// How a rectangle of work is cut into tiles for threads that claim them one after another.
// Nothing here decides bits: kernels give the same results for every cut.
#pragma once
#include <cstdint>

namespace trunnion::kernels {

struct TileRange {
  int64_t row_begin, row_end, col_begin, col_end;
};

struct TileGrid {
  int64_t row_step = 0, col_step = 0;
  int64_t row_tiles = 0, col_tiles = 0;
  int64_t count() const { return row_tiles * col_tiles; }

  // What tile `index` covers of `rows` rows and `cols` columns. Neighbours in a row of tiles follow each other.
  TileRange range(int64_t index, int64_t rows, int64_t cols) const {
    const int64_t row = index / col_tiles * row_step, col = index % col_tiles * col_step;
    return {row, row + row_step < rows ? row + row_step : rows, col, col + col_step < cols ? col + col_step : cols};
  }
};

// The unit of costs is a multiply-add of the fp32 GEMM: about 1/140 ns on a core with AVX-512.
struct TileWork {
  int64_t rows = 0, cols = 0;     // in units that are never cut
  double cell = 1;                // of one row and one column
  double cell_moved = 0;          // more for a cell when columns are cut: the next operator finds it in another cache
  double row_read = 0;            // of each row of a tile, whatever its columns: reading A
  double col_read = 0;            // of each column of a tile, whatever its rows: reading B
  int64_t row_block = 1;          // rows that a kernel takes at once ...
  double row_block_extra = 0;     // ... and what beginning such a block costs, in rows
  int64_t most_rows = INT64_MAX;  // that a tile may have
};

// The cut with the shortest time until the last thread is done, counting what a tile, a shared loop and the reading of
// operands cost. One tile where sharing does not pay. Empty (no tiles) when there are no rows or no columns.
TileGrid cut_into_tiles(const TileWork& work, int threads);

}  // namespace trunnion::kernels
