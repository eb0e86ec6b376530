#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

TEST(Logical, Booleans) {
  const Tensor a = tensor<bool>({2, 1}, {true, false}), b = tensor<bool>({2}, {true, false});
  EXPECT_EQ(values<bool>(output({.op = "And", .inputs = {a, b}})), (std::vector<bool>{true, false, false, false}));
  EXPECT_EQ(values<bool>(output({.op = "Or", .inputs = {a, b}})), (std::vector<bool>{true, true, true, false}));
  EXPECT_EQ(values<bool>(output({.op = "Xor", .inputs = {a, b}})), (std::vector<bool>{false, true, true, false}));
}

TEST(Logical, Bits) {
  const Tensor a = tensor<int16_t>({2}, {-1, 12}), b = tensor<int16_t>({1}, {10});
  EXPECT_EQ(values<int16_t>(output({.op = "BitwiseAnd", .inputs = {a, b}})), (std::vector<int16_t>{10, 8}));
  EXPECT_EQ(values<int16_t>(output({.op = "BitwiseOr", .inputs = {a, b}})), (std::vector<int16_t>{-1, 14}));
  EXPECT_EQ(values<int16_t>(output({.op = "BitwiseXor", .inputs = {a, b}})), (std::vector<int16_t>{-11, 6}));
}

}  // namespace
}  // namespace trunnion::ops::test
