// The com.microsoft forms of ONNX operators, where they differ from these: other inputs, outputs or defaults.
#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

OpRun contrib(std::string op, std::vector<Value> inputs, std::vector<ir::Attr> attrs = {}) {
  return {.op = std::move(op),
          .opset = 1,
          .inputs = std::move(inputs),
          .attrs = std::move(attrs),
          .domain = "com.microsoft"};
}

TEST(ContribForms, Pad) {
  const Tensor x = tensor<float>({2}, {1, 2}), pads = tensor<int64_t>({2}, {1, 2}), value = tensor<float>({1}, {9});
  EXPECT_EQ(values<float>(output(contrib("Pad", {x, pads, value}))), (Floats{9, 1, 2, 9, 9}));
  EXPECT_EQ(values<float>(output(contrib("Pad", {x, pads}))), (Floats{0, 1, 2, 0, 0}));
  EXPECT_EQ(
      values<float>(output(contrib("Pad", {x, tensor<int64_t>({1, 2}, {1, 2})}, {{"mode", std::string("edge")}}))),
      (Floats{1, 1, 2, 2, 2}));
  EXPECT_EQ(values<float>(output(contrib("Pad", {x, pads}, {{"mode", std::string("wrap")}}))), (Floats{2, 1, 2, 1, 2}));
}

TEST(ContribForms, GatherND) {
  const Tensor x = tensor<float>({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(values<float>(output(contrib("GatherND", {x, tensor<int32_t>({2, 2}, {1, 0, 0, -1})}))), (Floats{3, 2}));
  EXPECT_EQ(values<float>(output(contrib("GatherND", {x, tensor<int64_t>({1, 1}, {1})}))), (Floats{3, 4}));
  EXPECT_NE(failure(contrib("GatherND", {x, tensor<int32_t>({1, 1}, {2})})).find("2"), std::string::npos);
}

TEST(ContribForms, Range) {
  const auto scalar = [](int64_t v) { return tensor<int64_t>({}, {v}); };
  EXPECT_EQ(values<int64_t>(output(contrib("Range", {scalar(2), scalar(5)}))), (Ints{2, 3, 4}));
  EXPECT_EQ(values<int64_t>(output(contrib("Range", {scalar(5), scalar(0), scalar(-2)}))), (Ints{5, 3, 1}));
  EXPECT_EQ(values<float>(output(contrib("Range", {tensor<float>({1}, {0.5f}), tensor<float>({1}, {2})}))),
            (Floats{0.5f, 1.5f}));
  EXPECT_EQ(inferred(contrib("Range", {}), {content_fact({Dim(0)}), content_fact({symbol("N")})}), "{N}");
}

TEST(ContribForms, Trilu) {
  const Tensor x = tensor<float>({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(values<float>(output(contrib("Trilu", {x}, {{"upper", int64_t{0}}}))), (Floats{1, 0, 3, 4}));
}

TEST(ContribForms, UniqueInOrderOfAppearance) {
  auto r = contrib("Unique", {tensor<float>({6}, {2, 1, 1, 3, 4, 3})});
  r.outputs = 3;
  const auto y = outputs(r);
  EXPECT_EQ(values<float>(y[0]), (Floats{2, 1, 3, 4}));
  EXPECT_EQ(values<int64_t>(y[1]), (Ints{0, 1, 1, 2, 3, 2}));
  EXPECT_EQ(values<int64_t>(y[2]), (Ints{1, 2, 2, 1}));
}

TEST(ContribForms, GridSample) {
  const Tensor x = tensor<float>({1, 1, 1, 2}, {1, 3}), grid = tensor<float>({1, 1, 1, 2}, {0, 0});
  EXPECT_EQ(values<float>(output(contrib("GridSample", {x, grid}))), (Floats{2}));
  EXPECT_EQ(values<float>(output(contrib("GridSample", {x, tensor<float>({1, 1, 1, 2}, {1, 0})},
                                         {{"align_corners", int64_t{1}}, {"mode", std::string("nearest")}}))),
            (Floats{3}));
}

}  // namespace
}  // namespace trunnion::ops::test
