#include <limits>

#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

TEST(Clip, BoundsAsInputs) {
  const Tensor x = tensor<float>({4}, {-5, 0, 5, NAN}), lo = tensor<float>({}, {-1}), hi = tensor<float>({}, {2});
  auto y = values<float>(output({.op = "Clip", .inputs = {x, lo, hi}}));
  EXPECT_EQ(Floats(y.begin(), y.begin() + 3), (Floats{-1, 0, 2}));
  EXPECT_TRUE(std::isnan(y[3]));
  y = values<float>(output({.op = "Clip", .inputs = {x, Tensor{}, hi}}));
  EXPECT_EQ(Floats(y.begin(), y.begin() + 3), (Floats{-5, 0, 2}));
  y = values<float>(output({.op = "Clip", .inputs = {x, hi, lo}}));  // min > max: max wins
  EXPECT_EQ(Floats(y.begin(), y.begin() + 3), (Floats{-1, -1, -1}));
}

TEST(Clip, AbsentBoundsAreTheFiniteRange) {
  const float most = std::numeric_limits<float>::max();
  EXPECT_EQ(values<float>(output({.op = "Clip", .inputs = {tensor<float>({2}, {INFINITY, -INFINITY})}})),
            (Floats{most, -most}));
  EXPECT_EQ(values<int8_t>(output({.op = "Clip", .inputs = {tensor<int8_t>({2}, {-128, 127})}})),
            (std::vector<int8_t>{-128, 127}));
}

TEST(Clip, BoundsAsAttributes) {
  EXPECT_EQ(values<float>(output(
                {.op = "Clip", .opset = 6, .inputs = {tensor<float>({3}, {-5, 0, 5})}, .attrs = {{"min", -2.f}}})),
            (Floats{-2, 0, 5}));
  EXPECT_EQ(widened(output({.op = "Clip", .opset = 6, .inputs = {half({3}, {-5, 0, 5})}, .attrs = {{"max", 1.f}}})),
            (Floats{-5, 0, 1}));
}

TEST(Clip, Integers) {
  EXPECT_EQ(values<int64_t>(output({.op = "Clip",
                                    .inputs = {tensor<int64_t>({3}, {-5, 0, INT64_MAX}), tensor<int64_t>({}, {-1}),
                                               tensor<int64_t>({}, {INT64_MAX - 1})}})),
            (Ints{-1, 0, INT64_MAX - 1}));
  EXPECT_EQ(
      values<uint8_t>(output({.op = "Clip", .inputs = {tensor<uint8_t>({3}, {0, 5, 255}), tensor<uint8_t>({1}, {3})}})),
      (std::vector<uint8_t>{3, 5, 255}));
}

TEST(Clip, RefusesManyBounds) {
  EXPECT_NE(failure({.op = "Clip", .inputs = {tensor<float>({1}, {1}), tensor<float>({2}, {1, 2})}}).find("2 elements"),
            std::string::npos);
}

}  // namespace
}  // namespace trunnion::ops::test
