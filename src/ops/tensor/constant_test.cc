#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

TEST(Constant, EveryAttribute) {
  EXPECT_EQ(values<float>(output({.op = "Constant", .attrs = {{"value", tensor<float>({2}, {1, 2})}}})),
            (Floats{1, 2}));
  const Value f = output({.op = "Constant", .attrs = {{"value_float", 2.5f}}});
  EXPECT_EQ(shape(f), (Ints{}));
  EXPECT_EQ(values<float>(f), (Floats{2.5f}));
  EXPECT_EQ(values<int64_t>(output({.op = "Constant", .attrs = {{"value_int", int64_t{7}}}})), (Ints{7}));
  EXPECT_EQ(values<int64_t>(output({.op = "Constant", .attrs = {{"value_ints", Ints{7, 8}}}})), (Ints{7, 8}));
  EXPECT_EQ(values<float>(output({.op = "Constant", .attrs = {{"value_floats", Floats{7, 8}}}})), (Floats{7, 8}));
  EXPECT_EQ(texts(output({.op = "Constant", .attrs = {{"value_string", std::string("a")}}})),
            (std::vector<std::string>{"a"}));
  EXPECT_EQ(texts(output({.op = "Constant", .attrs = {{"value_strings", std::vector<std::string>{"a", "b"}}}})),
            (std::vector<std::string>{"a", "b"}));
  failure({.op = "Constant"});
}

TEST(Constant, SparseValuesBecomeDense) {
  SparseTensor s;
  s.dense_shape = Shape{2, 3};
  s.values = tensor<float>({2}, {5, 6});
  s.indices = tensor<int64_t>({2}, {1, 5});
  EXPECT_EQ(values<float>(output({.op = "Constant", .attrs = {{"sparse_value", Value(s)}}})),
            (Floats{0, 5, 0, 0, 0, 6}));
  s.indices = tensor<int64_t>({2, 2}, {0, 2, 1, 0});
  EXPECT_EQ(values<float>(output({.op = "Constant", .attrs = {{"sparse_value", Value(s)}}})),
            (Floats{0, 0, 5, 6, 0, 0}));
  s.indices = tensor<int64_t>({2, 2}, {0, 3, 1, 0});
  failure({.op = "Constant", .attrs = {{"sparse_value", Value(s)}}});
  s.indices = tensor<int64_t>({2}, {1, 6});
  failure({.op = "Constant", .attrs = {{"sparse_value", Value(s)}}});
}

TEST(Constant, ContentIsKnown) {
  EXPECT_EQ(content({.op = "Constant", .attrs = {{"value_ints", Ints{7, -8}}}}, {}), "{7,-8}");
}

}  // namespace
}  // namespace trunnion::ops::test
