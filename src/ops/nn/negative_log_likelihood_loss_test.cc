#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

ir::Attr reduction(const char* v) { return {"reduction", std::string(v)}; }

TEST(Losses, NegativeLogLikelihood) {
  const Tensor x = tensor<float>({2, 3}, {-1, -2, -3, -4, -5, -6}), t = tensor<int64_t>({2}, {2, 0});
  OpRun r{.op = "NegativeLogLikelihoodLoss", .opset = 13, .inputs = {x, t}};
  EXPECT_EQ(values<float>(output(r)), Floats{3.5});
  r.attrs = {reduction("none")};
  EXPECT_EQ(values<float>(output(r)), (Floats{3, 4}));
  r.inputs.push_back(tensor<float>({3}, {2, 1, .5}));
  EXPECT_EQ(values<float>(output(r)), (Floats{1.5, 8}));
  r.attrs = {reduction("sum")};
  EXPECT_EQ(values<float>(output(r)), Floats{9.5});
  r.attrs = {reduction("mean")};
  EXPECT_FLOAT_EQ(values<float>(output(r))[0], 3.8f);
  r.attrs = {reduction("mean"), {"ignore_index", int64_t{2}}};
  EXPECT_EQ(values<float>(output(r)), Floats{4});
  r.inputs[1] = tensor<int64_t>({2}, {3, 0});
  EXPECT_NE(failure(r).find("target 0 is 3"), std::string::npos);
  // With positions behind the classes.
  EXPECT_EQ(
      values<double>(output({.op = "NegativeLogLikelihoodLoss",
                             .opset = 13,
                             .inputs = {tensor<double>({1, 2, 2}, {-1, -2, -3, -4}), tensor<int32_t>({1, 2}, {1, 0})},
                             .attrs = {reduction("none")}})),
      (std::vector<double>{3, 2}));
}

TEST(Losses, SoftmaxCrossEntropy) {
  const Tensor x = tensor<float>({1, 2}, {0, 1});
  const auto y =
      outputs({.op = "SoftmaxCrossEntropyLoss", .opset = 13, .inputs = {x, tensor<int64_t>({1}, {1})}, .outputs = 2});
  EXPECT_NEAR(values<float>(y[0])[0], std::log1p(std::exp(-1.0)), 1e-6);
  EXPECT_NEAR(values<float>(y[1])[0], -std::log1p(std::exp(1.0)), 1e-6);
  EXPECT_EQ(shape(y[0]), Ints{});
  EXPECT_NEAR(widened(output({.op = "SoftmaxCrossEntropyLoss",
                              .opset = 13,
                              .inputs = {half({1, 2}, {0, 0}), tensor<int32_t>({1}, {0})}}))[0],
              .6931, 1e-3);
  EXPECT_EQ(inferred({.op = "SoftmaxCrossEntropyLoss", .opset = 13, .attrs = {reduction("none")}},
                     {fact({symbol("N"), 5, symbol("D")}), fact({symbol("N"), symbol("D")}, DType::i64)}),
            "{N,D}");
}

}  // namespace
}  // namespace trunnion::ops::test
