#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

OpRun conv(std::vector<Value> inputs, std::vector<ir::Attr> attrs = {}) {
  return {
      .op = "CausalConvWithState", .opset = 27, .inputs = std::move(inputs), .attrs = std::move(attrs), .outputs = 2};
}

TEST(CausalConvWithState, SeesThePastOnly) {
  const Tensor x = tensor<float>({1, 2, 3}, {1, 2, 3, 10, 20, 30}), w = tensor<float>({2, 1, 2}, {1, 10, 2, 1});
  auto y = outputs(conv({x, w}));
  EXPECT_EQ(values<float>(y[0]), (Floats{10, 21, 32, 10, 40, 70}));
  EXPECT_EQ(shape(y[1]), (Ints{1, 2, 1}));
  EXPECT_EQ(values<float>(y[1]), (Floats{3, 30}));
  y = outputs(conv({x, w, tensor<float>({2}, {100, 0}), tensor<float>({1, 2, 1}, {5, 7})}));
  EXPECT_EQ(values<float>(y[0]), (Floats{115, 121, 132, 24, 40, 70}));
}

TEST(CausalConvWithState, StepByStepIsTheSameAsAtOnce) {
  const Floats x = {1, -2, 3, 0.5f, 4};
  const Tensor w = tensor<float>({1, 1, 4}, {1, 2, 3, 4});
  const auto whole = outputs(conv({tensor<float>({1, 1, 5}, x), w}));
  Value state = tensor<float>({1, 1, 3}, {0, 0, 0});
  for (size_t i = 0; i < x.size(); ++i) {  // one token is shorter than the state
    const auto y = outputs(conv({tensor<float>({1, 1, 1}, {x[i]}), w, Tensor{}, state}));
    EXPECT_EQ(values<float>(y[0])[0], values<float>(whole[0])[i]);
    state = y[1];
  }
  EXPECT_EQ(values<float>(state), values<float>(whole[1]));
}

TEST(CausalConvWithState, ActivationHalfAndKernelOfOne) {
  const auto y = outputs(conv({half({1, 1, 2}, {1, -1}), half({1, 1, 1}, {2})}, {{"activation", std::string("silu")}}));
  EXPECT_NEAR(widened(y[0])[0], 2 / (1 + std::exp(-2.0f)), 1e-3f);
  EXPECT_NEAR(widened(y[0])[1], -2 / (1 + std::exp(2.0f)), 1e-3f);
  EXPECT_EQ(shape(y[1]), (Ints{1, 1, 0}));
}

TEST(CausalConvWithState, ShapesAndRefusals) {
  EXPECT_EQ(inferred(conv({}), {fact({symbol("N"), Dim(2), symbol("L")}), fact({Dim(2), Dim(1), Dim(4)})}, 1),
            "{N,2,3}");
  EXPECT_NE(failure(conv({tensor<float>({1, 2, 1}, {1, 2}), tensor<float>({3, 1, 1}, {1, 2, 3})})).find("needs 2"),
            std::string::npos);
  EXPECT_NE(failure(conv({tensor<float>({1, 1, 1}, {1}), tensor<float>({1, 1, 1}, {1})},
                         {{"activation", std::string("relu")}}))
                .find("'relu'"),
            std::string::npos);
}

}  // namespace
}  // namespace trunnion::ops::test
