#include "kernels/transpose.h"

#include <algorithm>
#include <numeric>

#include "kernels/rung_test.h"

namespace trunnion::kernels {
namespace {

using Dims = std::vector<int64_t>;

// Element i of the input has bytes made from i; checks the whole output by the definition.
void check(const Dims& dims, const Dims& perm, size_t size, int64_t pieces) {
  const int rank = static_cast<int>(dims.size());
  TransposePlan plan;
  ASSERT_TRUE(transpose_plan(dims.data(), perm.data(), rank, size, plan));
  const int64_t elements = std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
  const size_t bytes = static_cast<size_t>(elements) * size;
  std::vector<uint8_t> x(bytes), y(bytes + 1, 0xee);
  for (size_t i = 0; i < bytes; ++i) x[i] = static_cast<uint8_t>(i * 2654435761u >> 13);
  for (int64_t p = 0; p < pieces; ++p) {
    transpose(plan, x.data(), y.data(), plan.units * p / pieces, plan.units * (p + 1) / pieces);
  }
  Dims out(dims), index(dims.size());
  for (size_t d = 0; d < dims.size(); ++d) out[d] = dims[static_cast<size_t>(perm[d])];
  for (int64_t flat = 0; flat < elements; ++flat) {
    int64_t rest = flat, from = 0;
    for (size_t d = dims.size(); d-- > 0;) index[static_cast<size_t>(perm[d])] = rest % out[d], rest /= out[d];
    for (size_t d = 0; d < dims.size(); ++d) from = from * dims[d] + index[d];
    ASSERT_EQ(std::memcmp(&x[static_cast<size_t>(from) * size], &y[static_cast<size_t>(flat) * size], size), 0)
        << "element " << flat << " size " << size;
  }
  EXPECT_EQ(y[bytes], 0xee);
}

TEST(Transpose, EveryPermutationAndSize) {
  for_each_rung([] {
    for (size_t size : {1, 2, 4, 8, 16}) {
      Dims perm = {0, 1, 2, 3};
      do {
        check({3, 5, 4, 7}, perm, size, 1);
        check({2, 1, 17, 3}, perm, size, 3);
      } while (std::next_permutation(perm.begin(), perm.end()));
      check({}, {}, size, 1);
      check({5}, {0}, size, 1);
    }
  });
}

TEST(Transpose, MatricesOfAllShapes) {
  for_each_rung([] {
    for (int64_t rows : {1, 2, 3, 4, 5, 8, 15, 16, 17, 31, 64, 130}) {
      for (int64_t cols : {1, 2, 3, 4, 6, 7, 16, 19, 33, 129}) check({rows, cols}, {1, 0}, 4, 1);
    }
    for (int64_t rows : {1, 15, 16, 17, 40, 63, 64, 65, 150}) {
      for (int64_t cols : {3, 15, 16, 17, 33, 70}) check({rows, cols}, {1, 0}, 1, 1);
    }
    for (size_t size : {2, 8})
      for (int64_t rows : {1, 2, 3, 4, 7, 8, 12, 33, 64, 70})
        for (int64_t cols : {1, 2, 3, 4, 5, 8, 9, 31, 65, 130}) check({rows, cols}, {1, 0}, size, 1);
    for (size_t size : {1, 2, 8}) {
      check({300, 3}, {1, 0}, size, 1);
      check({4, 300}, {1, 0}, size, 1);
    }
    check({2, 600, 130}, {0, 2, 1}, 1, 5);
    check({1100, 70}, {1, 0}, 4, 4);
    check({3, 1100}, {1, 0}, 4, 2);
    check({2, 600, 130}, {0, 2, 1}, 4, 5);
    check({2, 8, 6, 32}, {0, 2, 1, 3}, 4, 2);  // heads of attention
    check({2, 50, 3}, {2, 0, 1}, 4, 1);
    check({70000, 2}, {0, 1}, 1, 3);
  });
}

TEST(Transpose, SpecialBitsAreKept) {
  for_each_rung([] {
    std::vector<uint32_t> x(64), y(64);
    for (uint32_t i = 0; i < 64; ++i) x[i] = 0x7f800001u + i;  // signalling NaN
    transpose_2d_f32(reinterpret_cast<const float*>(x.data()), 8, reinterpret_cast<float*>(y.data()), 8, 8, 8);
    for (size_t i = 0; i < 64; ++i) EXPECT_EQ(y[i], x[i % 8 * 8 + i / 8]);
  });
}

TEST(Transpose, PlansThatDoNotExist) {
  TransposePlan plan;
  const int64_t dims[] = {2, 3}, twice[] = {0, 0}, outside[] = {0, 2}, good[] = {1, 0}, negative[] = {2, -1};
  EXPECT_FALSE(transpose_plan(dims, twice, 2, 4, plan));
  EXPECT_FALSE(transpose_plan(dims, outside, 2, 4, plan));
  EXPECT_FALSE(transpose_plan(dims, good, 2, 3, plan));
  EXPECT_FALSE(transpose_plan(negative, good, 2, 4, plan));
  const int64_t huge[] = {int64_t{1} << 40, int64_t{1} << 40}, empty[] = {0, int64_t{1} << 62};
  EXPECT_FALSE(transpose_plan(huge, good, 2, 4, plan));
  ASSERT_TRUE(transpose_plan(empty, good, 2, 4, plan));
  EXPECT_EQ(plan.units, 0);
}

}  // namespace
}  // namespace trunnion::kernels
