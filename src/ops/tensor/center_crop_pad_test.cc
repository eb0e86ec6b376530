#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

TEST(CenterCropPad, CropsAndPads) {
  const Tensor x = tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(values<float>(output({.op = "CenterCropPad", .inputs = {x, tensor<int64_t>({2}, {4, 2})}})),
            (Floats{0, 0, 1, 2, 4, 5, 0, 0}));
  EXPECT_EQ(values<float>(output(
                {.op = "CenterCropPad", .inputs = {x, tensor<int32_t>({1}, {6})}, .attrs = {{"axes", Ints{-1}}}})),
            (Floats{0, 1, 2, 3, 0, 0, 0, 4, 5, 6, 0, 0}));
  EXPECT_EQ(shape(output({.op = "CenterCropPad", .inputs = {x, tensor<int64_t>({2}, {0, 2})}})), (Ints{0, 2}));
  failure({.op = "CenterCropPad", .inputs = {x, tensor<int64_t>({1}, {2})}});
  failure({.op = "CenterCropPad", .inputs = {x, tensor<int64_t>({2}, {2, -1})}});
  EXPECT_EQ(
      inferred({.op = "CenterCropPad", .attrs = {{"axes", Ints{1}}}}, {fact({symbol("N"), 3}), content_fact({7})}),
      "{N,7}");
}

}  // namespace
}  // namespace trunnion::ops::test
