// GridSample, AffineGrid and RoiAlign.
#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

ir::Attr text(const char* name, const char* value) { return {name, std::string(value)}; }
void near(const Floats& a, const std::vector<double>& b, double tolerance = 1e-5) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], tolerance) << i;
}

const Tensor kImage = tensor<float>({1, 1, 2, 2}, {1, 2, 3, 4});

Floats sampled(Floats points, std::vector<ir::Attr> attrs, int opset = 20) {
  const auto n = static_cast<int64_t>(points.size() / 2);
  return values<float>(output({.op = "GridSample",
                               .opset = opset,
                               .inputs = {kImage, tensor<float>({1, 1, n, 2}, points)},
                               .attrs = std::move(attrs)}));
}

TEST(GridSample, Modes) {
  const ir::Attr corners = {"align_corners", int64_t{1}};
  near(sampled({-1, -1, 1, -1, 0, 0, 1, 1}, {corners}), {1, 2, 2.5, 4});
  near(sampled({-1, -1, 0, 0}, {}), {.25, 2.5});  // three of four neighbours are padding
  near(sampled({-1, -1, 5, 0}, {text("padding_mode", "border")}), {1, 3});
  near(sampled({-2, -1}, {corners, text("padding_mode", "reflection")}), {1.5});
  near(sampled({.9f, -.9f, 3, 3}, {text("mode", "nearest")}), {2, 0});
  near(sampled({.9f, -.9f}, {text("mode", "nearest")}, 16), {2});
  near(sampled({0, 0}, {text("mode", "cubic"), corners, text("padding_mode", "border")}), {2.5});
  near(sampled({NAN, 0}, {}), {0});
  EXPECT_NE(failure({.op = "GridSample", .opset = 20, .inputs = {kImage, tensor<float>({1, 1, 1, 3}, {0, 0, 0})}})
                .find("3 coordinates"),
            std::string::npos);
}

TEST(GridSample, OtherRanksAndTypes) {
  const auto y =
      output({.op = "GridSample",
              .opset = 20,
              .inputs = {tensor<double>({1, 1, 2, 1, 1}, {1, 3}), tensor<double>({1, 1, 1, 1, 3}, {0, 0, 0})}});
  EXPECT_EQ(values<double>(y), std::vector<double>{2});
  EXPECT_EQ(
      widened(output(
          {.op = "GridSample", .opset = 20, .inputs = {half({1, 1, 2, 2}, {1, 2, 3, 4}), half({1, 1, 1, 2}, {0, 0})}})),
      Floats{2.5});
  EXPECT_EQ(inferred({.op = "GridSample", .opset = 20},
                     {fact({symbol("N"), 3, 8, 8}), fact({symbol("N"), symbol("H"), 5, 2})}),
            "{N,3,H,5}");
}

TEST(AffineGrid, ShapeWithoutSize) {
  EXPECT_EQ(inferred({.op = "AffineGrid", .opset = 20}, {fact({symbol("N"), 2, 3}), fact({4}, DType::i64)}),
            "{N,?,?,2}");
  EXPECT_EQ(inferred({.op = "AffineGrid", .opset = 20}, {fact({2, 3, 4}), fact({5}, DType::i64)}), "{2,?,?,?,3}");
}

TEST(AffineGrid, Identity) {
  const Tensor theta = tensor<float>({1, 2, 3}, {1, 0, 0, 0, 1, .5});
  const auto y = output({.op = "AffineGrid", .opset = 20, .inputs = {theta, tensor<int64_t>({4}, {1, 1, 1, 2})}});
  EXPECT_EQ(values<float>(y), (Floats{-.5, .5, .5, .5}));
  EXPECT_EQ(shape(y), (Ints{1, 1, 2, 2}));
  EXPECT_EQ(values<float>(output({.op = "AffineGrid",
                                  .opset = 20,
                                  .inputs = {theta, tensor<int64_t>({4}, {1, 1, 2, 2})},
                                  .attrs = {{"align_corners", int64_t{1}}}})),
            (Floats{-1, -.5, 1, -.5, -1, 1.5, 1, 1.5}));
  EXPECT_NE(failure({.op = "AffineGrid", .opset = 20, .inputs = {theta, tensor<int64_t>({5}, {1, 1, 1, 2, 2})}})
                .find("[N, 3, 4]"),
            std::string::npos);
}

TEST(RoiAlign, AverageAndMax) {
  const Tensor x = tensor<float>({1, 1, 4, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
  const Tensor roi = tensor<float>({1, 4}, {1, 1, 3, 3}), at = tensor<int64_t>({1}, {0});
  OpRun r{.op = "RoiAlign",
          .opset = 16,
          .inputs = {x, roi, at},
          .attrs = {{"output_height", int64_t{2}}, {"output_width", int64_t{2}}, {"sampling_ratio", int64_t{1}}}};
  near(values<float>(output(r)), {5, 6, 9, 10});  // pixel centres
  r.opset = 10;
  near(values<float>(output(r)), {7.5, 8.5, 11.5, 12.5});
  r.opset = 16;
  r.attrs[2] = {"mode", std::string("max")};
  near(values<float>(output(r)), {5, 6, 9, 10});
  r.inputs[2] = tensor<int64_t>({1}, {1});
  EXPECT_NE(failure(r).find("batch_indices[0] is 1"), std::string::npos);
  EXPECT_EQ(inferred({.op = "RoiAlign", .opset = 16},
                     {fact({1, 3, 8, 8}), fact({symbol("R"), 4}), fact({symbol("R")}, DType::i64)}),
            "{R,3,1,1}");
}

TEST(GridSample, OtherTypes) {
  OpRun run{.op = "GridSample",
            .opset = 22,
            .inputs = {tensor<int32_t>({1, 1, 2, 2}, {0, 10, 20, 31}), tensor<float>({1, 1, 2, 2}, {0, 0, 1, 1})},
            .attrs = {{"align_corners", int64_t{1}}}};
  EXPECT_EQ(values<int32_t>(output(run)), (std::vector<int32_t>{15, 31}));  // 15.25 is cut off
  run.inputs[0] = raw<float>(DType::c64, {1, 1, 2, 2}, {0, 1, 10, 2, 20, 3, 30, 4});
  EXPECT_EQ(raw_values<float>(output(run)), (Floats{15, 2.5f, 30, 4}));
  run.inputs[0] = strings({1, 1, 2, 2}, {"a", "b", "c", "d"});
  EXPECT_NE(failure(run).find("nearest"), std::string::npos);
  run.attrs.push_back({"mode", std::string("nearest")});
  EXPECT_EQ(texts(output(run))[1], "d");
  run.inputs[1] = tensor<float>({1, 1, 2, 2}, {-5, 0, 1, -1});
  EXPECT_EQ(texts(output(run)), (std::vector<std::string>{"", "b"}));
  run.inputs[0] = tensor<int64_t>({1, 1, 2, 2}, {1, (int64_t{1} << 60) + 1, 3, 4});
  EXPECT_EQ(values<int64_t>(output(run))[1], (int64_t{1} << 60) + 1);  // moved, not computed with
}

}  // namespace
}  // namespace trunnion::ops::test
