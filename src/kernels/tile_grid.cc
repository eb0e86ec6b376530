#include "kernels/tile_grid.h"

#include <algorithm>

namespace trunnion::kernels {
namespace {

constexpr double kTile = 20e3;   // claiming a tile and setting up its kernel
constexpr double kLoop = 150e3;  // handing a loop to other threads and waiting for the last one
// Of one tile's time: a thread that begins late or is interrupted holds the others up by as much as it has claimed.
constexpr double kLate = 0.08;
constexpr int64_t kTilesPerThread = 4;

int64_t ceil_div(int64_t a, int64_t b) { return (a - 1) / b + 1; }  // a > 0; b may be INT64_MAX

TileGrid grid_of(const TileWork& w, int64_t row_tiles, int64_t col_tiles) {
  TileGrid g;
  g.row_step = std::min(ceil_div(w.rows, row_tiles), w.most_rows);
  g.col_step = ceil_div(w.cols, col_tiles);
  g.row_tiles = ceil_div(w.rows, g.row_step);
  g.col_tiles = ceil_div(w.cols, g.col_step);
  return g;
}

double time_of(const TileWork& w, const TileGrid& g, int threads) {
  const auto rows = static_cast<double>(g.row_step), cols = static_cast<double>(g.col_step);
  const double blocks = static_cast<double>(ceil_div(g.row_step, w.row_block)) * w.row_block_extra;
  double tile = (rows + blocks) * cols * w.cell + rows * w.row_read + cols * w.col_read + kTile;
  // Rows stay with the thread that made them from operator to operator; columns bring rows together again.
  if (g.col_tiles > 1 && threads > 1) tile += rows * w.row_read + rows * cols * w.cell_moved;
  const auto rounds = static_cast<double>(ceil_div(g.count(), threads));
  return rounds * tile + (g.count() > 1 && threads > 1 ? kLoop + kLate * tile : 0.0);
}

}  // namespace

TileGrid cut_into_tiles(const TileWork& w, int threads) {
  if (w.rows <= 0 || w.cols <= 0) return {};
  const int64_t fewest_rows = ceil_div(w.rows, w.most_rows);
  TileGrid best = grid_of(w, fewest_rows, 1);
  if (threads <= 1) return best;
  double best_time = time_of(w, best, threads);
  const int64_t most_tiles = kTilesPerThread * threads;
  const auto look_at = [&](int64_t row_tiles, int64_t col_tiles) {
    const TileGrid g = grid_of(w, std::clamp(row_tiles, fewest_rows, w.rows), col_tiles);
    const double time = time_of(w, g, threads);
    if (time < best_time) {
      best = g;
      best_time = time;
    }
  };
  for (int64_t cols = 1; cols <= std::min(w.cols, most_tiles); ++cols) {
    for (int64_t tiles = 2; tiles < threads; tiles *= 2) look_at(ceil_div(tiles, cols), cols);
    for (int64_t per_thread = 1; per_thread <= kTilesPerThread; ++per_thread)
      look_at(ceil_div(per_thread * threads, cols), cols);
    // Where tiles have a largest size: the next numbers that feed all threads alike.
    look_at(ceil_div(ceil_div(fewest_rows * cols, threads) * threads, cols), cols);
    look_at(ceil_div((ceil_div(fewest_rows * cols, threads) + 1) * threads, cols), cols);
    if (fewest_rows * cols > most_tiles) break;
  }
  return best;
}

}  // namespace trunnion::kernels
