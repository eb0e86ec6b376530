#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

OpRun expand(int32_t axis) {
  return {.op = "ExpandDims",
          .opset = 1,
          .inputs = {tensor<float>({2, 1}, {3, 4}), tensor<int32_t>({}, {axis})},
          .domain = "com.microsoft",
          .constant = {false, true}};
}

TEST(ExpandDims, Axes) {
  EXPECT_EQ(shape(output(expand(0))), (Ints{1, 2, 1}));
  EXPECT_EQ(shape(output(expand(-1))), (Ints{2, 1, 1}));
  EXPECT_EQ(values<float>(output(expand(2))), (Floats{3, 4}));
  EXPECT_NE(failure(expand(3)).find("axis 3"), std::string::npos);
  EXPECT_EQ(inferred({.op = "ExpandDims", .opset = 1, .domain = "com.microsoft"},
                     {fact({symbol("N")}), fact({}, DType::i32)}),
            "{?,?}");
}

}  // namespace
}  // namespace trunnion::ops::test
