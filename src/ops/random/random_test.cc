// Random generators, and Dropout, which draws from them too.
#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

TEST(Random, UniformAndNormal) {
  // numpy.random.RandomState(3).rand(3) and .randn(3).
  const auto u = values<double>(output(
      {.op = "RandomUniform", .opset = 1, .attrs = {{"seed", 3.0f}, {"shape", Ints{3}}, {"dtype", int64_t{11}}}}));
  EXPECT_NEAR(u[0], 0.5507979025745755, 1e-15);
  EXPECT_NEAR(u[2], 0.2909047389129443, 1e-15);
  const auto n = values<float>(
      output({.op = "RandomNormal", .attrs = {{"seed", 3.0f}, {"shape", Ints{3}}, {"mean", 1.0f}, {"scale", 2.0f}}}));
  EXPECT_NEAR(n[0], 1 + 2 * 1.78862847, 1e-5);
  EXPECT_NEAR(n[1], 1 + 2 * 0.43650985, 1e-5);
  EXPECT_NEAR(n[2], 1 + 2 * 0.09649747, 1e-5);
}

TEST(Random, Like) {
  const auto y = output({.op = "RandomUniformLike",
                         .inputs = {tensor<int32_t>({2, 50}, std::vector<int32_t>(100))},
                         .attrs = {{"dtype", int64_t{1}}, {"low", 5.0f}, {"high", 6.0f}}});
  EXPECT_EQ(shape(y), (Ints{2, 50}));
  for (float v : values<float>(y)) EXPECT_TRUE(v >= 5 && v <= 6);
  EXPECT_NE(failure({.op = "RandomNormalLike", .inputs = {tensor<int32_t>({1}, {1})}}), "");
  EXPECT_EQ(inferred({.op = "RandomNormalLike"}, {fact({symbol("N"), 2})}), "{N,2}");
}

TEST(Random, BernoulliAndMultinomial) {
  const auto y = values<bool>(
      output({.op = "Bernoulli", .inputs = {tensor<float>({3}, {0, 1, 0})}, .attrs = {{"dtype", int64_t{9}}}}));
  EXPECT_EQ(y, (std::vector<bool>{false, true, false}));
  const auto m = output({.op = "Multinomial",
                         .inputs = {tensor<float>({2, 3}, {-1e9f, 0, -1e9f, 0, -1e9f, -1e9f})},
                         .attrs = {{"sample_size", int64_t{4}}}});
  EXPECT_EQ(values<int32_t>(m), (std::vector<int32_t>{1, 1, 1, 1, 0, 0, 0, 0}));
}

TEST(Dropout, Inference) {
  const Tensor x = tensor<float>({3}, {1, 2, 3});
  for (int opset : {7, 10, 12, 22}) {
    const auto y = outputs({.op = "Dropout", .opset = opset, .inputs = {x}, .outputs = 2});
    EXPECT_EQ(values<float>(y[0]), (Floats{1, 2, 3}));
    if (opset >= 10) {
      EXPECT_EQ(values<bool>(y[1]), (std::vector<bool>{true, true, true}));
    }
  }
  EXPECT_EQ(values<float>(output({.op = "Dropout", .opset = 6, .inputs = {x}, .attrs = {{"is_test", int64_t{1}}}})),
            (Floats{1, 2, 3}));
}

TEST(Dropout, Training) {
  std::vector<float> ones(1000, 1);
  const OpRun r{.op = "Dropout",
                .opset = 13,
                .inputs = {tensor<float>({1000}, ones), tensor<float>({}, {.75f}), tensor<bool>({}, {true})},
                .attrs = {{"seed", int64_t{0}}},
                .outputs = 2};
  const auto y = outputs(r);
  const auto v = values<float>(y[0]);
  const auto mask = values<bool>(y[1]);
  int kept = 0;
  for (size_t i = 0; i < v.size(); ++i) {
    EXPECT_EQ(v[i], mask[i] ? 4 : 0);
    kept += mask[i];
  }
  EXPECT_NEAR(kept, 250, 50);
  OpRun bad = r;
  bad.inputs[1] = tensor<float>({}, {1});
  EXPECT_NE(failure(bad).find("ratio is 1"), std::string::npos);
}

TEST(Dropout, Float8) {
  // 1 and 0.5 as f8e5m2; the ratio is 0.5 of the same type.
  const OpRun r{.op = "Dropout",
                .opset = 22,
                .inputs = {raw<uint8_t>(DType::f8e5m2, {64}, std::vector<uint8_t>(64, 0x3c)),
                           raw<uint8_t>(DType::f8e5m2, {}, {0x38}), tensor<bool>({}, {true})},
                .attrs = {{"seed", int64_t{1}}},
                .outputs = 2};
  const auto y = outputs(r);
  const auto mask = values<bool>(y[1]);
  const auto v = raw_values<uint8_t>(y[0]);
  for (size_t i = 0; i < v.size(); ++i) EXPECT_EQ(v[i], mask[i] ? 0x40 : 0) << i;  // 2 or 0
}

}  // namespace
}  // namespace trunnion::ops::test
