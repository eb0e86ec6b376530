#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

TEST(ShapeOp, Ranges) {
  const Tensor x = Tensor::allocate(DType::f32, std::vector<int64_t>{2, 0, 4}).value();
  EXPECT_EQ(values<int64_t>(output({.op = "Shape", .inputs = {x}})), (Ints{2, 0, 4}));
  EXPECT_EQ(values<int64_t>(output({.op = "Shape", .inputs = {x}, .attrs = {{"start", int64_t{-2}}}})), (Ints{0, 4}));
  EXPECT_EQ(
      values<int64_t>(output({.op = "Shape", .inputs = {x}, .attrs = {{"start", int64_t{1}}, {"end", int64_t{-1}}}})),
      (Ints{0}));
  EXPECT_EQ(
      values<int64_t>(output({.op = "Shape", .inputs = {x}, .attrs = {{"start", int64_t{-10}}, {"end", int64_t{10}}}})),
      (Ints{2, 0, 4}));
  EXPECT_EQ(
      values<int64_t>(output({.op = "Shape", .inputs = {x}, .attrs = {{"start", int64_t{2}}, {"end", int64_t{1}}}})),
      (Ints{}));
  EXPECT_EQ(shape(output({.op = "Shape", .inputs = {tensor<float>({}, {1})}})), (Ints{0}));
  EXPECT_EQ(values<int64_t>(output({.op = "Size", .inputs = {x}})), (Ints{0}));
  EXPECT_EQ(values<int64_t>(output({.op = "Size", .inputs = {tensor<float>({}, {1})}})), (Ints{1}));
}

TEST(ShapeOp, Symbols) {
  const auto x = fact({symbol("N"), 3, Dim()});
  EXPECT_EQ(content({.op = "Shape"}, {x}), "{N,3,?}");
  EXPECT_EQ(content({.op = "Shape", .attrs = {{"end", int64_t{2}}}}, {x}), "{N,3}");
  EXPECT_EQ(content({.op = "Size"}, {fact({symbol("N"), 3})}), "{3*N}");
  EXPECT_EQ(inferred({.op = "Shape"}, {ir::Fact::tensor(DType::f32)}), "{?}");
}

}  // namespace
}  // namespace trunnion::ops::test
