#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

OpRun conv(std::string op, std::vector<Value> inputs, std::vector<ir::Attr> attrs) {
  return {.op = std::move(op),
          .opset = 1,
          .inputs = std::move(inputs),
          .attrs = std::move(attrs),
          .domain = "com.microsoft"};
}
ir::Attr activation(const char* name) { return {"activation", std::string(name)}; }

// Two channels of 1 x 3; one filter that sums them over two positions.
const Tensor x = tensor<float>({1, 2, 1, 3}, {1, 2, 3, -1, -4, 5}), w = tensor<float>({1, 2, 1, 2}, {1, 1, 1, 1}),
             bias = tensor<float>({1}, {1});

TEST(FusedConv, BiasSumAndActivation) {
  // Sums -2 and 6; with bias -1 and 7.
  EXPECT_EQ(values<float>(output(conv("FusedConv", {x, w, bias}, {activation("Relu")}))), (Floats{0, 7}));
  const Tensor z = tensor<float>({1, 1, 1, 2}, {3, -10});
  auto r =
      conv("FusedConv", {x, w, bias, z}, {activation("LeakyRelu"), {"activation_params", std::vector<float>{0.5f}}});
  EXPECT_EQ(values<float>(output(r)), (Floats{2, -1.5f}));
  r.constant = {false, true, true};
  EXPECT_EQ(values<float>(output(r)), (Floats{2, -1.5f}));
  r.attrs = {activation("Clip"), {"activation_params", std::vector<float>{-1, 0.5f}}};
  EXPECT_EQ(values<float>(output(r)), (Floats{0.5f, -1}));
  r.attrs = {activation("HardSigmoid"), {"activation_params", std::vector<float>{0.25f, 0.5f}}};
  EXPECT_EQ(values<float>(output(r)), (Floats{1, 0}));
  r.inputs[2] = Tensor{};
  r.attrs = {};
  EXPECT_EQ(values<float>(output(r)), (Floats{1, -4}));
}

TEST(FusedConv, Misfits) {
  EXPECT_NE(failure(conv("FusedConv", {x, w}, {activation("LeakyRelu")})).find("LeakyRelu needs 1"), std::string::npos);
  EXPECT_NE(failure(conv("FusedConv", {x, w}, {activation("Softplus")})).find("cannot compute"), std::string::npos);
  EXPECT_NE(failure(conv("FusedConv", {x, w, Tensor{}, tensor<float>({1}, {0})}, {})).find("residual"),
            std::string::npos);
}

TEST(NhwcConv, ChannelsLast) {
  const Tensor last = tensor<float>({1, 1, 3, 2}, {1, -1, 2, -4, 3, 5});
  const auto y = output(conv("NhwcConv", {last, w, bias}, {}));
  EXPECT_EQ(values<float>(y), (Floats{-1, 7}));
  EXPECT_EQ(shape(y), (Ints{1, 1, 2, 1}));
  EXPECT_EQ(values<float>(output(conv("NhwcFusedConv", {last, w, bias}, {activation("Relu")}))), (Floats{0, 7}));
}

}  // namespace
}  // namespace trunnion::ops::test
