#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

TEST(VariadicMath, ThreeInputsBroadcast) {
  const Tensor a = tensor<float>({2, 1}, {1, 5}), b = tensor<float>({2, 1}, {3, 2}), c = tensor<float>({3}, {0, 4, 9});
  EXPECT_EQ(values<float>(output({.op = "Max", .inputs = {a, b, c}})), (Floats{3, 4, 9, 5, 5, 9}));
  EXPECT_EQ(values<float>(output({.op = "Min", .inputs = {a, b, c}})), (Floats{0, 1, 1, 0, 2, 2}));
  EXPECT_EQ(values<float>(output({.op = "Sum", .inputs = {a, b, c}})), (Floats{4, 8, 13, 7, 11, 16}));
  EXPECT_EQ(values<float>(output({.op = "Mean", .inputs = {c, a, tensor<float>({}, {2})}})),
            (Floats{1, 7.f / 3, 4, 7.f / 3, 11.f / 3, 16.f / 3}));
}

TEST(VariadicMath, OneInputIsACopy) {
  const Tensor a = tensor<float>({2}, {1, 5});
  for (const char* op : {"Max", "Min", "Sum", "Mean"})
    EXPECT_EQ(values<float>(output({.op = op, .inputs = {a}})), (Floats{1, 5}));
}

TEST(VariadicMath, TypesAndNan) {
  EXPECT_EQ(
      values<int8_t>(output({.op = "Max", .inputs = {tensor<int8_t>({2}, {-1, 5}), tensor<int8_t>({2}, {3, 4})}})),
      (std::vector<int8_t>{3, 5}));
  EXPECT_EQ(widened(output({.op = "Mean", .inputs = {half({2}, {1, 2}), half({2}, {3, 4})}})), (Floats{2, 3}));
  EXPECT_TRUE(std::isnan(
      values<float>(output({.op = "Max", .inputs = {tensor<float>({1}, {1}), tensor<float>({1}, {NAN})}}))[0]));
  EXPECT_EQ(shape(output({.op = "Sum", .inputs = {tensor<float>({0, 2}, {}), tensor<float>({2}, {1, 2})}})),
            (Ints{0, 2}));
  failure({.op = "Sum", .inputs = {tensor<float>({3}, {1, 2, 3}), tensor<float>({2}, {1, 2})}});
}

// One value may stand several times; the planner may lay the output on it.
TEST(VariadicMath, RepeatedInput) {
  const Tensor x = tensor<float>({2}, {1, 2}), y = tensor<float>({2}, {10, 20});
  EXPECT_EQ(values<float>(output({.op = "Sum", .inputs = {x, y, x}})), (Floats{12, 24}));
}

TEST(VariadicMath, Contents) {
  const Dim n = symbol("N");
  EXPECT_EQ(content({.op = "Max"}, {content_fact({n, 3}), content_fact({n, 5})}), "{N,5}");
  EXPECT_EQ(content({.op = "Min"}, {content_fact({3}), content_fact({5})}), "{3}");
  EXPECT_EQ(inferred({.op = "Sum"}, {fact({n, 1}), fact({1, 4}), fact({4})}), "{N,4}");
}

}  // namespace
}  // namespace trunnion::ops::test
