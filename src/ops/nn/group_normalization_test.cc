#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

void near(const Floats& a, const std::vector<double>& b, double tolerance = 1e-5) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], tolerance) << i;
}
const Tensor kX = tensor<float>({1, 2, 2}, {1, 3, 10, 20});

TEST(GroupNormalization, Instance) {
  const OpRun r{.op = "InstanceNormalization",
                .inputs = {kX, tensor<float>({2}, {1, 2}), tensor<float>({2}, {0, 5})},
                .attrs = {{"epsilon", 0.0f}}};
  near(values<float>(output(r)), {-1, 1, 3, 7});
  OpRun wide = r;
  wide.inputs = {tensor<double>({1, 1, 2}, {1, 3}), tensor<double>({1}, {1}), tensor<double>({1}, {1})};
  EXPECT_EQ(values<double>(output(wide)), (std::vector<double>{0, 2}));
  OpRun narrow = r;
  narrow.inputs = {half({1, 1, 2}, {1, 3}), half({1}, {1}), half({1}, {1})};
  EXPECT_EQ(widened(output(narrow)), (Floats{0, 2}));
}

TEST(GroupNormalization, Groups) {
  const Tensor x = tensor<float>({1, 4, 1}, {1, 3, 10, 20});
  near(values<float>(output({.op = "GroupNormalization",
                             .opset = 21,
                             .inputs = {x, tensor<float>({4}, {1, 2, 1, 1}), tensor<float>({4}, {0, 0, 0, 1})},
                             .attrs = {{"num_groups", int64_t{2}}, {"epsilon", 0.0f}}})),
       {-1, 2, -1, 2});
}

// The deprecated form has a scale and a bias for each group.
TEST(GroupNormalization, Opset18) {
  const OpRun r{
      .op = "GroupNormalization",
      .opset = 18,
      .inputs = {tensor<float>({1, 4, 1}, {1, 3, 10, 20}), tensor<float>({2}, {1, 2}), tensor<float>({2}, {0, 5})},
      .attrs = {{"num_groups", int64_t{2}}, {"epsilon", 0.0f}}};
  near(values<float>(output(r)), {-1, 1, 3, 7});
  OpRun channels = r;
  channels.inputs[1] = tensor<float>({4}, {1, 1, 1, 1});
  EXPECT_NE(failure(channels).find("input 1 has 4 elements, needs 2"), std::string::npos);
}

TEST(GroupNormalization, Checks) {
  const OpRun r{.op = "GroupNormalization",
                .opset = 21,
                .inputs = {kX, tensor<float>({2}, {1, 1}), tensor<float>({2}, {1, 1})},
                .attrs = {{"num_groups", int64_t{3}}}};
  EXPECT_NE(failure(r).find("2 channels do not divide into 3 groups"), std::string::npos);
  EXPECT_NE(
      failure({.op = "InstanceNormalization", .inputs = {kX, tensor<float>({1}, {1}), tensor<float>({2}, {1, 1})}})
          .find("input 1 has 1 elements"),
      std::string::npos);
  EXPECT_EQ(
      shape(output({.op = "InstanceNormalization",
                    .inputs = {tensor<float>({0, 2, 3}, {}), tensor<float>({2}, {1, 1}), tensor<float>({2}, {1, 1})}})),
      (Ints{0, 2, 3}));
}

}  // namespace
}  // namespace trunnion::ops::test
