// Walks of decision trees: many rows through a tree, and one row through many trees.
#include <fmt/format.h>

#include <cmath>
#include <random>
#include <vector>

#include "kernels/tree_walk.h"
#include "measured.h"

namespace trunnion::bench {
namespace {

using namespace kernels;

// Full trees of some depth, breadth first.
struct Forest {
  std::vector<float> threshold;
  std::vector<uint32_t> link;
  std::vector<uint32_t> first;
};

Forest forest_of(int trees, int depth, int features) {
  Forest f;
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (int t = 0; t < trees; ++t) {
    f.first.push_back(static_cast<uint32_t>(f.threshold.size()));
    const uint32_t inner = (1u << depth) - 1, nodes = 2 * inner + 1;
    for (uint32_t i = 0; i < nodes; ++i) {
      f.threshold.push_back(i < inner ? normal(random) : NAN);
      f.link.push_back(tree_link<uint32_t>(i < inner ? random() % static_cast<unsigned>(features) : 0, false,
                                           i < inner ? 2 * i + 1 : i));
    }
  }
  f.threshold.resize(f.threshold.size() + kTreePadding);
  f.link.resize(f.link.size() + kTreePadding);
  return f;
}

// A step is taken as an operation that reads threshold, link and feature: 12 bytes.
void add_forest(int trees, int depth, int features, int64_t rows) {
  const double steps = static_cast<double>(trees) * depth * static_cast<double>(rows);
  add(fmt::format("{}x{}/{}_rows", trees, depth, rows), {0, 12 * steps}, [=] {
    const Forest f = forest_of(trees, depth, features);
    const auto x = random_floats(rows * features, -2, 2);
    const auto slots = buffer<uint32_t>(std::max<int64_t>(rows, trees));
    return [=] {
      const auto& walk = tree_walk<float, uint32_t>();
      if (rows == 1) {
        walk.trees(f.threshold.data(), f.link.data(), f.first.data(), trees, x.get(), depth, false, slots.get());
        return;
      }
      for (const uint32_t root : f.first)
        walk.rows(f.threshold.data() + root, f.link.data() + root, x.get(), features, rows, depth, false, slots.get());
    };
  });
}

}  // namespace

void suite() {
  for (const int64_t rows : {1, 100, 1000}) add_forest(100, 6, 30, rows), add_forest(500, 8, 30, rows);
  add_forest(1000, 8, 30, 1000);
}

}  // namespace trunnion::bench
