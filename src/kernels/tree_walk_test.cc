// Tree walks of every rung against a walk of one row at a time.
#include "kernels/tree_walk.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "kernels/rung_test.h"

namespace trunnion::kernels {
namespace {

template <class T, class Link>
struct Forest {
  std::vector<T> threshold;
  std::vector<Link> link;
  std::vector<uint32_t> first;
  std::vector<int> steps;

  // A tree that grows at random leaves.
  void add_tree(int leaves, int features, std::mt19937& random) {
    first.push_back(static_cast<uint32_t>(threshold.size()));
    std::vector<uint32_t> open{0};
    std::vector<int> depth{0};
    std::vector<uint32_t> child{0};
    std::vector<bool> inner{false};
    int deepest = 0;
    for (int i = 1; i < leaves; ++i) {
      const size_t pick = random() % open.size();
      const uint32_t k = open[pick], next = static_cast<uint32_t>(depth.size());
      open[pick] = next;
      open.push_back(next + 1);
      inner[k] = true;
      child[k] = next;
      for (int c = 0; c < 2; ++c)
        depth.push_back(depth[k] + 1), child.push_back(next + static_cast<uint32_t>(c)), inner.push_back(false);
      deepest = std::max(deepest, depth.back());
    }
    // Breadth first.
    std::vector<uint32_t> order{0};
    std::vector<uint32_t> first_child;
    for (size_t i = 0; i < order.size(); ++i) {
      const uint32_t k = order[i];
      first_child.push_back(inner[k] ? static_cast<uint32_t>(order.size()) : static_cast<uint32_t>(i));
      if (inner[k]) order.push_back(child[k]), order.push_back(child[k] + 1);
    }
    std::normal_distribution<T> normal;
    for (size_t i = 0; i < order.size(); ++i) {
      const bool splits = inner[order[i]];
      threshold.push_back(splits ? normal(random) : std::numeric_limits<T>::quiet_NaN());
      link.push_back(tree_link<Link>(splits ? random() % static_cast<unsigned>(features) : 0, splits && random() % 2,
                                     first_child[i]));
    }
    steps.push_back(deepest);
  }
  void pad() {
    threshold.resize(threshold.size() + kTreePadding);
    link.resize(link.size() + kTreePadding);
  }

  uint32_t walk(size_t tree, const T* x) const {
    constexpr int kBits = kTreeFeatureBits<Link>;
    for (uint32_t k = 0;;) {
      const Link l = link[first[tree] + k];
      const T t = threshold[first[tree] + k], v = x[l & ((Link{1} << kBits) - 1)];
      const auto child = static_cast<uint32_t>(l >> (kBits + 1));
      if (std::isnan(t) && child == k) return k;
      k = child + ((std::isnan(v) ? (l >> kBits & 1) != 0 : v > t) ? 1u : 0u);
    }
  }
};

template <class T, class Link>
void check() {
  std::mt19937 random(3);
  const int features = 9;
  Forest<T, Link> f;
  for (int t = 0; t < 70; ++t) f.add_tree(1 + t % 37, features, random);
  f.pad();
  std::normal_distribution<T> normal;
  for (const bool nan : {false, true}) {
    for (const int64_t rows : {1, 7, 8, 15, 16, 17, 40, 64, 100}) {
      std::vector<T> x(static_cast<size_t>(rows * features));
      for (T& v : x) v = nan && random() % 4 == 0 ? std::numeric_limits<T>::quiet_NaN() : normal(random);
      std::vector<uint32_t> slot(static_cast<size_t>(rows));
      for (size_t t = 0; t < f.first.size(); ++t) {
        tree_walk<T, Link>().rows(f.threshold.data() + f.first[t], f.link.data() + f.first[t], x.data(), features, rows,
                                  f.steps[t], nan, slot.data());
        for (int64_t r = 0; r < rows; ++r) ASSERT_EQ(slot[static_cast<size_t>(r)], f.walk(t, x.data() + r * features));
      }
      std::vector<uint32_t> ends(f.first.size());
      for (const int64_t trees : {1, 5, 8, 16, 17, 33, 70}) {
        tree_walk<T, Link>().trees(f.threshold.data(), f.link.data(), f.first.data(), trees, x.data(), 36, nan,
                                   ends.data());
        for (int64_t t = 0; t < trees; ++t) {
          const auto i = static_cast<size_t>(t);
          ASSERT_EQ(ends[i] - f.first[i], f.walk(i, x.data()));
        }
      }
    }
  }
}

TEST(TreeWalk, EveryTypeAndRung) {
  for_each_rung([] {
    check<float, uint32_t>();
    check<float, uint64_t>();
    check<double, uint32_t>();
    check<double, uint64_t>();
  });
}

TEST(TreeWalk, FindsNan) {
  std::vector<float> x(37, 1.0f);
  EXPECT_FALSE(any_nan(x.data(), 37));
  x[36] = NAN;
  EXPECT_TRUE(any_nan(x.data(), 37));
  EXPECT_FALSE(any_nan(x.data(), 36));
}

}  // namespace
}  // namespace trunnion::kernels
