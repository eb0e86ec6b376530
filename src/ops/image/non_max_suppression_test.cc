#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

const Tensor kBoxes = tensor<float>(
    {1, 6, 4}, {0, 0, 1, 1, 0, .1f, 1, 1.1f, 0, -.1f, 1, .9f, 0, 10, 1, 11, 0, 10.1f, 1, 11.1f, 0, 100, 1, 101});
const Tensor kScores = tensor<float>({1, 1, 6}, {.9f, .75f, .6f, .95f, .5f, .3f});

OpRun suppress(Tensor boxes, Tensor scores, int64_t most, float iou, float least) {
  return {.op = "NonMaxSuppression",
          .opset = 11,
          .inputs = {std::move(boxes), std::move(scores), tensor<int64_t>({1}, {most}), tensor<float>({1}, {iou}),
                     tensor<float>({1}, {least})}};
}

TEST(NonMaxSuppression, Selects) {
  EXPECT_EQ(values<int64_t>(output(suppress(kBoxes, kScores, 3, .5f, 0))), (Ints{0, 0, 3, 0, 0, 0, 0, 0, 5}));
  EXPECT_EQ(values<int64_t>(output(suppress(kBoxes, kScores, 2, .5f, 0))), (Ints{0, 0, 3, 0, 0, 0}));
  EXPECT_EQ(values<int64_t>(output(suppress(kBoxes, kScores, 3, .5f, .4f))), (Ints{0, 0, 3, 0, 0, 0}));
  EXPECT_EQ(shape(output(suppress(kBoxes, kScores, 0, .5f, 0))), (Ints{0, 3}));
  EXPECT_EQ(shape(output({.op = "NonMaxSuppression", .opset = 11, .inputs = {kBoxes, kScores}})), (Ints{0, 3}));
}

TEST(NonMaxSuppression, ClassesAndForms) {
  const Tensor two = tensor<float>({1, 2, 2}, {.5f, .9f, .9f, .5f});
  OpRun r = suppress(tensor<float>({1, 2, 4}, {1, 1, 0, 0, 0, 0, 1, 1}), two, 9, .5f, 0);  // corners flipped
  EXPECT_EQ(values<int64_t>(output(r)), (Ints{0, 0, 1, 0, 1, 0}));
  r.attrs = {{"center_point_box", int64_t{1}}};
  r.inputs[0] = tensor<float>({1, 2, 4}, {.5f, .5f, 1, 1, .5f, .6f, 1, 1});
  EXPECT_EQ(values<int64_t>(output(r)), (Ints{0, 0, 1, 0, 1, 0}));
  EXPECT_NE(failure(suppress(kBoxes, two, 1, .5f, 0)).find("do not go with"), std::string::npos);
  EXPECT_NE(failure(suppress(kBoxes, kScores, 1, 2, 0)).find("iou_threshold is 2"), std::string::npos);
}

}  // namespace
}  // namespace trunnion::ops::test
