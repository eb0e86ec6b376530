#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

Floats run_old(std::string op, Tensor x, std::vector<ir::Attr> attrs, int opset = 7) {
  return values<float>(
      output({.op = std::move(op), .opset = opset, .inputs = {std::move(x)}, .attrs = std::move(attrs)}));
}
const Tensor x = tensor<float>({2}, {1, -2});

TEST(LegacyElementwise, Values) {
  EXPECT_EQ(run_old("Affine", x, {{"alpha", 3.0f}, {"beta", 0.5f}}), (Floats{3.5f, -5.5f}));
  EXPECT_EQ(run_old("Scale", x, {{"scale", -2.0f}}), (Floats{-2, 4}));
  const auto tanh = run_old("ScaledTanh", x, {{"alpha", 2.0f}, {"beta", 0.5f}});
  EXPECT_NEAR(tanh[0], 2 * std::tanh(0.5), 1e-6);
  EXPECT_NEAR(tanh[1], 2 * std::tanh(-1.0), 1e-6);
  const auto softplus = run_old("ParametricSoftplus", x, {{"alpha", 2.0f}, {"beta", 0.5f}});
  EXPECT_NEAR(softplus[0], 2 * std::log1p(std::exp(0.5)), 1e-6);
  EXPECT_NEAR(softplus[1], 2 * std::log1p(std::exp(-1.0)), 1e-6);
  EXPECT_EQ(widened(output({.op = "Affine", .opset = 1, .inputs = {half({1}, {2})}, .attrs = {{"beta", 1.0f}}})),
            (Floats{3}));
}

TEST(LegacyElementwise, ImageScaler) {
  const Tensor picture = tensor<float>({1, 2, 1, 2}, {1, 2, 3, 4});
  EXPECT_EQ(run_old("ImageScaler", picture, {{"scale", 2.0f}, {"bias", std::vector<float>{10, -1}}}),
            (Floats{12, 14, 5, 7}));
  const OpRun short_bias{.op = "ImageScaler", .opset = 1, .inputs = {picture}, .attrs = {{"bias", Floats{1}}}};
  EXPECT_NE(failure(short_bias).find("2 channels"), std::string::npos);
}

TEST(LegacyElementwise, OldFormsOfLaterOperators) {
  EXPECT_EQ(run_old("ThresholdedRelu", tensor<float>({3}, {0.25f, 1, -1}), {{"alpha", 0.5f}}), (Floats{0, 1, 0}));
  // Channel 0 of two pictures is {1, 3}, channel 1 {2, 6}.
  const Tensor p = tensor<float>({2, 2, 1, 1}, {1, 2, 3, 6});
  EXPECT_EQ(run_old("MeanVarianceNormalization", p, {{"normalize_variance", int64_t{0}}}), (Floats{-1, -2, 1, 2}));
  const auto y = run_old("MeanVarianceNormalization", p, {});
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(y[i], i < 2 ? -1 : 1, 1e-6);
  EXPECT_EQ(
      run_old("MeanVarianceNormalization", p, {{"normalize_variance", int64_t{0}}, {"across_channels", int64_t{1}}}),
      (Floats{-2, -1, 0, 3}));
  const OpRun slice{.op = "DynamicSlice",
                    .opset = 7,
                    .inputs = {tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6}), tensor<int64_t>({1}, {-2}),
                               tensor<int64_t>({1}, {9}), tensor<int64_t>({1}, {1})}};
  EXPECT_EQ(values<float>(output(slice)), (Floats{2, 3, 5, 6}));
}

TEST(LegacyElementwise, DeprecatedOperatorsKeepTheirMeaning) {
  const OpRun up{
      .op = "Upsample", .opset = 13, .inputs = {tensor<float>({1, 1, 1, 2}, {1, 2}), tensor<float>({4}, {1, 1, 1, 2})}};
  EXPECT_EQ(values<float>(output(up)), (Floats{1, 1, 2, 2}));
  const OpRun scatter{.op = "Scatter",
                      .opset = 13,
                      .inputs = {tensor<float>({3}, {1, 2, 3}), tensor<int64_t>({1}, {1}), tensor<float>({1}, {9})}};
  EXPECT_EQ(values<float>(output(scatter)), (Floats{1, 9, 3}));
}

}  // namespace
}  // namespace trunnion::ops::test
