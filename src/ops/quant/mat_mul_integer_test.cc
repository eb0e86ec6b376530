#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

using I32 = std::vector<int32_t>;

TEST(MatMulInteger, ZeroPoints) {
  const Tensor a = tensor<uint8_t>({4, 3}, {11, 7, 3, 10, 6, 2, 9, 5, 1, 8, 4, 0}),
               b = tensor<uint8_t>({3, 2}, {1, 4, 2, 5, 3, 6});
  for (const bool constant : {false, true}) {
    const auto y = output({.op = "MatMulInteger",
                           .inputs = {a, b, tensor<uint8_t>({1}, {12}), tensor<uint8_t>({1}, {0})},
                           .constant = {false, constant}});
    EXPECT_EQ(values<int32_t>(y), (I32{-38, -83, -44, -98, -50, -113, -56, -128}));
  }
  // One for each row of A and each column of B.
  const auto y = output(
      {.op = "MatMulInteger", .inputs = {a, b, tensor<uint8_t>({4}, {11, 10, 9, 8}), tensor<uint8_t>({2}, {1, 4})}});
  EXPECT_EQ(values<int32_t>(y), (I32{-20, -20, -20, -20, -20, -20, -20, -20}));
}

TEST(MatMulInteger, BatchesAndSigns) {
  // Batches of both; zero points by batch.
  const Tensor a = tensor<int8_t>({2, 1, 2}, {1, -2, 3, 4}), b = tensor<uint8_t>({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 200});
  const auto y =
      output({.op = "MatMulInteger",
              .inputs = {a, b, tensor<int8_t>({2, 1, 1}, {1, -1}), tensor<uint8_t>({2, 1, 2}, {0, 1, 2, 3})}});
  EXPECT_EQ(values<int32_t>(y), (I32{0 * 1 - 3 * 3, 0 * 1 - 3 * 3, 4 * 3 + 5 * 5, 4 * 3 + 5 * 197}));
  // One B for all batches of A: the zero points of A follow the rows.
  const auto z = output({.op = "MatMulInteger",
                         .inputs = {tensor<int8_t>({2, 2, 1}, {1, 2, 3, 4}), tensor<int8_t>({1, 2}, {1, -1}),
                                    tensor<int8_t>({2}, {1, 2})}});
  EXPECT_EQ(values<int32_t>(z), (I32{0, 0, 0, 0, 2, -2, 2, -2}));
  const auto v = output(
      {.op = "MatMulInteger", .inputs = {tensor<uint8_t>({3}, {1, 2, 255}), tensor<int8_t>({3}, {-128, 127, 1})}});
  EXPECT_EQ(values<int32_t>(v), (I32{381}));
  EXPECT_EQ(v.tensor().rank(), 0);
  EXPECT_EQ(values<int32_t>(
                output({.op = "MatMulInteger", .inputs = {tensor<uint8_t>({2, 0}, {}), tensor<uint8_t>({0, 1}, {})}})),
            (I32{0, 0}));
}

TEST(MatMulInteger, LargeAgainstLoops) {
  const int64_t m = 37, k = 130, n = 75;
  std::vector<uint8_t> a(static_cast<size_t>(m * k));
  std::vector<int8_t> b(static_cast<size_t>(k * n));
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<uint8_t>(i * 37 + i / 11);
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<int8_t>(i * 91 + i / 7);
  I32 want(static_cast<size_t>(m * n));
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      for (int64_t l = 0; l < k; ++l)
        want[static_cast<size_t>(i * n + j)] +=
            (a[static_cast<size_t>(i * k + l)] - 100) * (b[static_cast<size_t>(l * n + j)] + 3);
  EXPECT_EQ(values<int32_t>(output({.op = "MatMulInteger",
                                    .inputs = {tensor<uint8_t>({m, k}, a), tensor<int8_t>({k, n}, b),
                                               tensor<uint8_t>({}, {100}), tensor<int8_t>({}, {-3})}})),
            want);
}

TEST(MatMulInteger, RefusesMisfits) {
  EXPECT_NE(
      failure({.op = "MatMulInteger", .inputs = {tensor<uint8_t>({1, 2}, {1, 2}), tensor<uint8_t>({3, 1}, {1, 2, 3})}})
          .find("inner dimensions"),
      std::string::npos);
  EXPECT_NE(failure({.op = "MatMulInteger",
                     .inputs = {tensor<uint8_t>({2, 1}, {1, 2}), tensor<uint8_t>({1, 2}, {1, 2}),
                                tensor<uint8_t>({3}, {0, 0, 0})}})
                .find("2 rows"),
            std::string::npos);
}

}  // namespace
}  // namespace trunnion::ops::test
