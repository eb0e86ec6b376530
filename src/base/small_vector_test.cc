#include "base/small_vector.h"

#include <gtest/gtest.h>

#include <list>
#include <vector>

namespace trunnion {
namespace {

using Small = SmallVector<int64_t, 4>;

TEST(SmallVector, GrowsFromInlineToHeap) {
  Small v;
  EXPECT_TRUE(v.empty());
  for (int64_t i = 0; i < 100; ++i) {
    v.push_back(i * i);
    EXPECT_EQ(v.is_inline(), i < 4);
  }
  EXPECT_EQ(v.size(), 100u);
  for (size_t i = 0; i < 100; ++i) EXPECT_EQ(v[i], static_cast<int64_t>(i * i));
  EXPECT_EQ(v.front(), 0);
  EXPECT_EQ(v.back(), 9801);
  v.pop_back();
  EXPECT_EQ(v.back(), 9604);
  v.clear();
  EXPECT_TRUE(v.empty());
}

TEST(SmallVector, Constructors) {
  EXPECT_EQ(Small(3), (Small{0, 0, 0}));
  EXPECT_EQ(Small(3, 7), (Small{7, 7, 7}));
  EXPECT_EQ(Small(6, 7).size(), 6u);
  std::list<int> list = {1, 2, 3, 4, 5};
  EXPECT_EQ(Small(list.begin(), list.end()), (Small{1, 2, 3, 4, 5}));
  std::vector<int64_t> vector = {9, 8};
  EXPECT_EQ(Small(std::span<const int64_t>(vector)), (Small{9, 8}));
}

TEST(SmallVector, CopyAndMove) {
  for (size_t count : {0, 3, 4, 5, 50}) {
    Small a;
    for (size_t i = 0; i < count; ++i) a.push_back(static_cast<int64_t>(i));
    Small copy(a);
    EXPECT_EQ(copy, a);
    Small moved(std::move(copy));
    EXPECT_EQ(moved, a);
    EXPECT_TRUE(copy.empty());  // NOLINT: a moved-from vector is empty by contract
    copy.push_back(1);
    EXPECT_EQ(copy, Small{1});

    Small assigned = {1, 2, 3, 4, 5, 6};
    assigned = a;
    EXPECT_EQ(assigned, a);
    assigned = *&assigned;
    EXPECT_EQ(assigned, a);
    Small taken(10, 1);
    taken = std::move(assigned);
    EXPECT_EQ(taken, a);
    EXPECT_TRUE(assigned.empty());  // NOLINT
  }
  Small list(9, 1);
  list = {5, 6};
  EXPECT_EQ(list, (Small{5, 6}));
}

TEST(SmallVector, InsertAndErase) {
  Small v = {1, 2, 4};
  EXPECT_EQ(*v.insert(v.begin() + 2, 3), 3);
  EXPECT_EQ(v, (Small{1, 2, 3, 4}));
  v.insert(v.end(), 5);
  v.insert(v.begin(), v[4]);  // by value: the source may move
  EXPECT_EQ(v, (Small{5, 1, 2, 3, 4, 5}));
  std::vector<int64_t> more = {7, 8, 9};
  v.insert(v.begin() + 1, more.begin(), more.end());
  EXPECT_EQ(v, (Small{5, 7, 8, 9, 1, 2, 3, 4, 5}));
  EXPECT_EQ(*v.erase(v.begin()), 7);
  int64_t* after = v.erase(v.begin() + 6, v.end());
  EXPECT_EQ(after, v.end());
  EXPECT_EQ(v, (Small{7, 8, 9, 1, 2, 3}));
  v.erase(v.begin(), v.begin());
  EXPECT_EQ(v.size(), 6u);
}

TEST(SmallVector, ResizeAndAssign) {
  Small v = {1, 2};
  v.resize(5, 9);
  EXPECT_EQ(v, (Small{1, 2, 9, 9, 9}));
  v.resize(1);
  EXPECT_EQ(v, (Small{1}));
  v.resize(3);
  EXPECT_EQ(v, (Small{1, 0, 0}));
  v.assign(2, 4);
  EXPECT_EQ(v, (Small{4, 4}));
  Small self = {1, 2, 3, 4, 5, 6};
  self.assign(self.begin() + 2, self.end());
  EXPECT_EQ(self, (Small{3, 4, 5, 6}));
  self.push_back(self[0]);
  self.push_back(self[0]);
  EXPECT_EQ(self.back(), 3);
}

TEST(SmallVector, ComparesAndConverts) {
  EXPECT_NE((Small{1, 2}), (Small{1, 2, 3}));
  EXPECT_LT((Small{1, 2}), (Small{1, 2, 3}));
  EXPECT_LT((Small{1, 2}), (Small{1, 3}));
  Small v = {1, 2, 3};
  std::span<const int64_t> read = v;
  EXPECT_EQ(read.size(), 3u);
  std::span<int64_t> write = v;
  write[1] = 20;
  EXPECT_EQ(v[1], 20);
}

}  // namespace
}  // namespace trunnion
