#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

OpRun step(const char* op, std::vector<Value> tensors, std::vector<ir::Attr> attrs, int outputs, int64_t count = 0) {
  std::vector<Value> inputs = {tensor<float>({}, {0.1f}), tensor<int64_t>({}, {count})};
  inputs.insert(inputs.end(), tensors.begin(), tensors.end());
  return {.op = op,
          .opset = 1,
          .inputs = inputs,
          .attrs = std::move(attrs),
          .outputs = outputs,
          .domain = "ai.onnx.preview.training"};
}
Tensor one(float v) { return tensor<float>({1}, {v}); }

TEST(Optimizers, AdagradDividesByTheRootOfTheSum) {
  const auto y = outputs(step("Adagrad", {one(1), one(-1), one(2)},
                              {{"norm_coefficient", 0.0f}, {"epsilon", 0.0f}, {"decay_factor", 1.0f}}, 2, 1));
  // h = 2 + 1, r = 0.1 / 2
  EXPECT_FLOAT_EQ(values<float>(y[0])[0], 1 + 0.05f / std::sqrt(3.0f));
  EXPECT_FLOAT_EQ(values<float>(y[1])[0], 3);
}

TEST(Optimizers, AdagradOfTwoTensorsKeepsTheirOrder) {
  const Tensor a = tensor<double>({2}, {1, 2}), zero = tensor<double>({2}, {0, 0});
  const auto y = outputs(step("Adagrad", {one(1), a, one(3), zero, one(0), zero}, {{"epsilon", 1.0f}}, 4));
  EXPECT_FLOAT_EQ(values<float>(y[0])[0], 1 - 0.1f * 3 / 4);
  EXPECT_EQ(values<double>(y[1]), (std::vector<double>{1, 2}));
  EXPECT_FLOAT_EQ(values<float>(y[2])[0], 9);
  EXPECT_EQ(values<double>(y[3]), (std::vector<double>{0, 0}));
}

TEST(Optimizers, AdamCorrectsTheBiasFromTheFirstCountOn) {
  const std::vector<Value> in = {one(1), one(2), one(0), one(0)};
  const std::vector<ir::Attr> attrs = {{"alpha", 0.5f}, {"beta", 0.75f}, {"epsilon", 0.0f}};
  const auto first = outputs(step("Adam", in, attrs, 3, 0));
  EXPECT_FLOAT_EQ(values<float>(first[1])[0], 1);
  EXPECT_FLOAT_EQ(values<float>(first[2])[0], 1);
  EXPECT_FLOAT_EQ(values<float>(first[0])[0], 0.9f);
  const auto later = outputs(step("Adam", in, attrs, 3, 1));  // sqrt(1 - 0.75) / (1 - 0.5) = 1
  EXPECT_FLOAT_EQ(values<float>(later[0])[0], 0.9f);
  auto decayed = attrs;
  decayed.push_back({"norm_coefficient_post", 0.5f});
  EXPECT_FLOAT_EQ(values<float>(output(step("Adam", in, decayed, 3, 0)))[0], 0.45f);
}

TEST(Optimizers, MomentumAndNesterov) {
  const std::vector<Value> in = {one(1), one(2), one(4)};
  const auto attrs = [](const char* mode) {
    return std::vector<ir::Attr>{
        {"alpha", 0.5f}, {"beta", 0.25f}, {"norm_coefficient", 1.0f}, {"mode", std::string(mode)}};
  };
  // The gradient is 1 * 1 + 2 = 3; the first step takes all of it.
  auto y = outputs(step("Momentum", in, attrs("standard"), 2, 0));
  EXPECT_FLOAT_EQ(values<float>(y[1])[0], 5);
  EXPECT_FLOAT_EQ(values<float>(y[0])[0], 0.5f);
  y = outputs(step("Momentum", in, attrs("standard"), 2, 3));
  EXPECT_FLOAT_EQ(values<float>(y[1])[0], 2.75f);
  y = outputs(step("Momentum", in, attrs("nesterov"), 2, 3));
  EXPECT_FLOAT_EQ(values<float>(y[0])[0], 1 - 0.1f * (3 + 0.5f * 2.75f));
}

TEST(Optimizers, Refusals) {
  const std::vector<ir::Attr> momentum = {
      {"alpha", 0.5f}, {"beta", 1.0f}, {"norm_coefficient", 0.0f}, {"mode", std::string("fast")}};
  EXPECT_NE(failure(step("Momentum", {one(1), one(1), one(1)}, momentum, 2)).find("mode is 'fast'"), std::string::npos);
  EXPECT_NE(failure(step("Adagrad", {one(1), one(1)}, {}, 1)).find("expected a multiple of 3"), std::string::npos);
  EXPECT_NE(failure(step("Adagrad", {one(1), tensor<float>({2}, {1, 1}), one(1)}, {}, 2)).find("shape {2}"),
            std::string::npos);
}

}  // namespace
}  // namespace trunnion::ops::test
