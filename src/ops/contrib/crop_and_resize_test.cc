#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

OpRun boxes(Floats rois, std::vector<int32_t> pictures, std::vector<int32_t> size, const char* mode = "bilinear") {
  const auto n = static_cast<int64_t>(pictures.size());
  return {.op = "CropAndResize",
          .opset = 1,
          .inputs = {tensor<float>({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}), tensor<float>({n, 4}, std::move(rois)),
                     tensor<int32_t>({n}, std::move(pictures)), tensor<int32_t>({2}, std::move(size))},
          .attrs = {{"extrapolation_value", -1.0f}, {"mode", std::string(mode)}},
          .domain = "com.microsoft"};
}

TEST(CropAndResize, Values) {
  const auto whole = output(boxes({0, 0, 1, 1}, {0}, {2, 2}));
  EXPECT_EQ(values<float>(whole), (Floats{1, 3, 7, 9}));
  EXPECT_EQ(shape(whole), (Ints{1, 1, 2, 2}));
  EXPECT_EQ(values<float>(output(boxes({0, 0, 0.5f, 0.5f}, {0}, {1, 1}))), (Floats{3}));  // the box's middle
  // Backwards, and one box that leaves the picture on the left.
  EXPECT_EQ(values<float>(output(boxes({1, 1, 0, 0, 0, -0.5f, 0, 0.25f}, {0, 0}, {1, 2}))), (Floats{6, 4, -1, 1.5f}));
  EXPECT_EQ(values<float>(output(boxes({0, 0.2f, 0.3f, 1}, {0}, {2, 2}, "nearest"))), (Floats{1, 3, 4, 6}));
}

TEST(CropAndResize, Misfits) {
  EXPECT_NE(failure(boxes({0, 0, 1, 1}, {1}, {1, 1})).find("batch_indices[0] is 1"), std::string::npos);
  EXPECT_NE(failure(boxes({0, 0, 1, 1}, {0}, {0, 1})).find("crop_size[0]"), std::string::npos);
  EXPECT_NE(failure(boxes({0, 0, 1, 1}, {0}, {1, 1}, "cubic")).find("'cubic'"), std::string::npos);
}

}  // namespace
}  // namespace trunnion::ops::test
