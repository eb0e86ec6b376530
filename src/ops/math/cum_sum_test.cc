#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

const std::vector<ir::Attr> kBoth = {{"exclusive", int64_t{1}}, {"reverse", int64_t{1}}};

TEST(CumSum, Directions) {
  const Tensor x = tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(values<float>(output({.op = "CumSum", .inputs = {x, tensor<int32_t>({}, {1})}})),
            (Floats{1, 3, 6, 4, 9, 15}));
  EXPECT_EQ(values<float>(output({.op = "CumSum", .inputs = {x, tensor<int64_t>({1}, {-2})}})),
            (Floats{1, 2, 3, 5, 7, 9}));
  EXPECT_EQ(values<float>(output(
                {.op = "CumSum", .inputs = {x, tensor<int64_t>({}, {1})}, .attrs = {{"exclusive", int64_t{1}}}})),
            (Floats{0, 1, 3, 0, 4, 9}));
  EXPECT_EQ(values<float>(
                output({.op = "CumSum", .inputs = {x, tensor<int64_t>({}, {1})}, .attrs = {{"reverse", int64_t{1}}}})),
            (Floats{6, 5, 3, 15, 11, 6}));
  EXPECT_EQ(values<float>(output({.op = "CumSum", .inputs = {x, tensor<int64_t>({}, {1})}, .attrs = kBoth})),
            (Floats{5, 3, 0, 11, 6, 0}));
  EXPECT_NE(failure({.op = "CumSum", .inputs = {x, tensor<int64_t>({}, {2})}}).find("axis 2"), std::string::npos);
}

TEST(CumSum, Products) {
  const Tensor x = tensor<int32_t>({4}, {2, 3, 4, 5});
  EXPECT_EQ(values<int32_t>(output({.op = "CumProd", .opset = 26, .inputs = {x, tensor<int64_t>({}, {0})}})),
            (std::vector<int32_t>{2, 6, 24, 120}));
  EXPECT_EQ(
      values<int32_t>(output({.op = "CumProd", .opset = 26, .inputs = {x, tensor<int64_t>({}, {0})}, .attrs = kBoth})),
      (std::vector<int32_t>{60, 20, 5, 1}));
}

// More columns than one tile holds, against the definition.
TEST(CumSum, WideRows) {
  std::vector<int64_t> v(3 * 150);
  for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<int64_t>(i * i % 97);
  const auto y =
      values<int64_t>(output({.op = "CumSum", .inputs = {tensor<int64_t>({3, 150}, v), tensor<int64_t>({}, {0})}}));
  for (int c = 0; c < 150; ++c) {
    EXPECT_EQ(y[c], v[c]);
    EXPECT_EQ(y[300 + c], v[c] + v[150 + c] + v[300 + c]);
  }
}

TEST(CumSum, EdgeShapes) {
  EXPECT_EQ(shape(output({.op = "CumSum", .inputs = {tensor<float>({0, 2}, {}), tensor<int64_t>({}, {0})}})),
            (Ints{0, 2}));
  EXPECT_EQ(widened(output({.op = "CumSum", .inputs = {bfloat({3}, {1, 2, 3}), tensor<int64_t>({}, {0})}})),
            (Floats{1, 3, 6}));
}

}  // namespace
}  // namespace trunnion::ops::test
