#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

Tensor empty(std::initializer_list<int64_t> dims) {
  return Tensor::allocate(DType::f32, std::vector<int64_t>(dims)).value();
}

TEST(Squeeze, Axes) {
  EXPECT_EQ(shape(output({.op = "Squeeze", .inputs = {empty({1, 0, 1, 2})}})), (Ints{0, 2}));
  EXPECT_EQ(shape(output({.op = "Squeeze", .inputs = {empty({1, 3, 1}), tensor<int64_t>({1}, {-1})}})), (Ints{1, 3}));
  EXPECT_EQ(shape(output({.op = "Squeeze", .opset = 11, .inputs = {empty({1, 3, 1})}, .attrs = {{"axes", Ints{0}}}})),
            (Ints{3, 1}));
  EXPECT_NE(failure({.op = "Squeeze", .inputs = {empty({1, 3}), tensor<int64_t>({1}, {1})}}).find("size 3"),
            std::string::npos);
  failure({.op = "Squeeze", .inputs = {empty({1, 3}), tensor<int64_t>({1}, {2})}});
  failure({.op = "Squeeze", .inputs = {empty({1, 3}), tensor<int64_t>({2}, {0, -2})}});
}

TEST(Squeeze, UnsqueezeAxes) {
  EXPECT_EQ(shape(output({.op = "Unsqueeze", .inputs = {empty({2, 3}), tensor<int64_t>({2}, {0, -1})}})),
            (Ints{1, 2, 3, 1}));
  EXPECT_EQ(shape(output({.op = "Unsqueeze", .inputs = {tensor<float>({}, {1}), tensor<int64_t>({1}, {0})}})),
            (Ints{1}));
  EXPECT_EQ(shape(output({.op = "Unsqueeze", .opset = 11, .inputs = {empty({2})}, .attrs = {{"axes", Ints{2, 0}}}})),
            (Ints{1, 2, 1}));
  failure({.op = "Unsqueeze", .inputs = {empty({2}), tensor<int64_t>({1}, {2})}});
  failure({.op = "Unsqueeze", .inputs = {empty({2}), tensor<int64_t>({2}, {0, 0})}});
}

TEST(Squeeze, Symbols) {
  const Dim n = symbol("N");
  EXPECT_EQ(inferred({.op = "Squeeze"}, {fact({n, 1})}), "?");
  EXPECT_EQ(inferred({.op = "Squeeze"}, {fact({n, 1}), content_fact({1})}), "{N}");
  EXPECT_EQ(inferred({.op = "Squeeze"}, {fact({n, 1}), fact({1}, DType::i64)}), "{?}");
  EXPECT_EQ(inferred({.op = "Unsqueeze"}, {fact({n, 3}), content_fact({1})}), "{N,1,3}");
  EXPECT_EQ(inferred({.op = "Unsqueeze"}, {fact({n, 3}), fact({1}, DType::i64)}), "{?,?,?}");
  EXPECT_EQ(content({.op = "Squeeze"}, {content_fact({n}), content_fact({0})}), "{N}");
  EXPECT_EQ(content({.op = "Squeeze"}, {content_fact({n})}), "{N}");
}

}  // namespace
}  // namespace trunnion::ops::test
