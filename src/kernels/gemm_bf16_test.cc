// Bfloat16 GEMM against a double-precision product of rounded factors, and of the factors as they are.
#include "kernels/gemm_bf16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/half.h"
#include "kernels/rung_test.h"

namespace trunnion::kernels {
namespace {

constexpr float kGuard = 12345.0f;

struct Aligned {
  explicit Aligned(size_t bytes) : memory(bytes + 64) {}
  void* get() {
    const auto at = reinterpret_cast<uintptr_t>(memory.data());
    return memory.data() + (64 - at % 64) % 64;
  }
  std::vector<unsigned char> memory;
};

double rounded(float x) { return half::from_bf16(half::to_bf16(x)); }

struct Case {
  int64_t m, n, k;
  bool b_transposed = false;
  Epilogue epilogue;  // pointers only say which operands exist
};
const float kYes = 0;

std::vector<float> product(const Case& t, const std::vector<float>& a, int64_t lda, const std::vector<float>& b,
                           const std::vector<float>& bias, const std::vector<float>& residual, int64_t row_step,
                           int64_t panels_step) {
  Bf16GemmArgs g;
  g.m = t.m, g.n = t.n, g.k = t.k;
  g.a = a.data();
  g.a_row_stride = lda;
  g.ldc = t.n + 2;
  g.epilogue = t.epilogue;
  if (t.epilogue.bias_col) g.epilogue.bias_col = bias.data();
  if (t.epilogue.residual) g.epilogue.residual = residual.data(), g.epilogue.residual_ld = t.n;
  Aligned packed(static_cast<size_t>(bf16_gemm_packed_b_size(t.k, t.n)) * 2);
  const int64_t panels = gemm_panel_count(t.n), half = panels / 2;
  auto* to = static_cast<uint16_t*>(packed.get());
  const int64_t k_stride = t.b_transposed ? 1 : t.n, n_stride = t.b_transposed ? t.k : 1;
  bf16_gemm_pack_b(b.data(), k_stride, n_stride, t.k, t.n, half, panels, to);
  bf16_gemm_pack_b(b.data(), k_stride, n_stride, t.k, t.n, 0, half, to);
  g.packed_b = to;
  Aligned scratch(bf16_gemm_scratch_size(t.n, t.k));
  std::vector<float> c(static_cast<size_t>(t.m * g.ldc), kGuard);
  g.c = c.data();
  const int64_t col_step = panels_step * gemm_panel_width();
  for (int64_t i = 0; i < t.m; i += row_step)
    for (int64_t j = 0; j < t.n; j += col_step)
      bf16_gemm_tile(g, i, std::min(i + row_step, t.m), j, std::min(j + col_step, t.n), scratch.get());
  return c;
}

void check(const Case& t) {
  SCOPED_TRACE(testing::Message() << "m " << t.m << " n " << t.n << " k " << t.k);
  const int64_t lda = t.k + 3, ldc = t.n + 2;
  const auto a = random_floats(static_cast<size_t>(t.m * lda), -1, 1, 1);
  const auto b = random_floats(static_cast<size_t>(t.k * t.n), -1, 1, 2);
  const auto bias = random_floats(static_cast<size_t>(t.n), -1, 1, 3);
  const auto residual = random_floats(static_cast<size_t>(t.m * t.n), -1, 1, 4);
  const auto c = product(t, a, lda, b, bias, residual, t.m, 1000);
  double error = 0, norm = 0;
  for (int64_t i = 0; i < t.m; ++i) {
    for (int64_t j = 0; j < t.n; ++j) {
      double sum = 0, exact = 0, size = 0;
      for (int64_t k = 0; k < t.k; ++k) {
        const float x = a[static_cast<size_t>(i * lda + k)],
                    y = b[static_cast<size_t>(t.b_transposed ? j * t.k + k : k * t.n + j)];
        sum += rounded(x) * rounded(y);
        exact += static_cast<double>(x) * y;
        size += std::fabs(static_cast<double>(x) * y);
      }
      double rest = 0;
      if (t.epilogue.bias_col) rest += bias[static_cast<size_t>(j)];
      if (t.epilogue.residual) rest += residual[static_cast<size_t>(i * t.n + j)];
      sum += rest, exact += rest;
      if (t.epilogue.activation == Activation::relu) sum = std::fmax(sum, 0), exact = std::fmax(exact, 0);
      const float got = c[static_cast<size_t>(i * ldc + j)];
      ASSERT_NEAR(got, sum, 3e-7 * (size + 2)) << i << " " << j;
      ASSERT_NEAR(got, exact, 0x1.02p-7 * size + 1e-6) << i << " " << j;  // each factor is off by 2^-8 at most
      error += (got - exact) * (got - exact);
      norm += exact * exact;
    }
    for (int64_t j = t.n; j < ldc; ++j) ASSERT_EQ(c[static_cast<size_t>(i * ldc + j)], kGuard);
  }
  if (t.m * t.n > 1000) {
    EXPECT_LE(std::sqrt(error), 3e-3 * std::sqrt(norm));
  }
  for (const int64_t rows : {1, 3, 14, 31}) {
    const auto tiles = product(t, a, lda, b, bias, residual, rows, rows % 2 ? 1 : 3);
    ASSERT_EQ(std::memcmp(tiles.data(), c.data(), c.size() * sizeof(float)), 0) << "tiles of " << rows << " rows";
  }
}

TEST(Bf16Gemm, ShapesAndTiles) {
  if (!bf16_gemm_pays()) GTEST_SKIP() << "this CPU does not gain by bfloat16";
  for (const int64_t m : {1, 2, 3, 4, 13, 14, 15, 29, 100})
    for (const int64_t n : {5, 16, 17, 32, 33, 100, 128, 257})
      for (const int64_t k : {1, 2, 3, 31, 32, 33, 64, 511, 512, 513}) {
        check({m, n, k, (m + n + k) % 2 == 0, {}});
        if (testing::Test::HasFailure()) return;
      }
  check({300, 40, 1700, false, {}});
}

TEST(Bf16Gemm, Epilogues) {
  if (!bf16_gemm_pays()) GTEST_SKIP() << "this CPU does not gain by bfloat16";
  Epilogue e;
  e.bias_col = &kYes;
  check({20, 70, 90, false, e});
  e.residual = &kYes;
  e.activation = Activation::relu;
  check({20, 70, 1090, true, e});
  check({2, 140, 90, true, e});
}

TEST(Bf16Gemm, RoundsLikeTheCpu) {
  if (!bf16_gemm_pays()) GTEST_SKIP() << "this CPU does not gain by bfloat16";
  const float inf = std::numeric_limits<float>::infinity();
  // Times the identity: what comes out is the rounded value, to nearest and to even between two.
  const std::vector<float> a = {1.00390625f,   1.01171875f, -3.0f, 0x1.fffp127f, inf,    -inf,
                                std::nanf(""), 0x1p-130f,   0.0f,  0x1p-126f,    1e-30f, 1.0039063f};
  for (const float x : a) {
    const auto c = product({1, 6, 1, false, {}}, {x}, 1, {1, 1, 1, 1, 1, 1}, {}, {}, 1, 1);
    const float want = std::fabs(x) < 0x1p-126f ? 0.0f : half::from_bf16(half::to_bf16(x));
    if (std::isnan(want))
      EXPECT_TRUE(std::isnan(c[0]));
    else
      EXPECT_EQ(c[0], want) << x;
  }
}

TEST(Bf16Gemm, OnlyOnTheRungThatHasIt) {
  force_rung_for_test(Rung::avx2);
  EXPECT_FALSE(bf16_gemm_pays());
  clear_forced_rung_for_test();
  EXPECT_FALSE(bf16_gemm_fits(4));
  EXPECT_TRUE(bf16_gemm_fits(5));
}

}  // namespace
}  // namespace trunnion::kernels
