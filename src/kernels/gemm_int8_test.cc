// 8-bit integer GEMM of every rung of this CPU against a 64-bit integer product: exact.
#include "kernels/gemm_int8.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

#include "base/cpu_info.h"

namespace trunnion::kernels {
namespace {

struct Case {
  int64_t m, n, k;
  bool a_signed = false, b_signed = true, a_transposed = false, b_transposed = false;
  int a_zeros = 1, b_zeros = 0;  // 0: none, 1: one, 2: per row or column
};

struct Free {
  void operator()(void* p) const { std::free(p); }
};
std::unique_ptr<char, Free> aligned(int64_t bytes) {
  return std::unique_ptr<char, Free>(
      static_cast<char*>(std::aligned_alloc(64, (static_cast<size_t>(bytes) + 127) / 64 * 64)));
}

int value(uint8_t byte, bool is_signed) { return is_signed ? static_cast<int8_t>(byte) : byte; }

void check(const Case& t) {
  SCOPED_TRACE(testing::Message() << rung_name(active_rung()) << " m " << t.m << " n " << t.n << " k " << t.k
                                  << " signed " << t.a_signed << t.b_signed << " transposed " << t.a_transposed
                                  << t.b_transposed << " zeros " << t.a_zeros << t.b_zeros);
  std::mt19937 random(static_cast<unsigned>(t.m * 7 + t.n * 3 + t.k));
  std::vector<uint8_t> a(static_cast<size_t>(t.m * t.k)), b(static_cast<size_t>(t.k * t.n));
  // Extremes are common, so that nothing may saturate on the way.
  const auto draw = [&random] {
    return random() % 3 == 0 ? (random() % 2 ? 255u : 128u) : static_cast<unsigned>(random() % 256);
  };
  for (auto& x : a) x = static_cast<uint8_t>(draw());
  for (auto& x : b) x = static_cast<uint8_t>(draw());
  std::vector<int32_t> a_zero(static_cast<size_t>(t.m + 1)), b_zero(static_cast<size_t>(t.n + 1));
  for (auto& x : a_zero) x = value(static_cast<uint8_t>(random()), t.a_signed);
  for (auto& x : b_zero) x = value(static_cast<uint8_t>(random()), t.b_signed);

  Int8GemmArgs g;
  g.m = t.m, g.n = t.n, g.k = t.k;
  g.a = a.data(), g.a_signed = t.a_signed, g.b_signed = t.b_signed;
  g.a_row_stride = t.a_transposed ? 1 : t.k;
  g.a_k_stride = t.a_transposed ? t.m : 1;
  const int64_t k_stride = t.b_transposed ? 1 : t.n, n_stride = t.b_transposed ? t.k : 1;
  if (t.a_zeros) g.a_zero = a_zero.data(), g.a_zero_per_row = t.a_zeros == 2;
  if (t.b_zeros) g.b_zero = b_zero.data(), g.b_zero_per_col = t.b_zeros == 2;
  const auto packed = aligned(int8_gemm_packed_b_size(t.k, t.n));
  const auto scratch = aligned(static_cast<int64_t>(int8_gemm_scratch_size(t.n, t.k)));
  for (int64_t p = int8_gemm_panel_count(t.n); p-- > 0;) {
    int8_gemm_pack_b(b.data(), t.b_signed, k_stride, n_stride, t.k, t.n, p, p + 1, packed.get());
  }
  g.packed_b = packed.get();
  const int64_t ldc = t.n + 2;
  std::vector<int32_t> c(static_cast<size_t>(t.m * ldc), 77);
  g.c = c.data(), g.ldc = ldc;
  const int64_t width = int8_gemm_panel_width();
  for (int64_t i = 0; i < t.m; i += 19) {
    for (int64_t j = 0; j < t.n; j += 2 * width) {
      int8_gemm_tile(g, i, std::min(i + 19, t.m), j, std::min(j + 2 * width, t.n), scratch.get());
    }
  }
  for (int64_t i = 0; i < t.m; ++i) {
    for (int64_t j = 0; j < t.n; ++j) {
      int64_t sum = 0;
      for (int64_t k = 0; k < t.k; ++k) {
        const int64_t x = value(a[static_cast<size_t>(i * g.a_row_stride + k * g.a_k_stride)], t.a_signed) -
                          (t.a_zeros ? a_zero[static_cast<size_t>(t.a_zeros == 2 ? i : 0)] : 0);
        const int64_t y = value(b[static_cast<size_t>(k * k_stride + j * n_stride)], t.b_signed) -
                          (t.b_zeros ? b_zero[static_cast<size_t>(t.b_zeros == 2 ? j : 0)] : 0);
        sum += x * y;
      }
      ASSERT_EQ(c[static_cast<size_t>(i * ldc + j)], static_cast<int32_t>(sum)) << "row " << i << " column " << j;
    }
    ASSERT_EQ(c[static_cast<size_t>(i * ldc + t.n)], 77) << "wrote behind a row";
  }
}

class Int8Gemm : public testing::TestWithParam<Rung> {
 protected:
  void SetUp() override {
    if (GetParam() > cpu_info().rung) GTEST_SKIP() << "not on this CPU";
    force_rung_for_test(GetParam());
  }
  void TearDown() override { force_rung_for_test(cpu_info().rung); }
};

TEST_P(Int8Gemm, EveryTail) {
  for (int64_t m : {1, 3, 6, 14, 15, 30}) {
    for (int64_t n : {1, 4, 8, 15, 16, 17, 31, 32, 33, 65, 100}) {
      for (int64_t k : {0, 1, 2, 3, 4, 5, 64, 67}) check({m, n, k});
    }
  }
}

TEST_P(Int8Gemm, SignsAndZeros) {
  for (int form = 0; form < 16; ++form) {
    for (int a_zeros = 0; a_zeros < 3; ++a_zeros) {
      for (int b_zeros = 0; b_zeros < 3; ++b_zeros) {
        Case t{17, 40, 36};
        t.a_signed = form & 1, t.b_signed = form & 2, t.a_transposed = form & 4, t.b_transposed = form & 8;
        t.a_zeros = a_zeros, t.b_zeros = b_zeros;
        check(t);
        t.k = 35;
        check(t);
      }
    }
  }
}

TEST_P(Int8Gemm, LargeAndEmpty) {
  check({300, 70, 200});
  check({20, 40, 5000});
  check({0, 4, 4});
  check({4, 0, 4});
}

TEST_P(Int8Gemm, GridCoversEverything) {
  for (int threads : {1, 2, 16}) {
    for (int64_t n : {1, 100, 768, 3000}) {
      const Int8GemmGrid grid = int8_gemm_grid(512, n, 1024, threads);
      EXPECT_GE(grid.row_step * grid.row_tiles, 512);
      EXPECT_GE(grid.col_step * grid.col_tiles, n);
      EXPECT_LT(grid.col_step * (grid.col_tiles - 1), n);
      EXPECT_TRUE(grid.col_tiles == 1 || grid.col_step % int8_gemm_panel_width() == 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Rungs, Int8Gemm, testing::Values(Rung::baseline, Rung::avx2, Rung::avx512),
                         [](const auto& info) { return std::string(rung_name(info.param)); });

}  // namespace
}  // namespace trunnion::kernels
