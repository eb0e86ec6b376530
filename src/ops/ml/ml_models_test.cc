#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

using Strings = std::vector<std::string>;

OpRun ml(std::string op, std::vector<Value> inputs, std::vector<ir::Attr> attrs, int outputs = 1, int opset = 1) {
  return {.op = std::move(op),
          .opset = opset,
          .inputs = std::move(inputs),
          .attrs = std::move(attrs),
          .outputs = outputs,
          .domain = "ai.onnx.ml"};
}
void expect_near(const Value& have, const Floats& want) {
  const auto v = values<float>(have);
  ASSERT_EQ(v.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(v[i], want[i], 1e-6) << i;
}

TEST(LinearRegressor, Targets) {
  const auto y = output(ml(
      "LinearRegressor", {tensor<float>({2, 2}, {1, 2, 3, 4})},
      {{"coefficients", Floats{1, 10, 2, 20, 3, 30}}, {"intercepts", Floats{100, 200, 300}}, {"targets", int64_t{3}}}));
  EXPECT_EQ(values<float>(y), (Floats{121, 242, 363, 143, 286, 429}));
  EXPECT_EQ(
      values<float>(output(ml("LinearRegressor", {tensor<int32_t>({2}, {1, 2})}, {{"coefficients", Floats{1, 10}}}))),
      (Floats{21}));
  EXPECT_NE(failure(ml("LinearRegressor", {tensor<float>({1, 3}, {1, 2, 3})}, {{"coefficients", Floats{1, 10}}}))
                .find("3 features"),
            std::string::npos);
}

TEST(LinearClassifier, Classes) {
  auto r = outputs(ml("LinearClassifier", {tensor<float>({2, 2}, {1, 0, 0, 1})},
                      {{"coefficients", Floats{1, 0, 0, 2, -1, 1}},
                       {"intercepts", Floats{0, 0, 0.5f}},
                       {"classlabels_strings", Strings{"a", "b", "c"}},
                       {"post_transform", std::string("SOFTMAX")}},
                      2));
  EXPECT_EQ(texts(r[0]), (Strings{"a", "b"}));
  expect_near(r[1], {0.6285317f, 0.2312239f, 0.1402444f, 0.0776956f, 0.5740972f, 0.3482073f});
  r = outputs(ml("LinearClassifier", {tensor<double>({2, 1}, {1, -1})},
                 {{"coefficients", Floats{2}},
                  {"intercepts", Floats{0}},
                  {"classlabels_ints", Ints{4, 9}},
                  {"post_transform", std::string("LOGISTIC")}},
                 2));
  EXPECT_EQ(values<int64_t>(r[0]), (Ints{9, 4}));
  expect_near(r[1], {0.1192029f, 0.8807971f, 0.8807971f, 0.1192029f});
}

TEST(SvmRegressor, KernelsAndOneClass) {
  const Tensor x = tensor<float>({2, 2}, {1, 0, 0, 2});
  const std::vector<ir::Attr> base{{"coefficients", Floats{1, -2}},
                                   {"support_vectors", Floats{1, 0, 0, 1}},
                                   {"n_supports", int64_t{2}},
                                   {"rho", Floats{0.5f}},
                                   {"kernel_params", Floats{0.5f, 1, 2}}};
  const auto with = [&](const char* kernel, bool one_class = false) {
    auto attrs = base;
    attrs.push_back({"kernel_type", std::string(kernel)});
    attrs.push_back({"one_class", int64_t{one_class}});
    return output(ml("SVMRegressor", {x}, attrs));
  };
  expect_near(with("LINEAR"), {1.5f, -3.5f});
  expect_near(with("POLY"), {0.75f, -6.5f});
  expect_near(with("RBF"), {1 - 2 * std::exp(-1.0f) + 0.5f, std::exp(-2.5f) - 2 * std::exp(-0.5f) + 0.5f});
  expect_near(with("SIGMOID"),
              {std::tanh(1.5f) - 2 * std::tanh(1.0f) + 0.5f, std::tanh(1.0f) - 2 * std::tanh(2.0f) + 0.5f});
  expect_near(with("LINEAR", true), {1, -1});
}

TEST(SvmClassifier, VotesAndProbabilities) {
  // Three classes with one support vector each.
  std::vector<ir::Attr> attrs{
      {"coefficients", Floats{1, -1, -1, 1, 1, -1}}, {"support_vectors", Floats{1, 0, 0, 1, -1, -1}},
      {"vectors_per_class", Ints{1, 1, 1}},          {"rho", Floats{0, 0, 0}},
      {"kernel_type", std::string("LINEAR")},        {"classlabels_ints", Ints{3, 5, 8}}};
  const Tensor x = tensor<float>({3, 2}, {2, 0, 0, 2, -1, -1});
  auto r = outputs(ml("SVMClassifier", {x}, attrs, 2));
  EXPECT_EQ(values<int64_t>(r[0]), (Ints{3, 5, 8}));
  expect_near(r[1], {2, 4, 2, -2, 2, 4, 0, -3, -3});
  attrs.push_back({"prob_a", Floats{-1, -1, -1}});
  attrs.push_back({"prob_b", Floats{0, 0, 0}});
  r = outputs(ml("SVMClassifier", {x}, attrs, 2));
  EXPECT_EQ(shape(r[1]), (Ints{3, 3}));
  const auto p = values<float>(r[1]);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(p[3 * i] + p[3 * i + 1] + p[3 * i + 2], 1, 1e-5);
    EXPECT_GT(p[4 * i], 0.7f);
  }
}

TEST(SvmClassifier, TwoClassesAndLinear) {
  auto r = outputs(ml("SVMClassifier", {tensor<float>({2, 1}, {2, -2})},
                      {{"coefficients", Floats{1, -1}},
                       {"support_vectors", Floats{1, -1}},
                       {"vectors_per_class", Ints{1, 1}},
                       {"rho", Floats{0.5f}},
                       {"classlabels_strings", Strings{"a", "b"}}},
                      2));
  EXPECT_EQ(texts(r[0]), (Strings{"a", "b"}));
  expect_near(r[1], {-4.5f, 4.5f, 3.5f, -3.5f});
  r = outputs(
      ml("SVMClassifier", {tensor<float>({1, 2}, {1, 2})},
         {{"coefficients", Floats{1, 0, 0, 1, 1, 1}}, {"rho", Floats{0.25f}}, {"classlabels_ints", Ints{7, 8, 9}}}, 2));
  EXPECT_EQ(values<int64_t>(r[0]), (Ints{9}));
  expect_near(r[1], {1.25f, 2.25f, 3.25f});
  EXPECT_NE(failure(ml("SVMClassifier", {tensor<float>({1, 2}, {1, 2})},
                       {{"coefficients", Floats{1}},
                        {"support_vectors", Floats{1, 2, 3}},
                        {"vectors_per_class", Ints{1, 1}},
                        {"rho", Floats{1}},
                        {"classlabels_ints", Ints{7, 8}}},
                       2))
                .find("do not go with"),
            std::string::npos);
  // A single class has one probability.
  r = outputs(ml("SVMClassifier", {tensor<float>({2, 1}, {2, -2})},
                 {{"coefficients", Floats{1}},
                  {"support_vectors", Floats{1}},
                  {"vectors_per_class", Ints{1}},
                  {"rho", Floats{0}},
                  {"prob_a", Floats{1}},
                  {"prob_b", Floats{1}},
                  {"classlabels_ints", Ints{7}}},
                 2));
  EXPECT_EQ(shape(r[1]), (Ints{2, 1}));
  EXPECT_EQ(values<float>(r[1]), (Floats{1, 1}));
}

}  // namespace
}  // namespace trunnion::ops::test
