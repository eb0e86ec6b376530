#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

OpRun fused(std::vector<Value> inputs, std::vector<ir::Attr> attrs) {
  return {
      .op = "FusedGemm", .opset = 1, .inputs = std::move(inputs), .attrs = std::move(attrs), .domain = "com.microsoft"};
}
ir::Attr activation(const char* name) { return {"activation", std::string(name)}; }

const Tensor a = tensor<float>({2, 2}, {1, -2, 3, 4}), b = tensor<float>({2, 2}, {1, 0, 0, 1}),
             c = tensor<float>({2}, {0.5f, -10});

TEST(FusedGemm, Activations) {
  EXPECT_EQ(values<float>(output(fused({a, b, c}, {}))), (Floats{1.5f, -12, 3.5f, -6}));
  EXPECT_EQ(values<float>(output(fused({a, b, c}, {activation("Relu")}))), (Floats{1.5f, 0, 3.5f, 0}));
  const auto leaky = fused({a, b, c}, {activation("LeakyRelu"), {"activation_alpha", 0.5f}, {"beta", 2.0f}});
  EXPECT_EQ(values<float>(output(leaky)), (Floats{2, -11, 4, -8}));
  // One that no epilogue has, and the spread of a scalar before it.
  const auto y = values<float>(output(fused({a, b, tensor<float>({}, {1})}, {activation("Softplus")})));
  EXPECT_NEAR(y[1], std::log1p(std::exp(-1.0)), 1e-6);
  EXPECT_NEAR(y[3], std::log1p(std::exp(5.0)), 1e-6);
  const auto scaled =
      fused({a, b}, {activation("ParametricSoftplus"), {"activation_alpha", 2.0f}, {"activation_beta", 0.5f}});
  EXPECT_NEAR(values<float>(output(scaled))[1], 2 * std::log1p(std::exp(-1.0)), 1e-6);
}

TEST(FusedGemm, OtherTypes) {
  const auto wide = fused({tensor<double>({1, 2}, {1, 2}), tensor<double>({1, 2}, {3, -4})},
                          {activation("Relu"), {"transB", int64_t{1}}});
  EXPECT_EQ(values<double>(output(wide)), (std::vector<double>{0}));
  EXPECT_EQ(widened(output(fused({half({1, 1}, {-2}), half({1, 1}, {3})}, {activation("Relu")}))), (Floats{0}));
  EXPECT_NE(failure(fused({a, b}, {activation("Nothing")})).find("'Nothing'"), std::string::npos);
}

}  // namespace
}  // namespace trunnion::ops::test
