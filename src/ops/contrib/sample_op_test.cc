#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

TEST(SampleOp, Copies) {
  const OpRun r{.op = "SampleOp", .opset = 1, .inputs = {tensor<float>({2}, {1, 2})}, .domain = "com.microsoft"};
  EXPECT_EQ(values<float>(output(r)), (Floats{1, 2}));
}

}  // namespace
}  // namespace trunnion::ops::test
