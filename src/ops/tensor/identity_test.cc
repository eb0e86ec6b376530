#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

TEST(Identity, CopiesAnyType) {
  EXPECT_EQ(values<float>(output({.op = "Identity", .inputs = {tensor<float>({2}, {1, 2})}})), (Floats{1, 2}));
  EXPECT_EQ(texts(output({.op = "Identity", .inputs = {strings({1}, {"a"})}})), (std::vector<std::string>{"a"}));
  EXPECT_EQ(raw_values<uint8_t>(
                output({.op = "Identity", .opset = 25, .inputs = {raw<uint8_t>(DType::u4, {3}, {0x21, 0x03})}})),
            (std::vector<uint8_t>{0x21, 3}));
  EXPECT_EQ(content({.op = "Identity"}, {content_fact({symbol("N")})}), "{N}");
}

}  // namespace
}  // namespace trunnion::ops::test
