#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

TEST(Gather, Axes) {
  const Tensor x = tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  Value y = output({.op = "Gather", .inputs = {x, tensor<int64_t>({2, 1}, {-1, 0})}, .attrs = {{"axis", int64_t{1}}}});
  EXPECT_EQ(shape(y), (Ints{2, 2, 1}));
  EXPECT_EQ(values<float>(y), (Floats{3, 1, 6, 4}));
  y = output({.op = "Gather", .inputs = {x, tensor<int32_t>({}, {1})}});
  EXPECT_EQ(shape(y), (Ints{3}));
  EXPECT_EQ(values<float>(y), (Floats{4, 5, 6}));
  EXPECT_EQ(texts(output({.op = "Gather",
                          .inputs = {strings({2, 2}, {"a", "b", "c", "d"}), tensor<int64_t>({1}, {-1})},
                          .attrs = {{"axis", int64_t{-1}}}})),
            (std::vector<std::string>{"b", "d"}));
  EXPECT_EQ(shape(output({.op = "Gather", .inputs = {x, tensor<int64_t>({0}, {})}})), (Ints{0, 3}));
  EXPECT_EQ(shape(output({.op = "Gather", .inputs = {tensor<float>({2, 0}, {}), tensor<int64_t>({1}, {1})}})),
            (Ints{1, 0}));
}

TEST(Gather, Refuses) {
  const Tensor x = tensor<float>({3}, {1, 2, 3});
  EXPECT_NE(failure({.op = "Gather", .inputs = {x, tensor<int64_t>({2}, {0, 3})}}).find("idx=3"), std::string::npos);
  failure({.op = "Gather", .inputs = {x, tensor<int64_t>({1}, {INT64_MIN})}});
  failure({.op = "Gather", .inputs = {tensor<float>({0}, {}), tensor<int64_t>({1}, {0})}});
  failure({.op = "Gather", .inputs = {x, tensor<int64_t>({1}, {0})}, .attrs = {{"axis", int64_t{1}}}});
}

TEST(Gather, Symbols) {
  const Dim n = symbol("N");
  EXPECT_EQ(inferred({.op = "Gather", .attrs = {{"axis", int64_t{1}}}},
                     {fact({n, 5, 3}), fact({symbol("S"), 2}, DType::i64)}),
            "{N,S,2,3}");
  EXPECT_EQ(inferred({.op = "Gather"}, {fact({n, 5}), ir::Fact::tensor(DType::i64)}), "?");
  EXPECT_EQ(content({.op = "Gather"}, {content_fact({3, n}), content_fact({-1})}), "{N}");
}

TEST(Gather, Elements) {
  const Tensor x = tensor<float>({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(values<float>(output({.op = "GatherElements",
                                  .inputs = {x, tensor<int64_t>({2, 2}, {0, 0, 1, 0})},
                                  .attrs = {{"axis", int64_t{1}}}})),
            (Floats{1, 1, 4, 3}));
  EXPECT_EQ(values<float>(output({.op = "GatherElements", .inputs = {x, tensor<int32_t>({1, 2}, {-1, 0})}})),
            (Floats{3, 2}));
  const Tensor cube = tensor<int32_t>({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(values<int32_t>(output({.op = "GatherElements",
                                    .inputs = {cube, tensor<int64_t>({2, 1, 2}, {1, 0, 0, 1})},
                                    .attrs = {{"axis", int64_t{1}}}})),
            (std::vector<int32_t>{3, 2, 5, 8}));
  EXPECT_EQ(shape(output({.op = "GatherElements",
                          .inputs = {x, Tensor::allocate(DType::i64, std::vector<int64_t>{0, 2}).value()}})),
            (Ints{0, 2}));
  failure({.op = "GatherElements", .inputs = {x, tensor<int64_t>({1, 2}, {2, 0})}});
  failure({.op = "GatherElements", .inputs = {x, tensor<int64_t>({1, 3}, {0, 0, 0})}});
  failure({.op = "GatherElements", .inputs = {x, tensor<int64_t>({1}, {0})}});
}

TEST(Gather, Nd) {
  const Tensor x = tensor<int32_t>({2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(values<int32_t>(output({.op = "GatherND", .inputs = {x, tensor<int64_t>({2, 2}, {0, 1, -1, 0})}})),
            (std::vector<int32_t>{2, 3, 4, 5}));
  Value y =
      output({.op = "GatherND", .inputs = {x, tensor<int64_t>({2, 1}, {1, 0})}, .attrs = {{"batch_dims", int64_t{1}}}});
  EXPECT_EQ(shape(y), (Ints{2, 2}));
  EXPECT_EQ(values<int32_t>(y), (std::vector<int32_t>{2, 3, 4, 5}));
  y = output({.op = "GatherND", .inputs = {x, tensor<int64_t>({3}, {1, 1, 1})}});
  EXPECT_EQ(shape(y), (Ints{}));
  EXPECT_EQ(values<int32_t>(y), (std::vector<int32_t>{7}));
  EXPECT_EQ(shape(output({.op = "GatherND", .inputs = {x, tensor<int64_t>({0, 2}, {})}})), (Ints{0, 2}));
  failure({.op = "GatherND", .inputs = {x, tensor<int64_t>({1, 2}, {0, 2})}});
  failure({.op = "GatherND", .inputs = {x, tensor<int64_t>({1, 4}, {0, 0, 0, 0})}});
  EXPECT_EQ(inferred({.op = "GatherND"}, {fact({2, 3, symbol("N")}), fact({symbol("M"), 2}, DType::i64)}), "{M,N}");
}

}  // namespace
}  // namespace trunnion::ops::test
