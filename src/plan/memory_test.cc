// Offsets: blocks that are taken at the same time never overlap, and what is given back is found again.
#include "plan/memory.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace trunnion::plan {
namespace {

struct Block {
  size_t offset, bytes;
};

TEST(ArenaPlanner, BlocksNeverOverlap) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    ArenaPlanner arena;
    std::vector<Block> taken;
    size_t in_use = 0;
    for (int i = 0; i < 400; ++i) {
      if (taken.empty() || random() % 5 < 3) {
        const size_t bytes = random() % 7 == 0 ? 0 : random() % 5000;
        const Block fresh{arena.take(bytes), ArenaPlanner::rounded(bytes)};
        ASSERT_EQ(fresh.offset % ArenaPlanner::kAlignment, 0u);
        ASSERT_LE(fresh.offset + fresh.bytes, arena.peak());
        for (const Block& b : taken)
          ASSERT_TRUE(fresh.offset >= b.offset + b.bytes || b.offset >= fresh.offset + fresh.bytes) << "seed " << seed;
        taken.push_back(fresh);
        in_use += fresh.bytes;
      } else {
        const size_t at = random() % taken.size();
        arena.give(taken[at].offset, taken[at].bytes);
        in_use -= taken[at].bytes;
        taken.erase(taken.begin() + static_cast<long>(at));
      }
      ASSERT_GE(arena.peak(), in_use);
    }
    // All given back, the arena is one block again.
    for (const Block& b : taken) arena.give(b.offset, b.bytes);
    const size_t peak = arena.peak();
    EXPECT_EQ(arena.take(peak), 0u);
    EXPECT_EQ(arena.peak(), peak);
  }
}

TEST(ArenaPlanner, TakesTheBestFitAndGrowsFromAFreeEnd) {
  ArenaPlanner arena;
  const size_t a = arena.take(256), b = arena.take(64), c = arena.take(128), d = arena.take(64);
  EXPECT_EQ(a, 0u);
  EXPECT_EQ(d, 448u);
  arena.give(a, 256);
  arena.give(c, 128);
  EXPECT_EQ(arena.take(100), c);  // 128 fits more closely than 256
  arena.give(d, 64);
  EXPECT_EQ(arena.take(512), d);  // 64 free bytes at the end, so only 448 more
  EXPECT_EQ(arena.peak(), 960u);
  EXPECT_EQ(arena.take(1), a);
  (void)b;
}

}  // namespace
}  // namespace trunnion::plan
