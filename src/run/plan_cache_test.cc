// The plan cache: found by shapes, the least recently used goes, followers go with what they follow.
#include "run/plan_cache.h"

#include "run/test_program.h"

namespace trunnion::run::test {
namespace {

PlanCache::SegmentPtr segment() { return std::make_shared<plan::Segment>(); }

// A key of one vector of n floats and something that is no tensor.
class Key {
 public:
  explicit Key(int64_t n, int kind = 2) : dims_{n}, kind_(kind) {}
  operator KeyItems() const { return {2, item_}; }

 private:
  KeyItem item(size_t i) const { return i == 0 ? KeyItem{&view_, 0} : KeyItem{nullptr, kind_}; }
  int64_t dims_[1];
  int kind_;
  TensorView view_{DType::f32, 1, dims_, 0, nullptr};
  struct Call {
    const Key* key;
    KeyItem operator()(size_t i) const { return key->item(i); }
  } item_{this};
};

TEST(PlanCache, FindsByShapeTypeAndKind) {
  PlanCache cache;
  EXPECT_EQ(cache.find(nullptr, Key(3)), nullptr);
  const auto a = cache.add(nullptr, Key(3), segment());
  const auto b = cache.add(nullptr, Key(4), segment());
  EXPECT_EQ(cache.find(nullptr, Key(3)), a);
  EXPECT_EQ(cache.find(nullptr, Key(4)), b);
  EXPECT_EQ(cache.find(nullptr, Key(3, 1)), nullptr);
  EXPECT_EQ(cache.find(a.get(), Key(3)), nullptr);
  EXPECT_EQ(cache.add(nullptr, Key(3), segment()), a);  // another thread was faster
  EXPECT_EQ(cache.roots(), 2u);
}

TEST(PlanCache, KeysThatBeginAlikeAreNotTheSame) {
  PlanCache cache;
  const int64_t dims[] = {2, 3};
  const TensorView flat{DType::f32, 1, dims, 2, nullptr}, deep{DType::f32, 2, dims, 6, nullptr};
  const auto of = [](const TensorView& v) { return [&v](size_t) { return KeyItem{&v, 0}; }; };
  const auto one = of(flat), two = of(deep);
  const auto a = cache.add(nullptr, {1, one}, segment());
  EXPECT_EQ(cache.find(nullptr, {1, two}), nullptr);
  EXPECT_EQ(cache.find(nullptr, {2, one}), nullptr);
  EXPECT_EQ(cache.find(nullptr, {1, one}), a);
}

TEST(PlanCache, TheLeastRecentlyUsedGoes) {
  PlanCache cache;
  const auto first = cache.add(nullptr, Key(0), segment());
  const auto second = cache.add(nullptr, Key(1), segment());
  for (int64_t n = 2; n < static_cast<int64_t>(PlanCache::kMaxRoots); ++n) cache.add(nullptr, Key(n), segment());
  EXPECT_EQ(cache.find(nullptr, Key(0)), first);  // used again
  cache.add(nullptr, Key(1000), segment());
  EXPECT_EQ(cache.roots(), PlanCache::kMaxRoots);
  EXPECT_EQ(cache.find(nullptr, Key(1)), nullptr);
  EXPECT_EQ(cache.find(nullptr, Key(0)), first);
  EXPECT_EQ(second.use_count(), 1);  // ours
}

TEST(PlanCache, LargePlansAreFew) {
  PlanCache cache;
  const int64_t dims[] = {1 << 20};
  for (int64_t n = 0; n < 20; ++n) {
    auto large = std::make_shared<plan::Segment>();
    auto t = Tensor::allocate(DType::u8, dims);
    ASSERT_TRUE(t.ok());
    large->constants.push_back(std::move(t).value());
    cache.add(nullptr, Key(n), large);
    EXPECT_LE(cache.bytes(), PlanCache::kLeastRoots * ((size_t{1} << 20) + 1000));
  }
  EXPECT_GE(cache.roots(), PlanCache::kLeastRoots - 1);
  EXPECT_NE(cache.find(nullptr, Key(19)), nullptr);
  EXPECT_EQ(cache.find(nullptr, Key(0)), nullptr);
}

TEST(PlanCache, FollowersGoWithWhatTheyFollow) {
  PlanCache cache;
  auto root = cache.add(nullptr, Key(0), segment());
  auto child = cache.add(root, Key(1), segment());
  auto grandchild = cache.add(child, Key(1), segment());
  EXPECT_EQ(cache.find(root.get(), Key(1)), child);
  EXPECT_EQ(cache.find(child.get(), Key(1)), grandchild);
  EXPECT_EQ(cache.followers(), 2u);
  for (int64_t n = 1; n <= static_cast<int64_t>(PlanCache::kMaxRoots); ++n) cache.add(nullptr, Key(n), segment());
  EXPECT_EQ(cache.followers(), 0u);
  EXPECT_EQ(grandchild.use_count(), 1);

  root = cache.add(nullptr, Key(5000), segment());
  for (int64_t n = 0; n < 1000; ++n) cache.add(root, Key(n), segment());
  EXPECT_EQ(cache.followers(), PlanCache::kMaxFollowers);
}

}  // namespace
}  // namespace trunnion::run::test
