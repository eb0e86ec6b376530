#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

void near(const Floats& a, const std::vector<double>& b, double tolerance = 1e-5) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], tolerance) << i;
}
const Tensor kX = tensor<float>({2, 3}, {1, 2, 6, -1, -1, 5});

TEST(LayerNormalization, Rows) {
  OpRun r{.op = "LayerNormalization",
          .inputs = {kX, tensor<float>({3}, {1, 2, 3}), tensor<float>({3}, {0, 1, 0})},
          .attrs = {{"epsilon", 0.0f}},
          .outputs = 3};
  const auto y = outputs(r);
  const double a = std::sqrt(14 / 3.0), b = std::sqrt(8.0);
  near(values<float>(y[0]), {-2 / a, -2 / a + 1, 9 / a, -2 / b, -4 / b + 1, 12 / b});
  EXPECT_EQ(values<float>(y[1]), (Floats{3, 1}));
  near(values<float>(y[2]), {1 / a, 1 / b});
  EXPECT_EQ(shape(y[1]), (Ints{2, 1}));
}

TEST(LayerNormalization, ScaleThatBroadcasts) {
  OpRun r{.op = "LayerNormalization",
          .inputs = {kX, tensor<float>({2, 1}, {1, 2}), tensor<float>({}, {1})},
          .attrs = {{"epsilon", 0.0f}}};
  const double a = std::sqrt(14 / 3.0), b = std::sqrt(8.0);
  near(values<float>(output(r)), {-2 / a + 1, -1 / a + 1, 3 / a + 1, -4 / b + 1, -4 / b + 1, 8 / b + 1});
  r.inputs[1] = tensor<float>({3, 1}, {1, 2, 3});
  EXPECT_FALSE(run(r).ok());
}

TEST(LayerNormalization, AxesAndTypes) {
  OpRun r{.op = "LayerNormalization",
          .inputs = {tensor<double>({1, 2, 2}, {1, 2, 3, 6}), tensor<double>({2, 2}, {1, 1, 1, 2})},
          .attrs = {{"axis", int64_t{1}}, {"epsilon", 0.0f}}};
  const auto y = values<double>(output(r));
  EXPECT_NEAR(y[3], 6 / std::sqrt(3.5), 1e-12);
  EXPECT_NEAR(y[0], -2 / std::sqrt(3.5), 1e-12);
  near(widened(
           output({.op = "LayerNormalization", .inputs = {half({2}, {1, 3}), half({2}, {1, 1}), half({2}, {0, 0})}})),
       {-1, 1}, 1e-3);
  EXPECT_EQ(
      shape(output({.op = "LayerNormalization", .inputs = {tensor<float>({0, 3}, {}), tensor<float>({3}, {1, 1, 1})}})),
      (Ints{0, 3}));
  EXPECT_EQ(inferred({.op = "LayerNormalization", .attrs = {{"axis", int64_t{1}}}, .outputs = 2},
                     {fact({symbol("N"), 4, 5}), fact({4, 5})}, 1),
            "{N,1,1}");
}

TEST(LayerNormalization, Rms) {
  const OpRun r{.op = "RMSNormalization",
                .opset = 23,
                .inputs = {tensor<float>({1, 2}, {3, 4}), tensor<float>({2}, {1, 2})},
                .attrs = {{"epsilon", 0.0f}}};
  const double rms = std::sqrt(12.5);
  near(values<float>(output(r)), {3 / rms, 8 / rms});
  near(widened(
           output({.op = "RMSNormalization", .opset = 23, .inputs = {tensor<float>({2}, {3, 4}), half({2}, {1, 2})}})),
       {3 / rms, 8 / rms}, 2e-3);
  const auto wide = values<double>(output(
      {.op = "RMSNormalization", .opset = 23, .inputs = {tensor<float>({2}, {3, 4}), tensor<double>({1}, {2})}}));
  EXPECT_NEAR(wide[1], 8 / rms, 1e-5);
}

TEST(LayerNormalization, WhatOnnxRuntimeAddsToTheDomain) {
  const double rms = std::sqrt(12.5);
  const auto out = outputs({.op = "SimplifiedLayerNormalization",
                            .opset = 11,
                            .inputs = {tensor<float>({1, 2}, {3, 4}), tensor<float>({2}, {1, 2})},
                            .attrs = {{"epsilon", 0.0f}},
                            .outputs = 2});
  near(values<float>(out[0]), {3 / rms, 8 / rms});
  near(values<float>(out[1]), {1 / rms});
  EXPECT_EQ(shape(out[1]), (Ints{1, 1}));
  near(values<float>(output({.op = "LayerNormalization",
                             .opset = 11,
                             .inputs = {tensor<float>({1, 2}, {1, 3}), tensor<float>({2}, {1, 2})},
                             .attrs = {{"epsilon", 0.0f}}})),
       {-1, 2});
}

}  // namespace
}  // namespace trunnion::ops::test
