#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

Tensor grid() { return tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6}); }
OpRun reshape(const Tensor& x, Ints to, int64_t allow_zero = 0) {
  return {.op = "Reshape",
          .inputs = {x, tensor<int64_t>({static_cast<int64_t>(to.size())}, to)},
          .attrs = {{"allowzero", allow_zero}}};
}

TEST(Reshape, Values) {
  const Value y = output(reshape(grid(), {3, 2}));
  EXPECT_EQ(shape(y), (Ints{3, 2}));
  EXPECT_EQ(values<float>(y), (Floats{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(shape(output(reshape(grid(), {-1}))), (Ints{6}));
  EXPECT_EQ(shape(output(reshape(grid(), {0, 1, -1}))), (Ints{2, 1, 3}));
  EXPECT_EQ(shape(output(reshape(tensor<float>({1}, {1}), {}))), (Ints{}));
  EXPECT_EQ(shape(output(reshape(tensor<float>({0, 3}, {}), {0, -1}))), (Ints{0, 3}));
  EXPECT_EQ(shape(output(reshape(tensor<float>({3, 0}, {}), {0, 7}, 1))), (Ints{0, 7}));
  EXPECT_EQ(shape(output({.op = "Reshape", .opset = 1, .inputs = {grid()}, .attrs = {{"shape", Ints{6, 1}}}})),
            (Ints{6, 1}));
}

TEST(Reshape, Refuses) {
  failure(reshape(grid(), {4, -1}));
  failure(reshape(grid(), {-1, -1}));
  failure(reshape(grid(), {4}));
  failure(reshape(grid(), {-2}));
  failure(reshape(grid(), {2, 3, 0}));
  failure(reshape(tensor<float>({0, 3}, {}), {0, -1}, 1));
}

TEST(Reshape, Symbols) {
  const Dim n = symbol("N"), s = symbol("S");
  const OpRun op{.op = "Reshape"};
  EXPECT_EQ(inferred(op, {fact({n, s, 12}), content_fact({0, -1, 3, 4})}), "{N,S,3,4}");
  EXPECT_EQ(inferred(op, {fact({n, s, 12}), content_fact({n, s, 3, -1})}), "{N,S,3,4}");
  EXPECT_EQ(inferred(op, {fact({n, s, 12}), content_fact({-1, 12})}), "{N*S,12}");
  EXPECT_EQ(inferred(op, {fact({Dim(), 3, 4}), content_fact({0, -1})}), "{?,12}");
  EXPECT_EQ(inferred(op, {fact({Dim(), 4}), content_fact({-1, 2})}), "{?,2}");
  EXPECT_EQ(inferred(op, {fact({n, 4}), content_fact({Dim(), 2})}), "{?,2}");
  EXPECT_EQ(inferred(op, {fact({n, 4}), fact({3}, DType::i64)}), "{?,?,?}");
  EXPECT_EQ(inferred(op, {fact({n, 4}), ir::Fact::tensor(DType::i64)}), "?");
  EXPECT_EQ(inferred(op, {ir::Fact::tensor(DType::f32), content_fact({0, -1, 5})}), "{?,?,5}");
  EXPECT_EQ(content(op, {content_fact({n}), content_fact({1})}), "{N}");
}

TEST(Reshape, Flatten) {
  const Tensor x = Tensor::allocate(DType::f32, std::vector<int64_t>{2, 3, 4}).value();
  for (auto [axis, want] : {std::pair<int64_t, Ints>{1, {2, 12}}, {0, {1, 24}}, {3, {24, 1}}, {-1, {6, 4}}})
    EXPECT_EQ(shape(output({.op = "Flatten", .inputs = {x}, .attrs = {{"axis", axis}}})), want) << axis;
  failure({.op = "Flatten", .inputs = {x}, .attrs = {{"axis", int64_t{4}}}});
  failure({.op = "Flatten", .opset = 9, .inputs = {x}, .attrs = {{"axis", int64_t{-1}}}});
  EXPECT_EQ(inferred({.op = "Flatten"}, {fact({symbol("N"), 3, symbol("S")})}), "{N,3*S}");
}

}  // namespace
}  // namespace trunnion::ops::test
