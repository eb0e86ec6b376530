// MatMul and Gemm: integers and their factors, products without elements.
#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

template <class T>
std::vector<T> gemm(float alpha, float beta, bool with_c = true) {
  const Tensor a = tensor<T>({2, 2}, {1, 2, 3, 4}), b = tensor<T>({2, 2}, {5, 6, 7, 9}), c = tensor<T>({1, 2}, {1, 3});
  std::vector<Value> inputs{a, b};
  if (with_c) inputs.push_back(c);
  return values<T>(output({.op = "Gemm", .inputs = inputs, .attrs = {{"alpha", alpha}, {"beta", beta}}}));
}

// Whole factors wrap; others are exact in double precision, with one cut towards zero at the end.
template <class T>
void expect_integer_gemm() {
  using Values = std::vector<T>;
  EXPECT_EQ(gemm<T>(1, 1), (Values{20, 27, 44, 57}));
  EXPECT_EQ(gemm<T>(0.5f, 1), (Values{10, 15, 22, 30}));
  EXPECT_EQ(gemm<T>(2, 0.5f), (Values{38, 49, 86, 109}));
  EXPECT_EQ(gemm<T>(0.5f, 1, false), (Values{9, 12, 21, 27}));
  EXPECT_EQ(gemm<T>(0.5f, 0), (Values{9, 12, 21, 27}));
  EXPECT_EQ(gemm<T>(-1, -2),
            (Values{static_cast<T>(-21), static_cast<T>(-30), static_cast<T>(-45), static_cast<T>(-60)}));
  EXPECT_EQ(gemm<T>(-1.5f, 1),
            (Values{static_cast<T>(-27), static_cast<T>(-33), static_cast<T>(-63), static_cast<T>(-78)}));
}

TEST(Gemm, IntegersAndTheirFactors) {
  expect_integer_gemm<int32_t>();
  expect_integer_gemm<uint32_t>();
  expect_integer_gemm<int64_t>();
  expect_integer_gemm<uint64_t>();
  const Tensor big = tensor<int64_t>({1, 1}, {(int64_t{1} << 60) + 1}), one = tensor<int64_t>({1, 1}, {1});
  EXPECT_EQ(values<int64_t>(output({.op = "Gemm", .inputs = {big, one}, .attrs = {{"alpha", 2.f}}}))[0],
            (int64_t{1} << 61) + 2);  // no way through double
  EXPECT_EQ(values<int64_t>(output({.op = "Gemm", .inputs = {big, one}, .attrs = {{"alpha", 1e30f}}})).size(), 1u);
  EXPECT_EQ(values<int64_t>(output({.op = "Gemm", .inputs = {big, one}, .attrs = {{"alpha", NAN}}}))[0], 0);
}

TEST(Gemm, FactorsOfDoubles) {
  const Tensor a = tensor<double>({1, 1}, {3}), c = tensor<double>({1}, {10});
  EXPECT_EQ(values<double>(output({.op = "Gemm", .inputs = {a, a, c}, .attrs = {{"alpha", 0.5f}, {"beta", 0.25f}}})),
            std::vector<double>{7});
}

// However long the other dimensions are, and whether their product overflows.
TEST(MatMul, NoElements) {
  const int64_t many = int64_t{1} << 40;
  for (const bool integers : {false, true}) {
    const auto empty = [&](std::initializer_list<int64_t> dims) {
      return integers ? tensor<int32_t>(dims, {}) : tensor<float>(dims, {});
    };
    const auto filled = [&](std::initializer_list<int64_t> dims) {
      const int64_t n = element_count(std::vector<int64_t>(dims));
      return integers ? tensor<int32_t>(dims, std::vector<int32_t>(static_cast<size_t>(n), 2))
                      : tensor<float>(dims, std::vector<float>(static_cast<size_t>(n), 2));
    };
    EXPECT_EQ(shape(output({.op = "MatMul", .inputs = {empty({many, 1, 0, 3}), filled({1, 5, 3, 4})}})),
              (Ints{many, 5, 0, 4}));
    EXPECT_EQ(shape(output({.op = "MatMul", .inputs = {filled({5, 2, 3}), empty({5, 3, 0})}})), (Ints{5, 2, 0}));
    EXPECT_EQ(shape(output({.op = "MatMul", .inputs = {empty({0, 2, 3}), filled({3, 4})}})), (Ints{0, 2, 4}));
    EXPECT_EQ(shape(output({.op = "MatMul", .inputs = {empty({0, 2, 3}), filled({1, 3, 4})}})), (Ints{0, 2, 4}));
    EXPECT_EQ(shape(output({.op = "MatMul", .inputs = {empty({many, many, 0, 3}), filled({1, 1, 3, 4})}})),
              (Ints{many, many, 0, 4}));
    const Value sums = output({.op = "MatMul", .inputs = {empty({2, 2, 0}), empty({2, 0, 2})}});
    EXPECT_EQ(shape(sums), (Ints{2, 2, 2}));
    if (integers)
      EXPECT_EQ(values<int32_t>(sums), std::vector<int32_t>(8, 0));
    else
      EXPECT_EQ(values<float>(sums), std::vector<float>(8, 0.f));
  }
}

}  // namespace
}  // namespace trunnion::ops::test
