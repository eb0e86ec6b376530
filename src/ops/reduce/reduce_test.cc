#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

const Tensor kX = tensor<float>({2, 3, 2}, {1, -2, 3, 4, -5, 6, 7, 8, 9, 10, 11, 12});

OpRun reduction(const std::string& op, Tensor x, Ints axes, bool keepdims = false, int opset = 20) {
  OpRun r{.op = op, .opset = opset, .inputs = {std::move(x)}, .attrs = {{"keepdims", int64_t{keepdims}}}};
  if (opset >= 18)
    r.inputs.push_back(tensor<int64_t>({static_cast<int64_t>(axes.size())}, axes));
  else
    r.attrs.push_back({"axes", axes});
  return r;
}
Floats reduced(const std::string& op, Tensor x, Ints axes) {
  return values<float>(output(reduction(op, std::move(x), std::move(axes))));
}

TEST(Reduce, EveryOperation) {
  const auto close = [](const Floats& a, const std::vector<double>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-5 * std::fmax(1, std::fabs(b[i])));
  };
  EXPECT_EQ(reduced("ReduceSum", kX, {1}), (Floats{-1, 8, 27, 30}));
  close(reduced("ReduceMean", kX, {-1}), {-.5, 3.5, .5, 7.5, 9.5, 11.5});
  EXPECT_EQ(reduced("ReduceMax", kX, {0, 1}), (Floats{11, 12}));
  EXPECT_EQ(reduced("ReduceMin", kX, {0, 2}), (Floats{-2, 3, -5}));  // not neighbours
  EXPECT_EQ(reduced("ReduceProd", kX, {1}), (Floats{-15, -48, 693, 960}));
  EXPECT_EQ(reduced("ReduceSumSquare", kX, {1}), (Floats{35, 56, 251, 308}));
  EXPECT_EQ(reduced("ReduceL1", kX, {1}), (Floats{9, 12, 27, 30}));
  close(reduced("ReduceL2", kX, {0, 2}), {std::sqrt(118.), std::sqrt(206.), std::sqrt(326.)});
  close(reduced("ReduceLogSum", kX, {0, 2}), {std::log(14.), std::log(26.), std::log(24.)});
  close(reduced("ReduceLogSumExp", tensor<float>({2, 2}, {1, 2, 1000, 1000}), {1}),
        {2 + std::log1p(std::exp(-1.)), 1000 + std::log(2.)});
}

TEST(Reduce, AxesAndShapes) {
  EXPECT_EQ(shape(output(reduction("ReduceSum", kX, {1}, true))), (Ints{2, 1, 2}));
  EXPECT_EQ(shape(output(reduction("ReduceMax", kX, {-3, 2}, false, 11))), (Ints{3}));
  const auto all = outputs({.op = "ReduceSum", .opset = 13, .inputs = {kX}});
  EXPECT_EQ(shape(all[0]), (Ints{1, 1, 1}));
  EXPECT_EQ(values<float>(all[0]), Floats{64});
  EXPECT_EQ(shape(output(reduction("ReduceSum", kX, {}))), Ints{});
  EXPECT_EQ(values<float>(output({.op = "ReduceL1",
                                  .opset = 18,
                                  .inputs = {tensor<float>({2}, {-3, 4})},
                                  .attrs = {{"noop_with_empty_axes", int64_t{1}}}})),
            (Floats{3, 4}));
  EXPECT_NE(failure(reduction("ReduceSum", kX, {3})).find("axis 3 is out of range for rank 3"), std::string::npos);
  EXPECT_EQ(values<float>(output({.op = "ReduceMean", .inputs = {tensor<float>({}, {4})}})), Floats{4});
}

TEST(Reduce, EmptySets) {
  const auto empty = [](const char* op) { return reduced(op, tensor<float>({2, 0}, {}), {1}); };
  EXPECT_EQ(empty("ReduceSum"), (Floats{0, 0}));
  EXPECT_EQ(empty("ReduceProd"), (Floats{1, 1}));
  EXPECT_EQ(empty("ReduceMax"), (Floats{-INFINITY, -INFINITY}));
  EXPECT_EQ(empty("ReduceMin"), (Floats{INFINITY, INFINITY}));
  EXPECT_EQ(empty("ReduceL2"), (Floats{0, 0}));
  EXPECT_EQ(empty("ReduceLogSum"), (Floats{-INFINITY, -INFINITY}));
  EXPECT_EQ(empty("ReduceLogSumExp"), (Floats{-INFINITY, -INFINITY}));
  EXPECT_TRUE(reduced("ReduceSum", tensor<float>({2, 0, 3}, {}), {0}).empty());
  EXPECT_EQ(values<int8_t>(output(reduction("ReduceMax", tensor<int8_t>({0}, {}), {0}))), std::vector<int8_t>{-128});
}

TEST(Reduce, OtherTypes) {
  EXPECT_EQ(values<int64_t>(output(reduction("ReduceSum", tensor<int64_t>({3}, {1, 2, 3}), {0}))), Ints{6});
  EXPECT_EQ(values<int32_t>(output(reduction("ReduceL2", tensor<int32_t>({2}, {3, 4}), {0}))), std::vector<int32_t>{5});
  EXPECT_EQ(values<bool>(output(reduction("ReduceMax", tensor<bool>({2, 2}, {false, true, false, false}), {1}))),
            (std::vector<bool>{true, false}));
  EXPECT_EQ(
      values<uint8_t>(output(reduction("ReduceMin", tensor<uint8_t>({2, 2, 2}, {9, 2, 3, 4, 5, 1, 7, 8}), {0, 2}))),
      (std::vector<uint8_t>{1, 3}));
  EXPECT_EQ(widened(output(reduction("ReduceMean", half({2}, {1, 2}), {0}))), Floats{1.5});
  EXPECT_EQ(widened(output(reduction("ReduceSum", bfloat({3}, {256, 1, 1}), {0}))), Floats{258});
  EXPECT_TRUE(std::isnan(reduced("ReduceMax", tensor<float>({3}, {1, NAN, 3}), {0})[0]));
}

TEST(Reduce, LongRowsAreCut) {
  std::vector<float> v(300000, 1);
  v[299999] = 5;
  const Tensor x = tensor<float>({1, 300000}, v);
  EXPECT_EQ(reduced("ReduceSum", x, {1}), Floats{300004});
  EXPECT_EQ(reduced("ReduceMax", x, {1}), Floats{5});
  EXPECT_EQ(reduced("ReduceSumSquare", x, {1}), Floats{300024});
  EXPECT_FLOAT_EQ(reduced("ReduceMean", x, {1})[0], 300004 / 300000.f);
}

TEST(Reduce, Inference) {
  const OpRun r{.op = "ReduceSum", .opset = 13, .attrs = {{"keepdims", int64_t{0}}}};
  EXPECT_EQ(inferred(r, {fact({symbol("N"), 3, 4}), content_fact({Dim(1)})}), "{N,4}");
  EXPECT_EQ(inferred(r, {fact({symbol("N"), 3, 4}), fact({1}, DType::i64)}), "{?,?}");
  const OpRun p{.op = "ReduceProd", .opset = 18, .attrs = {{"keepdims", int64_t{0}}}};
  EXPECT_EQ(content(p, {content_fact({symbol("N"), Dim(3)}), content_fact({Dim(0)})}), "{3*N}");
}

}  // namespace
}  // namespace trunnion::ops::test
