#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

TEST(Split, LengthsAsInput) {
  const auto y = outputs({.op = "Split",
                          .inputs = {tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6}), tensor<int64_t>({3}, {1, 0, 2})},
                          .attrs = {{"axis", int64_t{-1}}},
                          .outputs = 3});
  EXPECT_EQ(values<float>(y[0]), (Floats{1, 4}));
  EXPECT_EQ(shape(y[1]), (Ints{2, 0}));
  EXPECT_EQ(values<float>(y[2]), (Floats{2, 3, 5, 6}));
}

TEST(Split, EqualParts) {
  const Tensor x = tensor<float>({7}, {1, 2, 3, 4, 5, 6, 7});
  auto y = outputs({.op = "Split", .inputs = {x}, .attrs = {{"num_outputs", int64_t{3}}}, .outputs = 3});
  EXPECT_EQ(values<float>(y[0]), (Floats{1, 2, 3}));
  EXPECT_EQ(values<float>(y[2]), (Floats{7}));
  EXPECT_NE(failure({.op = "Split", .opset = 13, .inputs = {x}, .outputs = 3}).find("7"), std::string::npos);
  y = outputs({.op = "Split", .opset = 2, .inputs = {x}, .attrs = {{"split", Ints{5, 2}}}, .outputs = 2});
  EXPECT_EQ(values<float>(y[1]), (Floats{6, 7}));
  y = outputs({.op = "Split", .opset = 1, .inputs = {x, tensor<float>({2}, {1, 6})}, .outputs = 2});
  EXPECT_EQ(values<float>(y[0]), (Floats{1}));
}

TEST(Split, Refuses) {
  const Tensor x = tensor<float>({4}, {1, 2, 3, 4});
  failure({.op = "Split", .inputs = {x, tensor<int64_t>({2}, {1, 2})}, .outputs = 2});
  failure({.op = "Split", .inputs = {x, tensor<int64_t>({2}, {5, -1})}, .outputs = 2});
  failure({.op = "Split", .inputs = {x, tensor<int64_t>({1}, {4})}, .outputs = 2});
  failure({.op = "Split", .inputs = {x}, .attrs = {{"axis", int64_t{1}}, {"num_outputs", int64_t{2}}}, .outputs = 2});
  failure({.op = "Split", .inputs = {x}, .attrs = {{"num_outputs", int64_t{3}}}, .outputs = 2});
}

TEST(Split, Symbols) {
  const OpRun op{.op = "Split", .attrs = {{"num_outputs", int64_t{2}}}, .outputs = 2};
  EXPECT_EQ(inferred(op, {fact({4, symbol("N")})}, 1), "{2,N}");
  EXPECT_EQ(inferred({.op = "Split", .outputs = 2}, {fact({symbol("N"), 3}), content_fact({2, symbol("M")})}, 1),
            "{M,3}");
  EXPECT_EQ(content({.op = "Split", .outputs = 2}, {content_fact({1, 2, symbol("N")}), content_fact({1, 2})}, 1),
            "{2,N}");
}

}  // namespace
}  // namespace trunnion::ops::test
