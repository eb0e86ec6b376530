// Gelu, BiasGelu, FastGelu, QuickGelu and BiasSplitGelu.
#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

OpRun op(const char* name, std::vector<Value> inputs, std::vector<ir::Attr> attrs = {}) {
  return {.op = name, .opset = 1, .inputs = std::move(inputs), .attrs = std::move(attrs), .domain = "com.microsoft"};
}
float gelu(float x) { return 0.5f * x * (1 + std::erf(x / std::sqrt(2.0f))); }
float fast(float x) { return 0.5f * x * (1 + std::tanh(0.7978845608f * (x + 0.044715f * x * x * x))); }

void expect_near(const Value& v, const Floats& want, float tolerance = 1e-6f) {
  const auto got = v.tensor().dtype() == DType::f16 ? widened(v) : values<float>(v);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], tolerance) << i;
}

TEST(GeluFamily, Values) {
  const auto x = tensor<float>({2, 2}, {-1, 0, 0.5f, 2}), bias = tensor<float>({2}, {1, -0.5f});
  expect_near(output(op("Gelu", {x})), {gelu(-1), 0, gelu(0.5f), gelu(2)});
  expect_near(output(op("BiasGelu", {x, bias})), {0, gelu(-0.5f), gelu(1.5f), gelu(1.5f)});
  expect_near(output(op("FastGelu", {x})), {fast(-1), 0, fast(0.5f), fast(2)});
  expect_near(output(op("FastGelu", {x, bias})), {0, fast(-0.5f), fast(1.5f), fast(1.5f)});
  expect_near(output(op("QuickGelu", {x}, {{"alpha", 2.0f}})),
              {-1 / (1 + std::exp(2.0f)), 0, 0.5f / (1 + std::exp(-1.0f)), 2 / (1 + std::exp(-4.0f))});
  const auto split = output(op("BiasSplitGelu", {x, bias}));
  expect_near(split, {0 * gelu(-0.5f), 1.5f * gelu(1.5f)});
  EXPECT_EQ(shape(split), (Ints{2, 1}));
  expect_near(output(op("BiasGelu", {half({1, 2}, {-1, 2}), half({2}, {0, 1})})), {gelu(-1), gelu(3)}, 2e-3f);
}

TEST(GeluFamily, LongRows) {
  std::vector<float> x(3 * 5000), bias(5000), want;
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 13) - 6;
  for (size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<float>(i % 7) / 7;
  for (size_t i = 0; i < x.size(); ++i) want.push_back(gelu(x[i] + bias[i % 5000]));
  expect_near(output(op("BiasGelu", {tensor<float>({3, 5000}, x), tensor<float>({5000}, bias)})), want, 3e-6f);
}

TEST(GeluFamily, Checks) {
  EXPECT_NE(failure(op("BiasGelu", {tensor<float>({1, 2}, {1, 2}), tensor<float>({3}, {1, 2, 3})})).find("3 elements"),
            std::string::npos);
  EXPECT_NE(failure(op("BiasSplitGelu", {tensor<float>({1, 3}, {1, 2, 3}), tensor<float>({3}, {1, 2, 3})}))
                .find("even number"),
            std::string::npos);
}

}  // namespace
}  // namespace trunnion::ops::test
