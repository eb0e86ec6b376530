// GatedRMSNorm and GatedAdd.
#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

OpRun op(const char* name, std::vector<Value> inputs, std::vector<ir::Attr> attrs = {}) {
  return {.op = name, .opset = 1, .inputs = std::move(inputs), .attrs = std::move(attrs), .domain = "com.microsoft"};
}

TEST(GatedNorm, Groups) {
  const auto x = tensor<float>({1, 4}, {3, 4, 6, 8}), gate = tensor<float>({1, 4}, {0, 1, -1, 2});
  const auto scale = tensor<float>({2}, {1, 2});
  const float root = std::sqrt(12.5f);
  const auto sigmoid = [](float v) { return 1 / (1 + std::exp(-v)); };
  const Floats norm{3 / root, 8 / root, 3 / root, 8 / root}, gates{0, 1, -1, 2};
  const auto plain = values<float>(output(op("GatedRMSNorm", {x, scale, gate}, {{"epsilon", 0.0f}})));
  const auto only =
      values<float>(output(op("GatedRMSNorm", {x, scale, gate}, {{"epsilon", 0.0f}, {"activation", "sigmoid"}})));
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(only[i], norm[i] * sigmoid(gates[i]), 1e-6);
    EXPECT_NEAR(plain[i], norm[i] * gates[i] * sigmoid(gates[i]), 1e-6);
  }
  EXPECT_NE(failure(op("GatedRMSNorm", {x, tensor<float>({3}, {1, 2, 3}), gate})).find("groups of 3"),
            std::string::npos);
}

TEST(GatedNorm, Add) {
  const auto x = tensor<float>({2, 2}, {1, 2, 3, 4}), y = tensor<float>({2, 2}, {1, 1, 2, 2});
  EXPECT_EQ(values<float>(output(op("GatedAdd", {x, y, tensor<float>({2, 1}, {2, -1})}))), (Floats{3, 4, 1, 2}));
  // The product is rounded before the sum: 1.001 * 1.001 in f16 is 1.001953125.
  EXPECT_EQ(widened(output(op("GatedAdd", {half({1, 1}, {0.0009765625f}), half({1, 1}, {1.0009765625f}),
                                           half({1, 1}, {1.0009765625f})}))),
            (Floats{1.0029296875f}));
  EXPECT_NE(failure(op("GatedAdd", {x, y, tensor<float>({2, 2}, {1, 2, 3, 4})})).find("input 2"), std::string::npos);
}

}  // namespace
}  // namespace trunnion::ops::test
