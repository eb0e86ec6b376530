#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

TEST(MaxRoiPool, Cells) {
  const Tensor x = tensor<float>({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  OpRun r{.op = "MaxRoiPool",
          .inputs = {x, tensor<float>({2, 5}, {0, 0, 0, 2, 2, 0, 5, 5, 9, 9})},
          .attrs = {{"pooled_shape", Ints{2, 2}}}};
  EXPECT_EQ(values<float>(output(r)), (Floats{5, 6, 8, 9, 0, 0, 0, 0}));
  r.inputs[1] = tensor<float>({1, 5}, {1, 0, 0, 2, 2});
  EXPECT_NE(failure(r).find("in image 1"), std::string::npos);
  r.attrs = {{"pooled_shape", Ints{2}}};
  EXPECT_NE(failure(r).find("needs 2 positive numbers"), std::string::npos);
}

}  // namespace
}  // namespace trunnion::ops::test
