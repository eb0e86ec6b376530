#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

OpRun inverse(Tensor x) { return {.op = "Inverse", .opset = 1, .inputs = {std::move(x)}, .domain = "com.microsoft"}; }

TEST(Inverse, Matrices) {
  const auto y = values<float>(output(inverse(tensor<float>({2, 2, 2}, {4, 7, 2, 6, 0, 2, -1, 0}))));
  const Floats want{0.6f, -0.7f, -0.2f, 0.4f, 0, -1, 0.5f, 0};
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(y[i], want[i], 1e-6f) << i;
  EXPECT_EQ(values<double>(output(inverse(tensor<double>({1, 1}, {4})))), (std::vector<double>{0.25}));
  EXPECT_EQ(widened(output(inverse(half({1, 1}, {2})))), (Floats{0.5f}));
  EXPECT_EQ(values<float>(output(inverse(tensor<float>({0, 2, 2}, {})))), Floats{});
  EXPECT_FALSE(std::isfinite(values<float>(output(inverse(tensor<float>({2, 2}, {1, 2, 2, 4}))))[0]));
  EXPECT_NE(failure(inverse(tensor<float>({1, 2}, {1, 2}))).find("not square"), std::string::npos);
}

}  // namespace
}  // namespace trunnion::ops::test
