#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

ir::Attr axis(int64_t v) { return {"axis", v}; }

TEST(Concat, Axes) {
  const Tensor a = tensor<float>({2, 1}, {1, 2}), b = tensor<float>({2, 2}, {3, 4, 5, 6}),
               none = tensor<float>({2, 0}, {});
  EXPECT_EQ(values<float>(output({.op = "Concat", .inputs = {a, none, b}, .attrs = {axis(1)}})),
            (Floats{1, 3, 4, 2, 5, 6}));
  EXPECT_EQ(values<float>(output({.op = "Concat", .inputs = {b, b}, .attrs = {axis(-2)}})),
            (Floats{3, 4, 5, 6, 3, 4, 5, 6}));
  EXPECT_EQ(values<float>(output({.op = "Concat", .opset = 1, .inputs = {a, a}})), (Floats{1, 1, 2, 2}));
  EXPECT_EQ(shape(output({.op = "Concat", .inputs = {none, none}, .attrs = {axis(1)}})), (Ints{2, 0}));
  EXPECT_EQ(
      texts(output({.op = "Concat", .inputs = {strings({1}, {"a"}), strings({2}, {"b", "c"})}, .attrs = {axis(0)}})),
      (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(values<float>(output({.op = "Concat", .inputs = {a}, .attrs = {axis(0)}})), (Floats{1, 2}));
}

TEST(Concat, Refuses) {
  const Tensor a = tensor<float>({1, 2}, {1, 2}), b = tensor<float>({1, 3}, {1, 2, 3});
  EXPECT_NE(failure({.op = "Concat", .inputs = {a, b}, .attrs = {axis(0)}}).find("sizes 2 and 3 on axis 1"),
            std::string::npos);
  failure({.op = "Concat", .inputs = {a, b}, .attrs = {axis(2)}});
  failure({.op = "Concat", .inputs = {a, tensor<float>({1}, {1})}, .attrs = {axis(0)}});
}

TEST(Concat, Symbols) {
  const Dim n = symbol("N");
  EXPECT_EQ(inferred({.op = "Concat", .attrs = {axis(1)}}, {fact({n, 3}), fact({2, 4})}), "{2,7}");
  EXPECT_EQ(inferred({.op = "Concat", .attrs = {axis(0)}}, {fact({n, 3}), fact({n, Dim()})}), "{2*N,3}");
  EXPECT_EQ(inferred({.op = "Concat", .attrs = {axis(0)}}, {fact({n, 3}), ir::Fact::tensor(DType::f32)}), "{?,3}");
  EXPECT_EQ(content({.op = "Concat", .attrs = {axis(0)}}, {content_fact({n}), content_fact({-1, 4})}), "{N,-1,4}");
  EXPECT_EQ(content({.op = "Concat", .attrs = {axis(0)}}, {fact({1}, DType::i64), content_fact({4})}), "{?,4}");
}

}  // namespace
}  // namespace trunnion::ops::test
