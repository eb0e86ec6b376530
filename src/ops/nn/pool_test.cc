#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

const Tensor kX = tensor<float>({1, 1, 4, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16});

OpRun pooling(const std::string& op, Tensor x, Ints kernel, std::vector<ir::Attr> more = {}, int opset = 22) {
  more.push_back({"kernel_shape", kernel});
  return {.op = op, .opset = opset, .inputs = {std::move(x)}, .attrs = std::move(more)};
}

TEST(Pool, Max) {
  EXPECT_EQ(values<float>(output(pooling("MaxPool", kX, {2, 2}, {{"strides", Ints{2, 2}}}))), (Floats{6, 8, 14, 16}));
  EXPECT_EQ(values<float>(output(pooling("MaxPool", kX, {2, 2}, {{"dilations", Ints{2, 2}}}))),
            (Floats{11, 12, 15, 16}));
  EXPECT_EQ(values<float>(output(pooling("MaxPool", kX, {3, 3}, {{"strides", Ints{2, 2}}, {"ceil_mode", int64_t{1}}}))),
            (Floats{11, 12, 15, 16}));
  EXPECT_EQ(values<float>(
                output(pooling("MaxPool", tensor<float>({1, 1, 4}, {-4, -3, -2, -1}), {3}, {{"pads", Ints{1, 1}}}))),
            (Floats{-3, -2, -1, -1}));
  EXPECT_EQ(widened(output(pooling("MaxPool", half({1, 1, 2}, {1, 2}), {2}))), Floats{2});
  EXPECT_EQ(values<int8_t>(output(pooling("MaxPool", tensor<int8_t>({1, 2, 2}, {-3, -2, 5, 4}), {2}))),
            (std::vector<int8_t>{-2, 5}));
  EXPECT_TRUE(std::isnan(values<float>(output(pooling("MaxPool", tensor<float>({1, 1, 3}, {1, NAN, 2}), {3})))[0]));
}

TEST(Pool, MaxIndices) {
  OpRun r = pooling("MaxPool", tensor<float>({1, 2, 2, 2}, {1, 4, 3, 2, 9, 1, 9, 1}), {2, 2});
  r.outputs = 2;
  EXPECT_EQ(values<int64_t>(outputs(r)[1]), (Ints{1, 4}));
  r.attrs.push_back({"storage_order", int64_t{1}});
  EXPECT_EQ(values<int64_t>(outputs(r)[1]), (Ints{2, 4}));
}

TEST(Pool, AutoPad) {
  const auto same = [&](const char* mode) {
    return pooling("MaxPool", kX, {3, 3}, {{"strides", Ints{2, 2}}, {"auto_pad", std::string(mode)}});
  };
  EXPECT_EQ(values<float>(output(same("SAME_UPPER"))), (Floats{11, 12, 15, 16}));
  EXPECT_EQ(values<float>(output(same("SAME_LOWER"))), (Floats{6, 8, 14, 16}));
  EXPECT_EQ(values<float>(output(same("VALID"))), Floats{11});
  EXPECT_NE(failure(same("OTHER")).find("'OTHER'"), std::string::npos);
}

TEST(Pool, Average) {
  EXPECT_EQ(values<float>(output(pooling("AveragePool", kX, {2, 2}, {{"strides", Ints{2, 2}}}))),
            (Floats{3.5, 5.5, 11.5, 13.5}));
  const Tensor line = tensor<float>({1, 1, 3}, {3, 6, 9});
  EXPECT_EQ(values<float>(output(pooling("AveragePool", line, {3}, {{"pads", Ints{1, 1}}}))), (Floats{4.5, 6, 7.5}));
  const std::vector<ir::Attr> padded = {{"pads", Ints{1, 1}}, {"count_include_pad", int64_t{1}}};
  EXPECT_EQ(values<float>(output(pooling("AveragePool", line, {3}, padded))), (Floats{3, 6, 5}));
  // The last window hangs over: only what exists (or is padding) counts.
  const std::vector<ir::Attr> ceil = {
      {"strides", Ints{2}}, {"ceil_mode", int64_t{1}}, {"count_include_pad", int64_t{1}}};
  EXPECT_EQ(values<float>(output(pooling("AveragePool", tensor<float>({1, 1, 4}, {1, 2, 3, 4}), {3}, ceil))),
            (Floats{2, 3.5}));
  EXPECT_EQ(values<float>(output(pooling("AveragePool", line, {2}, {{"dilations", Ints{2}}}))), Floats{6});
  EXPECT_EQ(values<double>(output(pooling("AveragePool", tensor<double>({1, 1, 3}, {3, 6, 9}), {3}, padded))),
            (std::vector<double>{3, 6, 5}));
}

TEST(Pool, Lp) {
  const Tensor line = tensor<float>({1, 1, 3}, {3, -4, 0});
  EXPECT_EQ(values<float>(output(pooling("LpPool", line, {2}))), (Floats{5, 4}));
  EXPECT_EQ(values<float>(output(pooling("LpPool", line, {2}, {{"p", int64_t{1}}}))), (Floats{7, 4}));
  EXPECT_NEAR(values<double>(output(pooling("LpPool", tensor<double>({1, 1, 2}, {1, 2}), {2}, {{"p", int64_t{3}}})))[0],
              std::cbrt(9.0), 1e-12);
  EXPECT_EQ(values<float>(output(pooling("LpPool", line, {2}, {{"p", 2.0f}}, 1))), (Floats{5, 4}));
}

TEST(Pool, Shapes) {
  const SymShape x = {symbol("N"), 3, symbol("H"), 10};
  EXPECT_EQ(
      inferred(pooling("MaxPool", Tensor(), {3, 3}, {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}}), {fact(x)}),
      "{N,3,(H + 1) / 2,5}");
  EXPECT_EQ(
      inferred(pooling("MaxPool", Tensor(), {3, 3}), {fact({1, 1, 2, 10})}).find("does not fit") != std::string::npos,
      true);
  EXPECT_NE(inferred(pooling("MaxPool", Tensor(), {3, 3}), {fact({1, 1, 2})}).find("rank 4 is needed"),
            std::string::npos);
  // A window that would start in the padding behind the input is left out.
  EXPECT_EQ(
      inferred(pooling("MaxPool", Tensor(), {1}, {{"strides", Ints{2}}, {"ceil_mode", int64_t{1}}}), {fact({1, 1, 4})}),
      "{1,1,2}");
  EXPECT_EQ(shape(output(pooling("MaxPool", tensor<float>({0, 2, 4}, {}), {2}))), (Ints{0, 2, 3}));
}

TEST(Pool, Global) {
  const Tensor x = tensor<float>({1, 2, 2, 2}, {1, 2, 3, 4, -5, 0, 0, 1});
  const auto y = output({.op = "GlobalAveragePool", .inputs = {x}});
  EXPECT_EQ(values<float>(y), (Floats{2.5, -1}));
  EXPECT_EQ(shape(y), (Ints{1, 2, 1, 1}));
  EXPECT_EQ(values<float>(output({.op = "GlobalMaxPool", .inputs = {x}})), (Floats{4, 1}));
  EXPECT_EQ(values<float>(output({.op = "GlobalLpPool", .inputs = {x}, .attrs = {{"p", int64_t{1}}}})),
            (Floats{10, 6}));
  EXPECT_NEAR(values<float>(output({.op = "GlobalLpPool", .inputs = {x}, .attrs = {{"p", int64_t{3}}}}))[0],
              std::cbrt(100.0), 1e-5);
  EXPECT_EQ(widened(output({.op = "GlobalMaxPool", .inputs = {bfloat({1, 1, 2}, {1, 3})}})), Floats{3});
}

TEST(Pool, MaxUnpool) {
  const Tensor x = tensor<float>({1, 1, 2, 2}, {5, 6, 7, 8});
  OpRun r = pooling("MaxUnpool", x, {2, 2}, {{"strides", Ints{2, 2}}});
  r.inputs.push_back(tensor<int64_t>({1, 1, 2, 2}, {5, 7, 13, 15}));
  EXPECT_EQ(values<float>(output(r)), (Floats{0, 0, 0, 0, 0, 5, 0, 6, 0, 0, 0, 0, 0, 7, 0, 8}));
  r.inputs.push_back(tensor<int64_t>({4}, {1, 1, 5, 5}));
  Floats want(25, 0);
  want[6] = 5, want[8] = 6, want[16] = 7, want[18] = 8;
  EXPECT_EQ(values<float>(output(r)), want);
  r.inputs[1] = tensor<int64_t>({1, 1, 2, 2}, {5, 7, 13, 24});  // counted in the wanted shape
  EXPECT_EQ(values<float>(output(r))[24], 8);
  r.inputs[1] = tensor<int64_t>({1, 1, 2, 2}, {5, 7, -1, 25});
  EXPECT_NE(failure(r).find("index -1"), std::string::npos);
}

}  // namespace
}  // namespace trunnion::ops::test
