#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

OpRun fold(Tensor x, Ints image, Ints block, std::vector<ir::Attr> attrs = {}) {
  const auto n = static_cast<int64_t>(image.size());
  return {.op = "Col2Im",
          .opset = 18,
          .inputs = {std::move(x), tensor<int64_t>({n}, image), tensor<int64_t>({n}, block)},
          .attrs = std::move(attrs)};
}

TEST(Col2Im, OverlapsAddUp) {
  const auto y = output(fold(tensor<float>({1, 2, 3}, {1, 2, 3, 10, 20, 30}), {1, 4}, {1, 2}));
  EXPECT_EQ(shape(y), (Ints{1, 1, 1, 4}));
  EXPECT_EQ(values<float>(y), (Floats{1, 12, 23, 30}));
}

TEST(Col2Im, StridesPadsDilations) {
  EXPECT_EQ(
      values<float>(output(fold(tensor<float>({1, 2, 2}, {1, 2, 3, 4}), {1, 4}, {1, 2}, {{"strides", Ints{1, 2}}}))),
      (Floats{1, 3, 2, 4}));
  EXPECT_EQ(values<float>(output(
                fold(tensor<float>({1, 2, 3}, {1, 2, 3, 4, 5, 6}), {1, 2}, {1, 2}, {{"pads", Ints{0, 1, 0, 1}}}))),
            (Floats{6, 8}));
  EXPECT_EQ(values<float>(output(fold(tensor<float>({1, 2, 1}, {1, 2}), {1, 3}, {1, 2}, {{"dilations", Ints{1, 2}}}))),
            (Floats{1, 0, 2}));
  EXPECT_EQ(values<int32_t>(output(fold(tensor<int32_t>({1, 4, 1}, {1, 2, 3, 4}), {2, 2}, {2, 2}))),
            (std::vector<int32_t>{1, 2, 3, 4}));
}

TEST(Col2Im, Checks) {
  EXPECT_NE(
      failure(fold(tensor<float>({1, 2, 2}, {1, 2, 3, 4}), {1, 4}, {1, 2})).find("2 blocks, the image shape gives 3"),
      std::string::npos);
  EXPECT_NE(failure(fold(tensor<float>({1, 3, 1}, {1, 2, 3}), {1, 2}, {1, 2})).find("3 rows do not divide"),
            std::string::npos);
  EXPECT_EQ(inferred({.op = "Col2Im", .opset = 18},
                     {fact({symbol("N"), 12, 4}), content_fact({symbol("H"), symbol("W")}), fact({2}, DType::i64)}),
            "{N,?,H,W}");
}

TEST(Col2Im, ComplexNumbers) {
  // Two blocks of two elements that overlap in the middle of an image of 1 x 3; real and imaginary parts in turn.
  const OpRun run{.op = "Col2Im",
                  .opset = 18,
                  .inputs = {raw<float>(DType::c64, {1, 2, 2}, {1, 10, 2, 20, 3, 30, 4, 40}),
                             tensor<int64_t>({2}, {1, 3}), tensor<int64_t>({2}, {1, 2})}};
  EXPECT_EQ(raw_values<float>(output(run)), (Floats{1, 10, 5, 50, 4, 40}));
}

}  // namespace
}  // namespace trunnion::ops::test
