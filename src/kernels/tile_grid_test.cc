#include "kernels/tile_grid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace trunnion::kernels {
namespace {

TileWork product(int64_t m, int64_t panels, int64_t k) {
  TileWork w;
  w.rows = m;
  w.cols = panels;
  w.cell = 32.0 * static_cast<double>(k);
  w.row_read = w.col_read = 3.0 * static_cast<double>(k);
  w.row_block = 14;
  w.row_block_extra = 1;
  return w;
}

// The most cells that any of `threads` threads gets when it takes tiles one after another.
double largest_share(const TileWork& w, const TileGrid& g, int threads) {
  std::vector<double> load(static_cast<size_t>(threads));
  for (int64_t r = 0; r < g.row_tiles; ++r) {
    for (int64_t c = 0; c < g.col_tiles; ++c) {
      const int64_t rows = std::min(g.row_step, w.rows - r * g.row_step);
      const int64_t cols = std::min(g.col_step, w.cols - c * g.col_step);
      *std::min_element(load.begin(), load.end()) += static_cast<double>(rows * cols);
    }
  }
  return *std::max_element(load.begin(), load.end()) / static_cast<double>(w.rows * w.cols);
}

TEST(TileGrid, CoversTheRectangle) {
  for (int threads : {1, 2, 3, 8, 64}) {
    for (int64_t m : {1, 7, 49, 196, 5000}) {
      for (int64_t panels : {1, 3, 12, 129}) {
        for (int64_t most : {int64_t{5}, int64_t{224}, INT64_MAX}) {
          TileWork w = product(m, panels, 512);
          w.most_rows = most;
          const TileGrid g = cut_into_tiles(w, threads);
          EXPECT_GE(g.row_step * g.row_tiles, m);
          EXPECT_LT(g.row_step * (g.row_tiles - 1), m);
          EXPECT_GE(g.col_step * g.col_tiles, panels);
          EXPECT_LT(g.col_step * (g.col_tiles - 1), panels);
          EXPECT_LE(g.row_step, most);
          if (threads == 1) {
            EXPECT_EQ(g.col_tiles, 1);
            EXPECT_EQ(g.row_tiles, (m - 1) / std::min(most, m) + 1);
          }
        }
      }
    }
  }
}

TEST(TileGrid, NothingToDo) {
  EXPECT_EQ(cut_into_tiles(product(0, 4, 4), 2).count(), 0);
  EXPECT_EQ(cut_into_tiles(product(4, 0, 4), 2).count(), 0);
}

TEST(TileGrid, LittleWorkStaysTogether) { EXPECT_EQ(cut_into_tiles(product(4, 4, 16), 8).count(), 1); }

// Layers of CNNs: 14x14 and 7x7 pictures, where three tiles for two threads would leave one of them idle.
TEST(TileGrid, ThreadsGetEqualShares) {
  for (const auto& [m, panels, k] :
       {std::tuple{196, 12, 64}, {196, 2, 384}, {49, 10, 960}, {49, 40, 320}, {784, 6, 32}}) {
    const TileWork w = product(m, panels, k);
    for (int threads : {2, 3, 4}) {
      const TileGrid g = cut_into_tiles(w, threads);
      EXPECT_GT(g.count(), 1);
      EXPECT_LE(largest_share(w, g, threads), 1.25 / threads) << m << "x" << panels << "x" << k << ", " << threads;
    }
  }
}

// A tile of a largest size must not leave a ragged last round when the work is long enough to be cut evenly.
TEST(TileGrid, LimitedTilesFeedAllThreads) {
  TileWork w = product(1000, 4, 4096);
  w.most_rows = 224;
  EXPECT_LE(largest_share(w, cut_into_tiles(w, 2), 2), 0.53);
}

}  // namespace
}  // namespace trunnion::kernels
