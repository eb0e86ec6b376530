#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

TEST(Pow, SameType) {
  EXPECT_EQ(
      values<float>(output({.op = "Pow", .inputs = {tensor<float>({3}, {1, 2, 3}), tensor<float>({3}, {4, 5, 2})}})),
      (Floats{1, 32, 9}));
  EXPECT_EQ(values<double>(output({.op = "Pow", .inputs = {tensor<double>({2}, {4, 2}), tensor<double>({}, {.5})}}))[0],
            2);
  EXPECT_EQ(values<int32_t>(output(
                {.op = "Pow", .inputs = {tensor<int32_t>({4}, {2, -2, 0, -1}), tensor<int32_t>({4}, {31, 3, 0, -3})}})),
            (std::vector<int32_t>{INT32_MIN, -8, 1, -1}));
}

TEST(Pow, SquaresAndCubes) {
  const Tensor x = tensor<float>({2, 2}, {-3, .5f, 0, 2});
  EXPECT_EQ(values<float>(output({.op = "Pow", .inputs = {x, tensor<float>({}, {2})}})), (Floats{9, .25f, 0, 4}));
  EXPECT_EQ(values<float>(output({.op = "Pow", .inputs = {x, tensor<float>({1, 1, 1}, {3})}})),
            (Floats{-27, .125f, 0, 8}));
  EXPECT_EQ(shape(output({.op = "Pow", .inputs = {x, tensor<float>({1, 1, 1}, {3})}})), (Ints{1, 2, 2}));
}

TEST(Pow, MixedTypes) {
  EXPECT_EQ(
      values<float>(output({.op = "Pow", .inputs = {tensor<float>({3}, {1, 2, 3}), tensor<int64_t>({3}, {4, 5, -1})}})),
      (Floats{1, 32, 1.f / 3}));
  EXPECT_EQ(
      values<int32_t>(output({.op = "Pow", .inputs = {tensor<int32_t>({2}, {2, 9}), tensor<float>({2}, {3, .5f})}})),
      (std::vector<int32_t>{8, 3}));
  EXPECT_EQ(values<int64_t>(output({.op = "Pow", .inputs = {tensor<int64_t>({2}, {3, 2}), tensor<uint8_t>({}, {40})}})),
            (Ints{static_cast<int64_t>(12157665459056928801ull), int64_t{1} << 40}));
  EXPECT_EQ(widened(output({.op = "Pow", .inputs = {half({2}, {2, 3}), tensor<float>({2}, {3, 2})}})), (Floats{8, 9}));
  EXPECT_EQ(values<double>(output({.op = "Pow", .inputs = {tensor<double>({2}, {2, 3}), tensor<float>({}, {2})}})),
            (std::vector<double>{4, 9}));
}

TEST(Pow, LegacyAndEmpty) {
  EXPECT_EQ(values<float>(output({.op = "Pow",
                                  .opset = 1,
                                  .inputs = {tensor<float>({2, 2}, {1, 2, 3, 4}), tensor<float>({2}, {1, 2})},
                                  .attrs = {{"broadcast", int64_t{1}}, {"axis", int64_t{0}}}})),
            (Floats{1, 2, 9, 16}));
  EXPECT_EQ(shape(output({.op = "Pow", .inputs = {tensor<float>({0}, {}), tensor<float>({}, {2})}})), (Ints{0}));
  EXPECT_EQ(content({.op = "Pow"}, {content_fact({3}), content_fact({4})}), "{81}");
}

}  // namespace
}  // namespace trunnion::ops::test
