#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

float gate(float x, float alpha = 1) { return x / (1 + std::exp(-alpha * x)); }

OpRun swi_glu(Tensor a, Tensor b, std::vector<ir::Attr> attrs = {}) {
  return {.op = "SwiGLU", .opset = 28, .inputs = {a, b}, .attrs = std::move(attrs)};
}

TEST(SwiGlu, ValuesAndAlpha) {
  const Tensor a = tensor<float>({2, 2}, {-1, 0, 1, 3}), b = tensor<float>({2, 2}, {2, 5, -1, 0.5f});
  const auto y = values<float>(output(swi_glu(a, b)));
  const auto z = values<float>(output(swi_glu(a, b, {{"alpha", 2.0f}})));
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(y[i], gate(a.data<float>()[i]) * b.data<float>()[i], 1e-6f);
    EXPECT_NEAR(z[i], gate(a.data<float>()[i], 2) * b.data<float>()[i], 1e-6f);
  }
}

TEST(SwiGlu, BlocksOfALongTensor) {
  Floats a(1000), b(1000);
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<float>(i) / 100 - 5;
    b[i] = static_cast<float>(i % 7);
  }
  const auto y = values<float>(output(swi_glu(tensor<float>({1000}, a), tensor<float>({1000}, b))));
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(y[i], gate(a[i]) * b[i], 2e-5f) << i;
}

TEST(SwiGlu, OtherTypes) {
  EXPECT_NEAR(widened(output(swi_glu(half({1}, {1}), half({1}, {2}))))[0], 2 * gate(1), 1e-3f);
  EXPECT_NEAR(widened(output(swi_glu(bfloat({1}, {1}), bfloat({1}, {2}))))[0], 2 * gate(1), 1e-2f);
  EXPECT_NEAR(values<double>(output(swi_glu(tensor<double>({1}, {1}), tensor<double>({1}, {2}))))[0],
              2 / (1 + std::exp(-1.0)), 1e-12);
  EXPECT_EQ(values<float>(output(swi_glu(tensor<float>({0, 3}, {}), tensor<float>({0, 3}, {})))).size(), 0u);
}

TEST(SwiGlu, ShapesMustAgree) {
  EXPECT_NE(failure(swi_glu(tensor<float>({2}, {1, 2}), tensor<float>({1}, {1}))).find("{2} and {1}"),
            std::string::npos);
  const OpRun op{.op = "SwiGLU", .opset = 28};
  EXPECT_EQ(inferred(op, {fact({symbol("N"), Dim(3)}), fact({Dim(2), symbol("C")})}), "{2,3}");
}

}  // namespace
}  // namespace trunnion::ops::test
