#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

TEST(ConstantOfShape, Values) {
  const Value zeros = output({.op = "ConstantOfShape", .inputs = {tensor<int64_t>({2}, {2, 3})}});
  EXPECT_EQ(shape(zeros), (Ints{2, 3}));
  EXPECT_EQ(values<float>(zeros), Floats(6, 0));
  EXPECT_EQ(values<int64_t>(output({.op = "ConstantOfShape",
                                    .inputs = {tensor<int64_t>({1}, {3})},
                                    .attrs = {{"value", tensor<int64_t>({1}, {9})}}})),
            (Ints{9, 9, 9}));
  EXPECT_EQ(shape(output({.op = "ConstantOfShape", .inputs = {tensor<int64_t>({0}, {})}})), (Ints{}));
  EXPECT_EQ(shape(output({.op = "ConstantOfShape", .inputs = {tensor<int64_t>({2}, {0, 4})}})), (Ints{0, 4}));
  failure({.op = "ConstantOfShape", .inputs = {tensor<int64_t>({1}, {-1})}});
}

TEST(ConstantOfShape, PackedTypes) {
  const Value y = output({.op = "ConstantOfShape",
                          .inputs = {tensor<int64_t>({1}, {3})},
                          .attrs = {{"value", raw<uint8_t>(DType::i4, {1}, {0x0e})}}});
  EXPECT_EQ(raw_values<uint8_t>(y), (std::vector<uint8_t>{0xee, 0x0e}));
}

TEST(ConstantOfShape, Symbols) {
  EXPECT_EQ(inferred({.op = "ConstantOfShape"}, {content_fact({symbol("N"), 3})}), "{N,3}");
  EXPECT_EQ(inferred({.op = "ConstantOfShape"}, {fact({2}, DType::i64)}), "{?,?}");
  EXPECT_EQ(content({.op = "ConstantOfShape", .attrs = {{"value", tensor<int64_t>({1}, {1})}}}, {content_fact({2})}),
            "{1,1}");
}

}  // namespace
}  // namespace trunnion::ops::test
