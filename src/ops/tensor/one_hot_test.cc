#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

TEST(OneHot, Axes) {
  const Tensor on = tensor<float>({2}, {0, 1});
  EXPECT_EQ(values<float>(output(
                {.op = "OneHot", .inputs = {tensor<int64_t>({4}, {0, -1, 5, -4}), tensor<int64_t>({}, {3}), on}})),
            (Floats{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0}));
  Value y = output({.op = "OneHot",
                    .inputs = {tensor<float>({2}, {1, 0}), tensor<float>({1}, {3}), on},
                    .attrs = {{"axis", int64_t{0}}}});
  EXPECT_EQ(shape(y), (Ints{3, 2}));
  EXPECT_EQ(values<float>(y), (Floats{0, 1, 1, 0, 0, 0}));
  EXPECT_EQ(shape(output({.op = "OneHot", .inputs = {tensor<int32_t>({}, {1}), tensor<int32_t>({}, {2}), on}})),
            (Ints{2}));
  EXPECT_EQ(texts(output({.op = "OneHot",
                          .inputs = {tensor<int64_t>({1}, {1}), tensor<int64_t>({}, {2}), strings({2}, {"n", "y"})}})),
            (std::vector<std::string>{"n", "y"}));
  EXPECT_EQ(shape(output({.op = "OneHot", .inputs = {tensor<int64_t>({1}, {1}), tensor<int64_t>({}, {0}), on}})),
            (Ints{1, 0}));
  failure({.op = "OneHot", .inputs = {tensor<int64_t>({1}, {1}), tensor<int64_t>({}, {-2}), on}});
  failure({.op = "OneHot",
           .inputs = {tensor<int64_t>({1}, {1}), tensor<int64_t>({}, {2}), on},
           .attrs = {{"axis", int64_t{2}}}});
  failure(
      {.op = "OneHot", .inputs = {tensor<int64_t>({1}, {1}), tensor<int64_t>({}, {2}), tensor<float>({3}, {1, 2, 3})}});
}

TEST(OneHot, Symbols) {
  EXPECT_EQ(inferred({.op = "OneHot"}, {fact({symbol("N")}, DType::i64), content_fact({symbol("D")}), fact({2})}),
            "{N,D}");
  EXPECT_EQ(inferred({.op = "OneHot"}, {fact({symbol("N")}, DType::i64), fact({}), fact({2})}), "{N,?}");
}

TEST(OneHot, DepthOfTypeUint64) {
  const OpRun run{.op = "OneHot",
                  .opset = 11,
                  .inputs = {tensor<int64_t>({1}, {1}), tensor<uint64_t>({}, {3}), tensor<float>({2}, {0, 5})}};
  EXPECT_EQ(values<float>(output(run)), (Floats{0, 5, 0}));
}

}  // namespace
}  // namespace trunnion::ops::test
