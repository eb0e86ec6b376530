#include "base/work_shares.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

namespace trunnion {
namespace {

TEST(WorkShares, OwnItemsInOrderThenOthersFromTheirEnd) {
  WorkShares w;
  w.reset(10, 2);
  EXPECT_EQ(w.take(1), 5);
  EXPECT_EQ(w.take(0), 0);
  for (int64_t i : {6, 7, 8, 9}) EXPECT_EQ(w.take(1), i);
  EXPECT_EQ(w.take(1), 4);
  EXPECT_EQ(w.take(0), 1);
  EXPECT_EQ(w.take(1), 3);
  EXPECT_EQ(w.take(1), 2);
  EXPECT_EQ(w.take(0), -1);
  EXPECT_EQ(w.take(1), -1);
}

TEST(WorkShares, EveryItemOnce) {
  for (int shares : {1, 2, 3, 16, 40}) {
    for (int64_t count : {0, 1, 3, 64, 1001}) {
      WorkShares w;
      w.reset(count, shares);
      std::set<int64_t> seen;
      for (int64_t i, n = 0; (i = w.take(static_cast<int>(n++ % 40))) >= 0;) EXPECT_TRUE(seen.insert(i).second);
      EXPECT_EQ(static_cast<int64_t>(seen.size()), count);
      if (count > 0) {
        EXPECT_EQ(*seen.begin(), 0);
        EXPECT_EQ(*seen.rbegin(), count - 1);
      }
    }
  }
}

TEST(WorkShares, ThreadsTakeEveryItemOnce) {
  constexpr int64_t kCount = 20000;
  for (int round = 0; round < 5; ++round) {
    WorkShares w;
    w.reset(kCount, 3);
    std::vector<int> taken(kCount);  // an item taken twice would be a race on its element
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        for (int64_t i; (i = w.take(t)) >= 0;) ++taken[static_cast<size_t>(i)];
      });
    for (auto& t : threads) t.join();
    for (int n : taken) ASSERT_EQ(n, 1);
  }
}

}  // namespace
}  // namespace trunnion
