#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

const std::vector<float> kX = {-3, -0.5f, 0, 0.25f, 2};

void check(const char* op, std::vector<ir::Attr> attrs, double (*fn)(double), int opset = 24) {
  const auto y =
      values<float>(output({.op = op, .opset = opset, .inputs = {tensor<float>({5}, kX)}, .attrs = std::move(attrs)}));
  ASSERT_EQ(y.size(), kX.size());
  for (size_t i = 0; i < kX.size(); ++i) EXPECT_NEAR(y[i], fn(kX[i]), 2e-6) << op << " " << kX[i];
}

TEST(Activations, Defaults) {
  check("Relu", {}, [](double v) { return v > 0 ? v : 0; });
  check("LeakyRelu", {}, [](double v) { return v < 0 ? .01 * v : v; });
  check("Elu", {}, [](double v) { return v < 0 ? std::expm1(v) : v; });
  check("Selu", {}, [](double v) { return 1.0507009873554805 * (v > 0 ? v : 1.6732632423543772 * std::expm1(v)); });
  check("Celu", {}, [](double v) { return v < 0 ? std::expm1(v) : v; });
  check("ThresholdedRelu", {}, [](double v) { return v > 1 ? v : 0; });
  check("Sigmoid", {}, [](double v) { return 1 / (1 + std::exp(-v)); });
  check("Tanh", {}, [](double v) { return std::tanh(v); });
  check("HardSigmoid", {}, [](double v) { return std::fmin(1, std::fmax(0, .2 * v + .5)); });
  check("HardSwish", {}, [](double v) { return v * std::fmin(1, std::fmax(0, v / 6 + .5)); });
  check("Softplus", {}, [](double v) { return std::log1p(std::exp(v)); });
  check("Softsign", {}, [](double v) { return v / (1 + std::fabs(v)); });
  check("Mish", {}, [](double v) { return v * std::tanh(std::log1p(std::exp(v))); });
  check("Gelu", {}, [](double v) { return v / 2 * (1 + std::erf(v / std::sqrt(2.0))); });
  check("Swish", {}, [](double v) { return v / (1 + std::exp(-v)); });
  check("Shrink", {}, [](double v) { return v < -.5 || v > .5 ? v : 0; });
}

TEST(Activations, Attributes) {
  check("LeakyRelu", {{"alpha", .5f}}, [](double v) { return v < 0 ? .5 * v : v; });
  check("Elu", {{"alpha", 2.f}}, [](double v) { return v < 0 ? 2 * std::expm1(v) : v; });
  check("Celu", {{"alpha", 2.f}}, [](double v) { return v < 0 ? 2 * std::expm1(v / 2) : v; });
  check("Selu", {{"alpha", 2.f}, {"gamma", 3.f}}, [](double v) { return 3 * (v > 0 ? v : 2 * std::expm1(v)); });
  check(
      "Selu", {}, [](double v) { return 1.0507 * (v > 0 ? v : 1.6732 * std::expm1(v)); }, 1);
  check("ThresholdedRelu", {{"alpha", .25f}}, [](double v) { return v > .25 ? v : 0; });
  check("HardSigmoid", {{"alpha", 1.f}, {"beta", .25f}}, [](double v) { return std::fmin(1, std::fmax(0, v + .25)); });
  check("Swish", {{"alpha", 2.f}}, [](double v) { return v / (1 + std::exp(-2 * v)); });
  check("Gelu", {{"approximate", std::string("tanh")}},
        [](double v) { return v / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + .044715 * v * v * v))); });
  check("Shrink", {{"bias", 1.f}, {"lambd", .3f}}, [](double v) { return v < -.3 ? v + 1 : v > .3 ? v - 1 : 0; });
  EXPECT_NE(failure({.op = "Gelu", .inputs = {tensor<float>({1}, {1})}, .attrs = {{"approximate", std::string("x")}}})
                .find("'x'"),
            std::string::npos);
}

TEST(Activations, OtherTypes) {
  EXPECT_EQ(values<int8_t>(output({.op = "Relu", .inputs = {tensor<int8_t>({3}, {-128, 0, 7})}})),
            (std::vector<int8_t>{0, 0, 7}));
  EXPECT_EQ(values<int32_t>(output({.op = "Shrink",
                                    .inputs = {tensor<int32_t>({5}, {-3, -1, 0, 1, 9})},
                                    .attrs = {{"lambd", 1.5f}, {"bias", 1.5f}}})),
            (std::vector<int32_t>{-1, 0, 0, 0, 7}));
  EXPECT_EQ(values<double>(output({.op = "Sigmoid", .inputs = {tensor<double>({1}, {0})}})), (std::vector<double>{.5}));
  EXPECT_EQ(widened(output({.op = "Tanh", .inputs = {half({2}, {0, 20})}})), (Floats{0, 1}));
  EXPECT_TRUE(std::isnan(values<float>(output({.op = "Relu", .inputs = {tensor<float>({1}, {NAN})}}))[0]));
}

}  // namespace
}  // namespace trunnion::ops::test
