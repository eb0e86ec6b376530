#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

OpRun expand(const Tensor& x, Ints to) {
  return {.op = "Expand", .inputs = {x, tensor<int64_t>({static_cast<int64_t>(to.size())}, to)}};
}

TEST(Expand, Values) {
  Value y = output(expand(tensor<float>({2, 1}, {1, 2}), {3, 1, 2}));
  EXPECT_EQ(shape(y), (Ints{3, 2, 2}));
  EXPECT_EQ(values<float>(y), (Floats{1, 1, 2, 2, 1, 1, 2, 2, 1, 1, 2, 2}));
  EXPECT_EQ(values<float>(output(expand(tensor<float>({3}, {1, 2, 3}), {1}))),
            (Floats{1, 2, 3}));  // the input may be larger
  EXPECT_EQ(texts(output(expand(strings({1}, {"a"}), {2}))), (std::vector<std::string>{"a", "a"}));
  EXPECT_EQ(values<int8_t>(output(expand(tensor<int8_t>({}, {5}), {2}))), (std::vector<int8_t>{5, 5}));
  EXPECT_EQ(shape(output(expand(tensor<float>({1}, {1}), {0, 2}))), (Ints{0, 2}));
  EXPECT_EQ(shape(output(expand(tensor<float>({1}, {1}), {}))), (Ints{1}));
  failure(expand(tensor<float>({3}, {1, 2, 3}), {2}));
  failure(expand(tensor<float>({1}, {1}), {-1}));
}

TEST(Expand, Symbols) {
  EXPECT_EQ(inferred({.op = "Expand"}, {fact({1, 3}), content_fact({symbol("N"), 1, 1})}), "{N,1,3}");
  EXPECT_EQ(inferred({.op = "Expand"}, {fact({1, 3}), fact({3}, DType::i64)}), "{?,?,3}");
  EXPECT_EQ(content({.op = "Expand"}, {content_fact({7}), content_fact({3})}), "{7,7,7}");
}

TEST(Expand, Tile) {
  const Tensor x = tensor<float>({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(values<float>(output({.op = "Tile", .inputs = {x, tensor<int64_t>({2}, {2, 1})}})),
            (Floats{1, 2, 3, 4, 1, 2, 3, 4}));
  EXPECT_EQ(values<float>(output({.op = "Tile", .inputs = {x, tensor<int64_t>({2}, {1, 2})}})),
            (Floats{1, 2, 1, 2, 3, 4, 3, 4}));
  EXPECT_EQ(values<float>(
                output({.op = "Tile", .opset = 1, .inputs = {x, tensor<float>({1}, {2}), tensor<float>({1}, {1})}})),
            (Floats{1, 2, 1, 2, 3, 4, 3, 4}));
  EXPECT_EQ(shape(output({.op = "Tile", .inputs = {x, tensor<int64_t>({2}, {0, 2})}})), (Ints{0, 4}));
  EXPECT_EQ(values<float>(output({.op = "Tile", .inputs = {tensor<float>({}, {4}), tensor<int64_t>({0}, {})}})),
            (Floats{4}));
  EXPECT_EQ(texts(output({.op = "Tile", .inputs = {strings({1}, {"a"}), tensor<int64_t>({1}, {2})}})),
            (std::vector<std::string>{"a", "a"}));
  failure({.op = "Tile", .inputs = {x, tensor<int64_t>({1}, {2})}});
  failure({.op = "Tile", .inputs = {x, tensor<int64_t>({2}, {2, -1})}});
  failure({.op = "Tile", .inputs = {x, tensor<int64_t>({2}, {INT64_MAX, 1})}});
  EXPECT_EQ(inferred({.op = "Tile"}, {fact({symbol("N"), 3}), content_fact({2, symbol("M")})}), "{2*N,3*M}");
}

}  // namespace
}  // namespace trunnion::ops::test
