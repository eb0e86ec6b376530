#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

OpRun top(Tensor x, int64_t k, std::vector<ir::Attr> attrs = {}) {
  return {.op = "TopK",
          .opset = 11,
          .inputs = {std::move(x), tensor<int64_t>({1}, {k})},
          .attrs = std::move(attrs),
          .outputs = 2};
}

TEST(TopK, ValuesAndPositions) {
  const Tensor x = tensor<float>({2, 4}, {1, 7, 7, 3, -1, -2, -3, 5});
  const auto y = outputs(top(x, 3));
  EXPECT_EQ(values<float>(y[0]), (Floats{7, 7, 3, 5, -1, -2}));
  EXPECT_EQ(values<int64_t>(y[1]), (Ints{1, 2, 3, 3, 0, 1}));
  const auto low = outputs(top(x, 2, {{"largest", int64_t{0}}}));
  EXPECT_EQ(values<float>(low[0]), (Floats{1, 3, -3, -2}));
  const auto columns = outputs(top(x, 1, {{"axis", int64_t{0}}}));
  EXPECT_EQ(values<float>(columns[0]), (Floats{1, 7, 7, 5}));
  EXPECT_EQ(values<int64_t>(columns[1]), (Ints{0, 0, 0, 1}));
}

TEST(TopK, LongRows) {
  std::vector<int32_t> v(10000);
  for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<int32_t>(i * 7919 % 10007);
  auto sorted = v;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  for (int64_t k : {5, 5000, 10000}) {
    const auto y = values<int32_t>(outputs(top(tensor<int32_t>({10000}, v), k))[0]);
    EXPECT_TRUE(std::equal(y.begin(), y.end(), sorted.begin())) << k;
  }
}

TEST(TopK, TypesAndEdges) {
  const auto nan = outputs(top(tensor<float>({3}, {1, NAN, 2}), 2));
  EXPECT_EQ(values<int64_t>(nan[1]), (Ints{1, 2}));
  EXPECT_EQ(widened(outputs(top(half({3}, {1, 3, 2}), 2))[0]), (Floats{3, 2}));
  EXPECT_EQ(values<uint64_t>(outputs(top(tensor<uint64_t>({2}, {1, ~uint64_t{0}}), 1))[0])[0], ~uint64_t{0});
  EXPECT_EQ(shape(outputs(top(tensor<float>({2, 3}, Floats(6)), 0))[0]), (Ints{2, 0}));
  EXPECT_NE(failure(top(tensor<float>({3}, {1, 2, 3}), 4)).find("K is 4, but axis 0"), std::string::npos);
  EXPECT_EQ(values<float>(outputs({.op = "TopK",
                                   .opset = 1,
                                   .inputs = {tensor<float>({3}, {1, 3, 2})},
                                   .attrs = {{"k", int64_t{1}}},
                                   .outputs = 2})[0]),
            Floats{3});
  EXPECT_EQ(
      inferred({.op = "TopK", .opset = 11, .outputs = 2}, {fact({symbol("N"), 9}), content_fact({symbol("K")})}, 1),
      "{N,K}");
}

}  // namespace
}  // namespace trunnion::ops::test
