// SkipLayerNormalization and SkipSimplifiedLayerNormalization.
#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

OpRun skip(std::vector<Value> inputs, int outputs = 1, const char* op = "SkipLayerNormalization") {
  return {.op = op, .opset = 1, .inputs = std::move(inputs), .outputs = outputs, .domain = "com.microsoft"};
}

void expect_near(const Value& v, const Floats& want, float tolerance = 1e-5f) {
  const auto got = v.tensor().dtype() == DType::f16 ? widened(v) : values<float>(v);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], tolerance) << i;
}

TEST(SkipLayerNormalization, RowsAndSum) {
  const auto x = tensor<float>({1, 2, 2}, {1, 2, 3, 4}), s = tensor<float>({1, 2, 2}, {1, 2, 0, -3});
  const auto gamma = tensor<float>({2}, {2, 1}), beta = tensor<float>({2}, {0, 1}), bias = tensor<float>({2}, {1, 0});
  // Sums (3,4) and (4,1).
  const auto out = outputs(skip({x, s, gamma, beta, bias}, 4));
  expect_near(out[0], {-2, 2, 2, 0});
  expect_near(out[1], {3.5f, 2.5f});
  expect_near(out[2], {2, 1 / 1.5f});
  expect_near(out[3], {3, 4, 4, 1});
  EXPECT_EQ(shape(out[1]), (Ints{1, 2, 1}));
  expect_near(output(skip({x, s, gamma})), {-2, 1, 2, -1});
}

TEST(SkipLayerNormalization, SkipThatRepeats) {
  const auto x = tensor<float>({2, 2, 2}, {1, 2, 3, 4, 5, 7, 1, 0}), gamma = tensor<float>({2}, {1, 1});
  const Floats want{-1, 1, 1, -1, -1, 1, 1, -1};
  for (const auto& s : {tensor<float>({1, 2, 2}, {0, 0, 2, 0}), tensor<float>({2, 2}, {0, 0, 2, 0})})
    expect_near(output(skip({x, s, gamma})), want);
}

TEST(SkipLayerNormalization, Rms) {
  const auto x = tensor<float>({1, 2}, {1, 3}), s = tensor<float>({1, 2}, {1, 1}), gamma = tensor<float>({2}, {1, 2});
  const auto out = outputs(skip({x, s, gamma, tensor<float>({2}, {1, 0})}, 4, "SkipSimplifiedLayerNormalization"));
  const float root = std::sqrt((9.f + 16.f) / 2);
  expect_near(out[0], {3 / root, 8 / root});
  expect_near(out[3], {3, 4});
}

TEST(SkipLayerNormalization, Half) {
  const auto x = half({1, 2, 2}, {1, 2, 3, 4}), s = half({1, 2, 2}, {1, 2, 0, -3});
  const auto out = outputs(skip({x, s, half({2}, {2, 1}), half({2}, {0, 1}), half({2}, {1, 0})}, 4));
  expect_near(out[0], {-2, 2, 2, 0}, 2e-3f);
  EXPECT_EQ(out[0].tensor().dtype(), DType::f16);
  EXPECT_EQ(out[1].tensor().dtype(), DType::f32);
}

TEST(SkipLayerNormalization, ShapesAndChecks) {
  const auto op = skip({});
  const auto x = fact({symbol("B"), symbol("S"), Dim(4)});
  EXPECT_EQ(inferred(op, {x, x, fact({Dim(4)})}), "{B,S,4}");
  EXPECT_NE(inferred(op, {x, x, fact({Dim(3)})}).find("input 2 has 3 elements"), std::string::npos);
  const auto fixed = fact({Dim(2), Dim(3), Dim(4)});
  EXPECT_NE(inferred(op, {fixed, fact({Dim(2), Dim(1), Dim(4)}), fact({Dim(4)})}).find("skip of shape {2,1,4}"),
            std::string::npos);
  for (const auto& dims : {SymShape{}, SymShape{Dim(1)}, SymShape{Dim(3), Dim(1)}})
    EXPECT_NE(inferred(op, {fixed, fact(dims), fact({Dim(4)})}).find("does not go with"), std::string::npos);
}

}  // namespace
}  // namespace trunnion::ops::test
