#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

TEST(NonZero, Coordinates) {
  Value y = output({.op = "NonZero", .inputs = {tensor<float>({2, 2}, {1, 0, -0.f, NAN})}});
  EXPECT_EQ(shape(y), (Ints{2, 2}));
  EXPECT_EQ(values<int64_t>(y), (Ints{0, 1, 0, 1}));
  EXPECT_EQ(shape(output({.op = "NonZero", .inputs = {tensor<bool>({2}, {false, false})}})), (Ints{1, 0}));
  EXPECT_EQ(shape(output({.op = "NonZero", .inputs = {tensor<float>({0, 3}, {})}})), (Ints{2, 0}));
  EXPECT_EQ(values<int64_t>(output({.op = "NonZero", .inputs = {tensor<int64_t>({}, {5})}})), (Ints{0}));
  EXPECT_EQ(values<int64_t>(output({.op = "NonZero", .inputs = {half({3}, {0, -0.f, 2})}})), (Ints{2}));
  EXPECT_EQ(inferred({.op = "NonZero"}, {fact({symbol("N"), 3})}), "{2,?}");
}

TEST(NonZero, ManyBlocks) {
  const int64_t n = 50000;
  std::vector<int32_t> v(static_cast<size_t>(n), 0);
  Ints want;
  for (int64_t i = 0; i < n; i += 777) {
    v[static_cast<size_t>(i)] = 1;
    want.push_back(i);
  }
  EXPECT_EQ(values<int64_t>(output({.op = "NonZero", .inputs = {tensor<int32_t>({n}, v)}})), want);
}

TEST(NonZero, Compress) {
  const Tensor x = tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(values<float>(output({.op = "Compress", .inputs = {x, tensor<bool>({4}, {true, false, true, true})}})),
            (Floats{1, 3, 4}));
  Value y =
      output({.op = "Compress", .inputs = {x, tensor<bool>({2}, {false, true})}, .attrs = {{"axis", int64_t{-1}}}});
  EXPECT_EQ(shape(y), (Ints{2, 1}));
  EXPECT_EQ(values<float>(y), (Floats{2, 5}));
  EXPECT_EQ(
      shape(output({.op = "Compress", .inputs = {x, tensor<bool>({1}, {false})}, .attrs = {{"axis", int64_t{0}}}})),
      (Ints{0, 3}));
  EXPECT_EQ(texts(output({.op = "Compress", .inputs = {strings({2}, {"a", "b"}), tensor<bool>({2}, {false, true})}})),
            (std::vector<std::string>{"b"}));
  failure({.op = "Compress", .inputs = {x, tensor<bool>({3}, {false, false, true})}, .attrs = {{"axis", int64_t{0}}}});
  EXPECT_EQ(inferred({.op = "Compress", .attrs = {{"axis", int64_t{1}}}},
                     {fact({symbol("N"), 3}), fact({3}, DType::boolean)}),
            "{N,?}");
}

TEST(NonZero, ComplexNumbers) {
  const OpRun run{.op = "NonZero", .opset = 13, .inputs = {raw<double>(DType::c128, {3}, {0, 0, 0, 1, 2, 0})}};
  EXPECT_EQ(values<int64_t>(output(run)), (Ints{1, 2}));
}

}  // namespace
}  // namespace trunnion::ops::test
