// Plain matrix products of every rung against a loop nest: integers exactly, double to a few units in the last place.
#include "kernels/gemm_plain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "kernels/rung_test.h"

namespace trunnion::kernels {
namespace {

template <class T>
void check(int64_t m, int64_t n, int64_t k, bool a_transposed, bool b_transposed, T alpha, T beta) {
  SCOPED_TRACE(testing::Message() << "m " << m << " n " << n << " k " << k << " transposed " << a_transposed
                                  << b_transposed);
  std::mt19937_64 random(static_cast<unsigned>(m + n * 3 + k * 7));
  const auto draw = [&random] {
    return std::is_floating_point_v<T> ? static_cast<T>(static_cast<double>(random() % 2000) / 1000 - 1)
                                       : static_cast<T>(random());
  };
  std::vector<T> a(static_cast<size_t>(m * k)), b(static_cast<size_t>(k * n)), c(static_cast<size_t>(m * (n + 1)));
  for (auto* v : {&a, &b, &c}) std::generate(v->begin(), v->end(), draw);
  const std::vector<T> old = c;
  PlainGemmArgs<T> g;
  g.m = m, g.n = n, g.k = k, g.a = a.data(), g.b = b.data(), g.c = c.data(), g.ldc = n + 1, g.alpha = alpha,
  g.beta = beta;
  g.a_row_stride = a_transposed ? 1 : k, g.a_k_stride = a_transposed ? m : 1;
  g.b_k_stride = b_transposed ? 1 : n, g.b_n_stride = b_transposed ? k : 1;
  plain_gemm_tile(g, 0, m, 0, n);
  std::vector<T> tiled = old;
  g.c = tiled.data();
  for (int64_t i = 0; i < m; i += 3) {
    for (int64_t j = 0; j < n; j += 5) plain_gemm_tile(g, i, std::min(i + 3, m), j, std::min(j + 5, n));
  }
  ASSERT_EQ(c, tiled) << "bits depend on the tiles";
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      using Wide = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;
      Wide sum = 0;
      for (int64_t p = 0; p < k; ++p) {
        sum += static_cast<Wide>(a[static_cast<size_t>(i * g.a_row_stride + p * g.a_k_stride)]) *
               static_cast<Wide>(b[static_cast<size_t>(p * g.b_k_stride + j * g.b_n_stride)]);
      }
      sum = static_cast<Wide>(alpha) * sum;
      if (beta != T(0)) sum += static_cast<Wide>(beta) * static_cast<Wide>(old[static_cast<size_t>(i * (n + 1) + j)]);
      const T got = c[static_cast<size_t>(i * (n + 1) + j)];
      if constexpr (std::is_floating_point_v<T>) {
        ASSERT_NEAR(got, sum, 1e-13 * (1 + std::sqrt(static_cast<double>(k)) + std::fabs(sum)));
      } else {
        ASSERT_EQ(got, static_cast<T>(sum));
      }
    }
    ASSERT_EQ(c[static_cast<size_t>(i * (n + 1) + n)], old[static_cast<size_t>(i * (n + 1) + n)]);
  }
}

template <class T>
class PlainGemm : public testing::Test {};
using Types = testing::Types<double, int32_t, uint32_t, int64_t, uint64_t>;
TYPED_TEST_SUITE(PlainGemm, Types);

TYPED_TEST(PlainGemm, MatchesLoopNest) {
  for_each_rung([] {
    for (int64_t m : {0, 1, 4, 7}) {
      for (int64_t n : {0, 1, 3, 8, 17, 40}) {
        for (int64_t k : {0, 1, 5, 128, 300}) {
          check<TypeParam>(m, n, k, false, false, 1, 0);
          check<TypeParam>(m, n, k, true, true, static_cast<TypeParam>(3), static_cast<TypeParam>(2));
        }
      }
    }
  });
}

}  // namespace
}  // namespace trunnion::kernels
