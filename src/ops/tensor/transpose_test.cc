#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

TEST(Transpose, Values) {
  const Tensor x = tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(values<float>(output({.op = "Transpose", .inputs = {x}})), (Floats{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(values<float>(output({.op = "Transpose", .inputs = {x}, .attrs = {{"perm", Ints{0, 1}}}})),
            (Floats{1, 2, 3, 4, 5, 6}));
  const Tensor y = tensor<int64_t>({2, 1, 3}, {1, 2, 3, 4, 5, 6});
  const Value t = output({.op = "Transpose", .inputs = {y}, .attrs = {{"perm", Ints{2, 0, 1}}}});
  EXPECT_EQ(shape(t), (Ints{3, 2, 1}));
  EXPECT_EQ(values<int64_t>(t), (Ints{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(shape(output({.op = "Transpose", .inputs = {tensor<float>({0, 2}, {})}})), (Ints{2, 0}));
  EXPECT_EQ(shape(output({.op = "Transpose", .inputs = {tensor<float>({}, {1})}})), (Ints{}));
}

TEST(Transpose, StringsAndPackedTypes) {
  EXPECT_EQ(texts(output({.op = "Transpose", .inputs = {strings({2, 2}, {"a", "b", "c", "d"})}})),
            (std::vector<std::string>{"a", "c", "b", "d"}));
  // 1 2 3 / 4 5 6 becomes 1 4 / 2 5 / 3 6.
  EXPECT_EQ(raw_values<uint8_t>(output(
                {.op = "Transpose", .opset = 25, .inputs = {raw<uint8_t>(DType::u4, {2, 3}, {0x21, 0x43, 0x65})}})),
            (std::vector<uint8_t>{0x41, 0x52, 0x63}));
}

TEST(Transpose, Refuses) {
  const Tensor x = tensor<float>({1, 1}, {1});
  for (const Ints& perm : {Ints{0, 0}, Ints{0}, Ints{0, 2}, Ints{0, 1, 2}})
    failure({.op = "Transpose", .inputs = {x}, .attrs = {{"perm", perm}}});
  EXPECT_EQ(inferred({.op = "Transpose", .attrs = {{"perm", Ints{1, 0}}}}, {fact({symbol("N"), 3})}), "{3,N}");
  EXPECT_EQ(inferred({.op = "Transpose", .attrs = {{"perm", Ints{1, 0}}}}, {ir::Fact::tensor(DType::f32)}), "{?,?}");
}

}  // namespace
}  // namespace trunnion::ops::test
