#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

TEST(Where, Broadcasts) {
  const Tensor c = tensor<bool>({2, 1}, {true, false});
  Value y = output({.op = "Where", .inputs = {c, tensor<float>({3}, {1, 2, 3}), tensor<float>({}, {9})}});
  EXPECT_EQ(shape(y), (Ints{2, 3}));
  EXPECT_EQ(values<float>(y), (Floats{1, 2, 3, 9, 9, 9}));
  EXPECT_EQ(texts(output({.op = "Where", .inputs = {c, strings({1}, {"a"}), strings({2, 1}, {"b", "c"})}})),
            (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(values<int8_t>(output({.op = "Where",
                                   .inputs = {tensor<bool>({2}, {true, false}), tensor<int8_t>({2}, {1, 2}),
                                              tensor<int8_t>({2}, {3, 4})}})),
            (std::vector<int8_t>{1, 4}));
  EXPECT_EQ(shape(output({.op = "Where", .inputs = {c, tensor<float>({2, 0}, {}), tensor<float>({}, {9})}})),
            (Ints{2, 0}));
  failure({.op = "Where", .inputs = {c, tensor<float>({3}, {1, 2, 3}), tensor<float>({2}, {1, 2})}});
}

TEST(Where, Contents) {
  ir::Fact c = fact({3}, DType::boolean);
  c.content = std::vector<Dim>{1, 0, Dim()};
  const Dim n = symbol("N");
  EXPECT_EQ(content({.op = "Where"}, {c, content_fact({n}), content_fact({4, 5, 6})}), "{N,5,?}");
  EXPECT_EQ(inferred({.op = "Where"}, {fact({n, 1}, DType::boolean), fact({5}), fact({})}), "{N,5}");
}

}  // namespace
}  // namespace trunnion::ops::test
