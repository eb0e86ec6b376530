// CausalConvWithState of com.microsoft.
#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

OpRun op(std::vector<Value> inputs, std::vector<ir::Attr> attrs = {}) {
  return {.op = "CausalConvWithState",
          .opset = 1,
          .inputs = std::move(inputs),
          .attrs = std::move(attrs),
          .outputs = 2,
          .domain = "com.microsoft"};
}

TEST(CausalConv, StateAndBias) {
  const auto x = tensor<float>({1, 2, 3}, {1, 2, 3, 4, 5, 6}), w = tensor<float>({2, 1, 3}, {1, 10, 100, 2, 0, 1});
  auto out = outputs(op({x, w}));
  EXPECT_EQ(values<float>(out[0]), (Floats{100, 210, 321, 4, 5, 14}));
  EXPECT_EQ(values<float>(out[1]), (Floats{2, 3, 5, 6}));
  const auto state = tensor<float>({1, 2, 2}, {7, 8, 9, 1});
  out = outputs(op({x, w, tensor<float>({2}, {0.5f, -1}), state}));
  EXPECT_EQ(values<float>(out[0]), (Floats{187.5f, 218.5f, 321.5f, 21, 6, 13}));
  // One token at a time gives the same.
  Value past = state;
  Floats got;
  for (int i = 0; i < 3; ++i) {
    out = outputs(op({tensor<float>({1, 2, 1}, {1.0f + i, 4.0f + i}), w, tensor<float>({2}, {0.5f, -1}), past}));
    past = out[1];
    got.push_back(values<float>(out[0])[0]);
  }
  EXPECT_EQ(got, (Floats{187.5f, 218.5f, 321.5f}));
  EXPECT_EQ(values<float>(past), (Floats{2, 3, 5, 6}));
}

TEST(CausalConv, DilationAndChannelsLast) {
  const auto x = tensor<float>({1, 4, 1}, {1, 2, 3, 4}), w = tensor<float>({1, 1, 2}, {10, 1});
  const auto out = outputs(op({x, w}, {{"dilation", int64_t{2}}, {"channels_last", int64_t{1}}}));
  EXPECT_EQ(values<float>(out[0]), (Floats{1, 2, 13, 24}));
  EXPECT_EQ(shape(out[1]), (Ints{1, 2, 1}));
  EXPECT_EQ(values<float>(out[1]), (Floats{3, 4}));
  const auto y = values<float>(
      outputs(op({tensor<float>({1, 1, 1}, {2}), tensor<float>({1, 1, 1}, {1})}, {{"activation", "silu"}}))[0]);
  EXPECT_NEAR(y[0], 2 / (1 + std::exp(-2.0f)), 1e-6);
}

TEST(CausalConv, Checks) {
  const auto x = tensor<float>({1, 2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_NE(failure(op({x, tensor<float>({1, 1, 1}, {1})})).find("{1,1,1}"), std::string::npos);
  EXPECT_NE(failure(op({x, tensor<float>({2, 1, 1}, {1, 1})}, {{"ndim", int64_t{2}}})).find("ndim"), std::string::npos);
  OpRun three = op({x, tensor<float>({2, 1, 1}, {1, 1})});
  three.outputs = 3;
  EXPECT_NE(failure(three).find("state_update"), std::string::npos);
}

}  // namespace
}  // namespace trunnion::ops::test
