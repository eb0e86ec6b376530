#include "kernels/broadcast.h"

#include <initializer_list>

#include "kernels/rung_test.h"

namespace trunnion::kernels {
namespace {

using Dims = std::vector<int64_t>;

bool plan_of(const std::vector<Dims>& shapes, BroadcastPlan& plan) {
  const int64_t* dims[3];
  int ranks[3];
  for (size_t i = 0; i < shapes.size(); ++i) dims[i] = shapes[i].data(), ranks[i] = static_cast<int>(shapes[i].size());
  return broadcast_plan(static_cast<int>(shapes.size()), dims, ranks, plan);
}

// The offset of input `shape` for the flat output index, the slow way.
int64_t offset_of(const Dims& shape, const Dims& out, int64_t flat) {
  int64_t offset = 0, stride = 1;
  for (size_t k = 0; k < out.size(); ++k) {
    const int64_t index = flat % out[out.size() - 1 - k];
    flat /= out[out.size() - 1 - k];
    if (k >= shape.size()) continue;
    const int64_t own = shape[shape.size() - 1 - k];
    if (own != 1) offset += index * stride;
    stride *= own;
  }
  return offset;
}

TEST(Broadcast, OffsetsMatchTheDefinition) {
  const std::vector<std::pair<std::vector<Dims>, Dims>> cases = {
      {{{2, 3, 4}, {2, 3, 4}}, {2, 3, 4}},
      {{{2, 3, 4}, {}}, {2, 3, 4}},
      {{{}, {}}, {}},
      {{{2, 3, 4, 5}, {3, 1, 1}}, {2, 3, 4, 5}},
      {{{2, 1, 4, 1}, {3, 1, 5}}, {2, 3, 4, 5}},
      {{{5}, {2, 3, 5}}, {2, 3, 5}},
      {{{7, 1}, {1, 6}}, {7, 6}},
      {{{1, 1, 1}, {1}}, {1, 1, 1}},
      {{{2, 1, 3}, {1, 4, 1}, {4, 3}}, {2, 4, 3}},
      {{{3, 1, 2, 1, 2}, {1, 2, 1, 2, 1}}, {3, 2, 2, 2, 2}},
  };
  for (const auto& [shapes, out] : cases) {
    BroadcastPlan plan;
    ASSERT_TRUE(plan_of(shapes, plan));
    int64_t elements = 1;
    for (int64_t d : out) elements *= d;
    ASSERT_EQ(plan.elements, elements);
    for (int64_t step : {int64_t{1}, int64_t{5}, elements}) {
      int64_t seen = 0;
      for (int64_t begin = 0; begin < elements; begin += step) {
        const int64_t end = std::min(begin + step, elements);
        broadcast_rows(plan, begin, end, [&](const int64_t* offset, int64_t at, int64_t n) {
          ASSERT_EQ(at, seen);
          for (int64_t k = 0; k < n; ++k) {
            for (size_t i = 0; i < shapes.size(); ++i) {
              ASSERT_EQ(offset[i] + k * plan.inner_stride(static_cast<int>(i)), offset_of(shapes[i], out, at + k));
            }
          }
          seen += n;
        });
      }
      EXPECT_EQ(seen, elements);
    }
  }
}

TEST(Broadcast, MergesDimensions) {
  BroadcastPlan plan;
  ASSERT_TRUE(plan_of({{2, 3, 4}, {2, 3, 4}}, plan));
  EXPECT_EQ(plan.rank, 1);
  EXPECT_EQ(plan.shape(), BinaryShape::vector_vector);
  ASSERT_TRUE(plan_of({{2, 3, 4, 5}, {3, 1, 1}}, plan));
  EXPECT_EQ(plan.rank, 3);
  EXPECT_EQ(plan.inner(), 20);
  EXPECT_EQ(plan.shape(), BinaryShape::vector_scalar);
  ASSERT_TRUE(plan_of({{}, {8, 8}}, plan));
  EXPECT_EQ(plan.rank, 1);
  EXPECT_EQ(plan.shape(), BinaryShape::scalar_vector);
}

TEST(Broadcast, RefusesAndEmpty) {
  BroadcastPlan plan;
  EXPECT_FALSE(plan_of({{2, 3}, {2, 4}}, plan));
  EXPECT_FALSE(plan_of({{-1}, {1}}, plan));
  EXPECT_FALSE(plan_of({{0, 3}, {2, 3}}, plan));
  EXPECT_FALSE(plan_of({{int64_t{1} << 40, 1}, {1, int64_t{1} << 40}}, plan));
  ASSERT_TRUE(plan_of({{0, 3}, {1, 3}}, plan));
  EXPECT_EQ(plan.elements, 0);
  broadcast_rows(plan, 0, 0, [](const int64_t*, int64_t, int64_t) { FAIL(); });
  const int64_t big[] = {4, 3}, small[] = {3};
  const int64_t* shapes[] = {big};
  const int ranks[] = {2};
  EXPECT_FALSE(broadcast_plan_to(1, shapes, ranks, small, 1, plan));
}

TEST(Broadcast, BinaryWhereAndCopy) {
  BroadcastPlan plan;
  ASSERT_TRUE(plan_of({{2, 1, 3}, {4, 1}}, plan));
  const int32_t a[] = {1, 2, 3, 4, 5, 6}, b[] = {10, 20, 30, 40};
  std::vector<int32_t> y(24), split(24);
  const BinaryFn add = binary(BinaryOp::add, Elem::i32, plan.shape());
  broadcast_binary(plan, 0, 24, add, a, b, y.data(), 4, 4);
  for (int i = 0; i < 24; ++i) EXPECT_EQ(y[static_cast<size_t>(i)], a[i / 12 * 3 + i % 3] + b[i / 3 % 4]);
  for (int64_t at = 0; at < 24; at += 7) {
    broadcast_binary(plan, at, std::min<int64_t>(at + 7, 24), add, a, b, split.data(), 4, 4);
  }
  EXPECT_EQ(split, y);

  ASSERT_TRUE(plan_of({{2, 1}, {3}, {2, 3}}, plan));
  const bool condition[] = {true, false};
  const int16_t t[] = {1, 2, 3}, f[] = {-1, -2, -3, -4, -5, -6};
  int16_t w[6];
  broadcast_where(plan, 0, 6, condition, t, f, w, 2);
  EXPECT_EQ(std::vector<int16_t>(w, w + 6), (std::vector<int16_t>{1, 2, 3, -4, -5, -6}));

  const int64_t in_shape[] = {2, 1}, out_shape[] = {2, 2, 3};
  const int64_t* shapes[] = {in_shape};
  const int ranks[] = {2};
  ASSERT_TRUE(broadcast_plan_to(1, shapes, ranks, out_shape, 3, plan));
  const double v[] = {1.5, 2.5};
  double out[12];
  broadcast_copy(plan, 0, 12, v, out, 8);
  for (int i = 0; i < 12; ++i) EXPECT_EQ(out[i], v[i / 3 % 2]);
}

}  // namespace
}  // namespace trunnion::kernels
