#include <cfloat>

#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

OpRun pool(Tensor x, Tensor mask, std::vector<int64_t> kernel, std::vector<int64_t> pads) {
  return {.op = "MaxpoolWithMask",
          .opset = 1,
          .inputs = {std::move(x), std::move(mask)},
          .attrs = {{"kernel_shape", std::move(kernel)}, {"pads", std::move(pads)}},
          .domain = "com.microsoft"};
}

TEST(MaxpoolWithMask, RowsEndAtTheMask) {
  const Tensor x = tensor<float>({1, 2, 4}, {1, 9, 3, 8, 4, 5, 6, 7});
  // One mask for both channels. A window that begins masked has no value.
  const auto y = values<float>(output(pool(x, tensor<int32_t>({1, 1, 4}, {1, 1, 0, 1}), {2}, {0, 0})));
  const float none = std::numeric_limits<float>::lowest();
  EXPECT_EQ(y, (Floats{9, 9, none, 5, 5, none}));
}

TEST(MaxpoolWithMask, TwoDimensions) {
  const Tensor x = tensor<float>({1, 1, 2, 3}, {1, 5, 2, 3, 4, 6});
  const auto run = pool(x, tensor<int32_t>({1, 1, 2, 3}, {0, 0, 1, 1, 1, 1}), {2, 2}, {0, 0, 0, 0});
  EXPECT_EQ(values<float>(output(run)), (Floats{4, 6}));  // the mask's first element does not count
  EXPECT_EQ(values<float>(output(pool(x, run.inputs[1].tensor(), {1, 2}, {0, 1, 0, 0}))),
            (Floats{1, 1, -FLT_MAX, 3, 4, 6}));
  EXPECT_NE(failure(pool(x, tensor<int32_t>({1, 1, 3, 2}, {1, 1, 1, 1, 1, 1}), {1, 1}, {0, 0, 0, 0})).find("the mask"),
            std::string::npos);
}

}  // namespace
}  // namespace trunnion::ops::test
