#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

TEST(Unique, Flat) {
  const Tensor x = tensor<float>({6}, {2, 1, 1, 3, 4, 3});
  auto y = outputs({.op = "Unique", .inputs = {x}, .attrs = {{"sorted", int64_t{0}}}, .outputs = 4});
  EXPECT_EQ(values<float>(y[0]), (Floats{2, 1, 3, 4}));
  EXPECT_EQ(values<int64_t>(y[1]), (Ints{0, 1, 3, 4}));
  EXPECT_EQ(values<int64_t>(y[2]), (Ints{0, 1, 1, 2, 3, 2}));
  EXPECT_EQ(values<int64_t>(y[3]), (Ints{1, 2, 2, 1}));
  y = outputs({.op = "Unique", .inputs = {x}, .outputs = 4});
  EXPECT_EQ(values<float>(y[0]), (Floats{1, 2, 3, 4}));
  EXPECT_EQ(values<int64_t>(y[1]), (Ints{1, 0, 3, 4}));
  EXPECT_EQ(values<int64_t>(y[2]), (Ints{1, 0, 0, 2, 3, 2}));
  EXPECT_EQ(values<int64_t>(y[3]), (Ints{2, 1, 2, 1}));
}

TEST(Unique, Axes) {
  auto y = outputs({.op = "Unique",
                    .inputs = {tensor<int32_t>({3, 3}, {1, 0, 0, 1, 0, 0, 2, 3, 4})},
                    .attrs = {{"axis", int64_t{0}}},
                    .outputs = 4});
  EXPECT_EQ(shape(y[0]), (Ints{2, 3}));
  EXPECT_EQ(values<int32_t>(y[0]), (std::vector<int32_t>{1, 0, 0, 2, 3, 4}));
  EXPECT_EQ(values<int64_t>(y[1]), (Ints{0, 2}));
  EXPECT_EQ(values<int64_t>(y[2]), (Ints{0, 0, 1}));
  EXPECT_EQ(values<int64_t>(y[3]), (Ints{2, 1}));
  y = outputs({.op = "Unique",
               .inputs = {tensor<float>({2, 4, 2}, {1, 1, 0, 1, 2, 1, 0, 1, 1, 1, 0, 1, 2, 1, 0, 1})},
               .attrs = {{"axis", int64_t{1}}},
               .outputs = 4});
  EXPECT_EQ(values<float>(y[0]), (Floats{0, 1, 1, 1, 2, 1, 0, 1, 1, 1, 2, 1}));
  EXPECT_EQ(values<int64_t>(y[1]), (Ints{1, 0, 2}));
  EXPECT_EQ(values<int64_t>(y[2]), (Ints{1, 0, 2, 0}));
  EXPECT_EQ(values<int64_t>(y[3]), (Ints{2, 1, 1}));
}

TEST(Unique, Edges) {
  auto y = outputs({.op = "Unique", .inputs = {tensor<float>({3}, {NAN, 1, NAN})}, .outputs = 4});
  EXPECT_EQ(shape(y[0]), (Ints{2}));
  EXPECT_EQ(values<float>(y[0])[0], 1);
  EXPECT_EQ(values<int64_t>(y[3]), (Ints{1, 2}));
  EXPECT_EQ(texts(output({.op = "Unique", .inputs = {strings({3}, {"b", "a", "b"})}})),
            (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(shape(output({.op = "Unique", .inputs = {tensor<float>({0}, {})}})), (Ints{0}));
  EXPECT_EQ(inferred({.op = "Unique", .outputs = 3}, {fact({symbol("N"), 3})}, 2), "{3*N}");
}

TEST(Unique, ComplexNumbersByTheRealPartFirst) {
  const OpRun run{
      .op = "Unique", .opset = 28, .inputs = {raw<float>(DType::c64, {4}, {2, 1, 1, 5, 2, 0, 1, 5})}, .outputs = 4};
  const auto y = outputs(run);
  EXPECT_EQ(raw_values<float>(y[0]), (Floats{1, 5, 2, 0, 2, 1}));
  EXPECT_EQ(values<int64_t>(y[1]), (Ints{1, 2, 0}));
  EXPECT_EQ(values<int64_t>(y[3]), (Ints{2, 1, 1}));
}

}  // namespace
}  // namespace trunnion::ops::test
