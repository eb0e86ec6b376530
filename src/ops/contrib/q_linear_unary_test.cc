#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

using Bytes = std::vector<uint8_t>;
using Signed = std::vector<int8_t>;

TEST(QLinearUnary, LeakyRelu) {
  OpRun r{.op = "QLinearLeakyRelu",
          .opset = 1,
          .inputs = {tensor<int8_t>({4}, {-128, -4, 0, 100}), tensor<float>({}, {0.5f}), Tensor{},
                     tensor<float>({}, {0.25f}), tensor<int8_t>({}, {-1})},
          .attrs = {{"alpha", 0.5f}},
          .domain = "com.microsoft"};
  EXPECT_EQ(values<int8_t>(output(r)), (Signed{-128, -5, -1, 127}));
}

TEST(QLinearUnary, SigmoidOfAllCodes) {
  Bytes codes(300);
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<uint8_t>(i);
  OpRun r{.op = "QLinearSigmoid",
          .opset = 1,
          .inputs = {tensor<uint8_t>({3, 100}, codes), tensor<float>({1}, {0.05f}), tensor<uint8_t>({1}, {128}),
                     tensor<float>({1}, {1 / 256.0f}), Tensor{}},
          .domain = "com.microsoft"};
  const Bytes y = values<uint8_t>(output(r));
  for (size_t i = 0; i < codes.size(); ++i) {
    const double exact = std::min(255.0, 256 / (1 + std::exp(-0.05 * (codes[i] - 128))));
    EXPECT_NEAR(y[i], exact, 0.5001) << i;
  }
  EXPECT_EQ(shape(output(r)), (Ints{3, 100}));
  r.inputs[1] = tensor<float>({1, 1}, {1});
  EXPECT_NE(failure(r).find("must hold one value"), std::string::npos);
}

}  // namespace
}  // namespace trunnion::ops::test
