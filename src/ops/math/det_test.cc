#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

TEST(Det, Matrices) {
  EXPECT_EQ(values<float>(output({.op = "Det", .inputs = {tensor<float>({2, 2}, {0, 1, 2, 3})}})), Floats{-2});
  const auto y = output(
      {.op = "Det", .inputs = {tensor<double>({2, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 10, 1, 2, 3, 2, 4, 6, 0, 0, 1})}});
  EXPECT_EQ(shape(y), (Ints{2, 1}));
  EXPECT_NEAR(values<double>(y)[0], -3, 1e-12);
  EXPECT_EQ(values<double>(y)[1], 0);
  EXPECT_EQ(widened(output({.op = "Det", .inputs = {half({1, 1}, {4})}})), Floats{4});
  EXPECT_EQ(values<float>(output({.op = "Det", .inputs = {tensor<float>({0, 0}, {})}})), Floats{1});
  EXPECT_NE(failure({.op = "Det", .inputs = {tensor<float>({1, 2}, {1, 2})}}).find("not square"), std::string::npos);
}

}  // namespace
}  // namespace trunnion::ops::test
