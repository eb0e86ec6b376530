#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

OpRun drop(std::string op, std::vector<Value> inputs) {
  return {.op = std::move(op),
          .opset = 1,
          .inputs = std::move(inputs),
          .attrs = {{"seed", int64_t{7}}},
          .outputs = 2,
          .domain = "com.microsoft"};
}
const Tensor x = tensor<float>({2, 2}, {1, 2, 3, 4}), bias = tensor<float>({2}, {10, 20}),
             residual = tensor<float>({2, 2}, {0.5f, 0.5f, 0.5f, -0.5f}), ratio = tensor<float>({}, {0.5f});

TEST(BiasDropout, Inference) {
  auto y = outputs(drop("BiasDropout", {x, bias, residual, ratio}));
  EXPECT_EQ(values<float>(y[0]), (Floats{11.5f, 22.5f, 13.5f, 23.5f}));
  EXPECT_EQ(values<bool>(y[1]), std::vector<bool>(4, true));
  y = outputs(drop("BitmaskDropout", {x}));
  EXPECT_EQ(values<float>(y[0]), values<float>(Value(x)));
  EXPECT_EQ(values<uint32_t>(y[1]), (std::vector<uint32_t>{~0u}));
  y = outputs(drop("BitmaskBiasDropout", {x, bias}));
  EXPECT_EQ(values<float>(y[0]), (Floats{11, 22, 13, 24}));
  EXPECT_NE(failure(drop("BiasDropout", {x, tensor<float>({3}, {1, 2, 3})})).find("broadcast"), std::string::npos);
}

TEST(BiasDropout, Training) {
  const Tensor many = tensor<float>({64}, Floats(64, 1.0f)), yes = tensor<bool>({}, {true});
  const auto y = outputs(drop("BitmaskBiasDropout", {many, tensor<float>({1}, {1}), many, ratio, yes}));
  const auto v = values<float>(y[0]);
  const auto bits = values<uint32_t>(y[1]);
  int kept = 0;
  for (size_t i = 0; i < 64; ++i) {
    const bool keep = bits[i / 32] >> i % 32 & 1;
    kept += keep;
    EXPECT_EQ(v[i], keep ? 5 : 1);  // (1 + 1) / (1 - 0.5) + 1
  }
  EXPECT_GT(kept, 16);
  EXPECT_LT(kept, 48);
}

}  // namespace
}  // namespace trunnion::ops::test
