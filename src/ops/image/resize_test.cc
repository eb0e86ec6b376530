#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

const Tensor kSquare = tensor<float>({1, 1, 2, 2}, {1, 2, 3, 4});

OpRun by_scales(Tensor x, Floats scales, std::vector<ir::Attr> attrs, int opset = 19) {
  const auto n = static_cast<int64_t>(scales.size());
  return {.op = "Resize",
          .opset = opset,
          .inputs = {std::move(x), Tensor(), tensor<float>({n}, scales)},
          .attrs = std::move(attrs),
          .constant = {false, false, true}};
}
OpRun by_sizes(Tensor x, Ints sizes, std::vector<ir::Attr> attrs, int opset = 19) {
  const auto n = static_cast<int64_t>(sizes.size());
  return {.op = "Resize",
          .opset = opset,
          .inputs = {std::move(x), Tensor(), Tensor(), tensor<int64_t>({n}, sizes)},
          .attrs = std::move(attrs)};
}
ir::Attr text(const char* name, const char* value) { return {name, std::string(value)}; }
void near(const Floats& a, const std::vector<double>& b, double tolerance = 1e-5) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], tolerance) << i;
}

TEST(Resize, Nearest) {
  const Floats twice = {1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4};
  EXPECT_EQ(values<float>(output(by_scales(kSquare, {1, 1, 2, 2}, {}))), twice);
  EXPECT_EQ(values<float>(output(by_sizes(kSquare, {1, 1, 4, 4}, {}))), twice);
  EXPECT_EQ(values<uint8_t>(output(by_scales(tensor<uint8_t>({2}, {7, 9}), {2}, {}))),
            (std::vector<uint8_t>{7, 7, 9, 9}));
  EXPECT_EQ(texts(output(by_scales(strings({2}, {"a", "b"}), {2}, {}))),
            (std::vector<std::string>{"a", "a", "b", "b"}));
  const Tensor line = tensor<float>({4}, {1, 2, 3, 4});
  EXPECT_EQ(values<float>(output(by_scales(
                line, {.5}, {text("nearest_mode", "ceil"), text("coordinate_transformation_mode", "asymmetric")}))),
            (Floats{1, 3}));
  EXPECT_EQ(values<float>(output(by_scales(line, {.6f}, {}))), (Floats{1, 3}));
}

TEST(Resize, OldVersions) {
  const Tensor x = tensor<float>({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Tensor small = tensor<float>({4}, {1, 1, .6f, .6f});
  EXPECT_EQ(values<float>(output({.op = "Resize", .opset = 10, .inputs = {x, small}})), (Floats{1, 3}));
  const Floats twice = {1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4};
  EXPECT_EQ(values<float>(
                output({.op = "Upsample", .opset = 7, .inputs = {kSquare}, .attrs = {{"scales", Floats{1, 1, 2, 2}}}})),
            twice);
  EXPECT_EQ(
      values<float>(output({.op = "Upsample", .opset = 9, .inputs = {kSquare, tensor<float>({4}, {1, 1, 2, 2})}})),
      twice);
  near(values<float>(output({.op = "Upsample",
                             .opset = 7,
                             .inputs = {tensor<float>({2}, {1, 3})},
                             .attrs = {{"scales", Floats{2}}, text("mode", "linear")}})),
       {1, 2, 3, 3});
}

TEST(Resize, Linear) {
  near(values<float>(output(by_scales(kSquare, {1, 1, 2, 2}, {text("mode", "linear")}))),
       {1, 1.25, 1.75, 2, 1.5, 1.75, 2.25, 2.5, 2.5, 2.75, 3.25, 3.5, 3, 3.25, 3.75, 4});
  const std::vector<ir::Attr> corners = {text("mode", "linear"),
                                         text("coordinate_transformation_mode", "align_corners")};
  near(values<float>(output(by_sizes(tensor<float>({3}, {0, 2, 8}), {5}, corners))), {0, 1, 2, 5, 8});
  const auto wide = values<double>(output(by_sizes(tensor<double>({3}, {0, 2, 8}), {5}, corners)));
  EXPECT_NEAR(wide[3], 5, 1e-6);
  near(widened(output(by_sizes(half({3}, {0, 2, 8}), {5}, corners))), {0, 1, 2, 5, 8});
  EXPECT_EQ(values<int32_t>(output(by_sizes(tensor<int32_t>({3}, {0, 3, 8}), {5}, corners))),
            (std::vector<int32_t>{0, 1, 3, 5, 8}));
  // Antialiasing: the triangle spans two pixels on either side, the border is repeated.
  near(values<float>(output(
           by_scales(tensor<float>({4}, {1, 2, 3, 4}), {.5}, {text("mode", "linear"), {"antialias", int64_t{1}}}))),
       {1.625, 3.375});
}

TEST(Resize, Cubic) {
  near(values<float>(output(by_scales(tensor<float>({4}, {1, 2, 3, 4}), {2}, {text("mode", "cubic")}))),
       {.84375, 1.265625, 1.734375, 2.25, 2.75, 3.265625, 3.734375, 4.15625}, 0.1);
  // Clamped, not wrapped, where the curve overshoots.
  const auto y =
      values<uint8_t>(output(by_scales(tensor<uint8_t>({4}, {0, 0, 255, 255}), {2}, {text("mode", "cubic")})));
  EXPECT_EQ(y[0], 0);
  EXPECT_EQ(y[7], 255);
}

TEST(Resize, CropAndResize) {
  OpRun r = by_sizes(tensor<float>({5}, {0, 1, 2, 3, 4}), {3},
                     {text("mode", "linear"),
                      text("coordinate_transformation_mode", "tf_crop_and_resize"),
                      {"extrapolation_value", 10.0f}});
  r.inputs[1] = tensor<float>({2}, {.5, 1.25});
  near(values<float>(output(r)), {2, 3.5, 10});
}

TEST(Resize, AxesAndAspect) {
  const Tensor x = tensor<float>({2, 2, 1}, {1, 2, 3, 4});
  EXPECT_EQ(values<float>(output(by_scales(x, {2}, {{"axes", Ints{1}}}))), (Floats{1, 1, 2, 2, 3, 3, 4, 4}));
  OpRun keep = by_sizes(tensor<float>({1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}), {7, 8},
                        {{"axes", Ints{-2, -1}}, text("keep_aspect_ratio_policy", "not_larger")});
  EXPECT_EQ(shape(output(keep)), (Ints{1, 4, 8}));
  keep.attrs[1] = text("keep_aspect_ratio_policy", "not_smaller");
  EXPECT_EQ(shape(output(keep)), (Ints{1, 7, 14}));
}

TEST(Resize, Inference) {
  OpRun r = by_scales(Tensor(), {1, 1, 2, .5}, {});
  EXPECT_EQ(inferred(r, {fact({symbol("N"), 3, symbol("H"), symbol("W")}), ir::Fact(), fact({4})}), "{N,3,2*H,W / 2}");
  EXPECT_EQ(inferred({.op = "Resize", .opset = 13},
                     {fact({1, 3, symbol("H"), 8}), ir::Fact(), ir::Fact(), content_fact({1, 3, symbol("A"), 9})}),
            "{1,3,A,9}");
  EXPECT_NE(failure(by_scales(kSquare, {2, 2}, {})).find("scales has 2 elements, but 4 axes"), std::string::npos);
  EXPECT_NE(failure(by_scales(kSquare, {1, 1, -1, 1}, {})).find("scales[2] is -1"), std::string::npos);
  EXPECT_EQ(shape(output(by_scales(tensor<float>({0, 2}, {}), {1, 2}, {}))), (Ints{0, 4}));
}

TEST(Resize, ComplexNumbersAreBlendedAsPairs) {
  OpRun run{
      .op = "Resize",
      .opset = 19,
      .inputs = {raw<float>(DType::c64, {1, 1, 2}, {0, 10, 2, 30}), Tensor{}, Tensor{},
                 tensor<int64_t>({3}, {1, 1, 3})},
      .attrs = {{"mode", std::string("linear")}, {"coordinate_transformation_mode", std::string("align_corners")}}};
  EXPECT_EQ(raw_values<float>(output(run)), (Floats{0, 10, 1, 20, 2, 30}));
  run.inputs[0] = raw<double>(DType::c128, {1, 1, 2}, {0, 10, 2, 30});
  EXPECT_EQ(raw_values<double>(output(run)), (std::vector<double>{0, 10, 1, 20, 2, 30}));
  run.attrs[0] = {"mode", std::string("nearest")};
  EXPECT_EQ(raw_values<double>(output(run))[5], 30);
}

}  // namespace
}  // namespace trunnion::ops::test
