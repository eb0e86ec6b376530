// Products on planes of bfloat16: the algorithm on an emulated tile unit, on any CPU, and on the unit itself where the
// CPU has one.
#include "kernels/gemm_split.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/gemm_split_emulated.h"
#include "kernels/half.h"
#include "kernels/rung_test.h"

namespace trunnion::kernels {
#if defined(__x86_64__)
namespace avx512bf16 {
bool split_row(const float* x, int64_t k, int planes, uint16_t* row);
}
#endif
namespace {

struct Aligned {
  explicit Aligned(size_t bytes) : memory(bytes + 64) {}
  void* get() {
    const auto at = reinterpret_cast<uintptr_t>(memory.data());
    return memory.data() + (64 - at % 64) % 64;
  }
  std::vector<unsigned char> memory;
};

struct Case {
  int64_t m, n, k;
  int planes = 3;
  bool epilogue = false;
  bool b_transposed = false;
};

struct Data {
  explicit Data(const Case& t)
      : lda(t.k + 3),
        a(random_floats(static_cast<size_t>(t.m * lda), -1, 1, 1)),
        b(random_floats(static_cast<size_t>(t.k * t.n), -1, 1, 2)),
        bias(random_floats(static_cast<size_t>(t.n), -1, 1, 3)) {}
  int64_t lda;
  std::vector<float> a, b, bias;
};

std::vector<float> product(const SplitUnit& unit, const Case& t, const Data& d, int64_t row_step, int64_t col_step) {
  Aligned packed(static_cast<size_t>(split_packed_b_size(t.k, t.n, t.planes)) * 2);
  auto* to = static_cast<uint16_t*>(packed.get());
  const int64_t panels = split_panel_count(t.n), half = panels / 2;
  const int64_t k_stride = t.b_transposed ? 1 : t.n, n_stride = t.b_transposed ? t.k : 1;
  split_pack_b(d.b.data(), k_stride, n_stride, t.k, t.n, t.planes, half, panels, to);
  split_pack_b(d.b.data(), k_stride, n_stride, t.k, t.n, t.planes, 0, half, to);
  SplitGemmArgs g;
  g.m = t.m, g.n = t.n, g.k = t.k, g.planes = t.planes;
  g.a = d.a.data(), g.a_row_stride = d.lda;
  g.packed_b = to;
  g.ldc = t.n + 2;
  if (t.epilogue) {
    g.epilogue.bias_col = d.bias.data();
    g.epilogue.activation = Activation::gelu;
  }
  std::vector<float> c(static_cast<size_t>(t.m * g.ldc), 12345.0f);
  g.c = c.data();
  Aligned scratch(split_scratch_size(t.k, t.planes));
  for (int64_t i = 0; i < t.m; i += row_step)
    for (int64_t j = 0; j < t.n; j += col_step)
      split_gemm_tile(unit, g, i, std::min(i + row_step, t.m), j, std::min(j + col_step, t.n), scratch.get());
  return c;
}

struct Errors {
  double ours = 0, fma = 0;  // as fractions of the norm of the product
};

// Against f64; `fma` is a chain of fp32 multiply-adds, as the fp32 kernels run it.
Errors errors(const SplitUnit& unit, const Case& t) {
  SCOPED_TRACE(testing::Message() << "m " << t.m << " n " << t.n << " k " << t.k << " planes " << t.planes);
  const Data d(t);
  const auto c = product(unit, t, d, t.m, (t.n + 31) / 32 * 32);
  double ours = 0, fma = 0, norm = 0;
  for (int64_t i = 0; i < t.m; ++i) {
    for (int64_t j = 0; j < t.n; ++j) {
      double exact = 0;
      float chain = 0;
      for (int64_t k = 0; k < t.k; ++k) {
        const float x = d.a[static_cast<size_t>(i * d.lda + k)],
                    y = d.b[static_cast<size_t>(t.b_transposed ? j * t.k + k : k * t.n + j)];
        exact += static_cast<double>(x) * y;
        chain = static_cast<float>(static_cast<double>(x) * y + chain);
      }
      double got = c[static_cast<size_t>(i * (t.n + 2) + j)], want = exact;
      if (t.epilogue) {
        const double z = exact + d.bias[static_cast<size_t>(j)];
        want = 0.5 * z * (1 + std::erf(z / std::sqrt(2.0)));
      }
      ours += (got - want) * (got - want);
      fma += (chain - exact) * (chain - exact);
      norm += want * want;
    }
    for (int64_t j = t.n; j < t.n + 2; ++j) EXPECT_EQ(c[static_cast<size_t>(i * (t.n + 2) + j)], 12345.0f);
  }
  for (const int64_t rows : {1, 33, 70}) {
    const auto tiles = product(unit, t, d, rows, rows == 33 ? 64 : 32);
    EXPECT_EQ(std::memcmp(tiles.data(), c.data(), c.size() * sizeof(float)), 0) << "tiles of " << rows << " rows";
  }
  return {std::sqrt(ours / norm), std::sqrt(fma / norm)};
}

void shapes(const SplitUnit& unit) {
  constexpr double kPromise[] = {0, 3e-3, 1e-5, 4e-7};
  for (int planes = 1; planes <= 3; ++planes) {
    for (const auto& [m, n, k] :
         {std::array<int64_t, 3>{1, 5, 1}, {16, 16, 32}, {31, 33, 31}, {33, 100, 33}, {40, 64, 100}, {70, 40, 500}}) {
      const Errors e = errors(unit, {m, n, k, planes, false, n % 2 == 0});
      EXPECT_LE(e.ours, m * n < 50 ? 2 * kPromise[planes] + 1e-7 : kPromise[planes]) << m << " " << n << " " << k;
    }
    EXPECT_LE(errors(unit, {33, 70, 90, planes, true}).ours, kPromise[planes]);
  }
}

TEST(SplitGemm, ShapesOnAnEmulatedUnit) { shapes(kEmulated); }

TEST(SplitGemm, ShapesOnTheUnitOfThisCpu) {
  const SplitUnit* unit = split_unit();
  if (!unit) GTEST_SKIP() << "no AMX, or not asked for (TRUNNION_CPU=amx)";
  shapes(*unit);
}

TEST(SplitGemm, SixProductsAreAtLeastAsAccurateAsMultiplyAdds) {
  for (const int64_t k : {64, 300, 768}) {
    const Errors e = errors(kEmulated, {20, 33, k, 3});
    EXPECT_LE(e.ours, e.fma) << k;
  }
  const Errors e = errors(kEmulated, {20, 33, 768, 2});
  EXPECT_LE(e.ours, 1e-5);
}

TEST(SplitGemm, NumberOfProducts) {
  constexpr int kProducts[] = {0, 1, 3, 6};
  for (int planes = 1; planes <= 3; ++planes) {
    const Case t{32, 64, 96, planes};
    const Data d(t);
    t_unit.dots = 0;
    product(kEmulated, t, d, 32, 64);
    EXPECT_EQ(t_unit.dots, kProducts[planes] * 4 * 2 * 3);  // tiles of C, panels, steps
    EXPECT_FALSE(t_unit.configured);
  }
}

TEST(SplitGemm, RowsThatAreNotFinite) {
  const float inf = std::numeric_limits<float>::infinity(), most = std::numeric_limits<float>::max();
  for (int planes = 1; planes <= 3; ++planes) {
    const Case t{4, 34, 40, planes};
    Data d(t);
    for (float& b : d.b) b = std::fabs(b) + 0.1f;
    const auto plain = product(kEmulated, t, d, 4, 64);
    d.a[static_cast<size_t>(d.lda + 3)] = inf;
    d.a[static_cast<size_t>(2 * d.lda + 7)] = std::nanf("");
    for (int64_t k = 0; k < t.k; ++k) d.a[static_cast<size_t>(3 * d.lda + k)] = k == 0 ? most : 0.0f;
    const auto c = product(kEmulated, t, d, 4, 64);
    for (int64_t j = 0; j < t.n; ++j) {
      EXPECT_EQ(c[static_cast<size_t>(j)], plain[static_cast<size_t>(j)]);
      EXPECT_EQ(c[static_cast<size_t>(t.n + 2 + j)], inf);
      EXPECT_TRUE(std::isnan(c[static_cast<size_t>(2 * (t.n + 2) + j)]));
      const double want = static_cast<double>(most) * d.b[static_cast<size_t>(j)];
      if (want < most) {
        EXPECT_NEAR(c[static_cast<size_t>(3 * (t.n + 2) + j)] / want, 1, planes == 1 ? 2e-2 : 1e-4);
      }
    }
  }
}

// Rounded, not cut: what is left has 8 bits less each time.
TEST(SplitGemm, PlanesOfARow) {
  auto x = random_floats(100, -3, 3, 9);
  x[7] = std::numeric_limits<float>::max();
  x[8] = 1e-30f;
  x[9] = 0;
  for (int planes = 1; planes <= 3; ++planes) {
    std::vector<uint16_t> row(static_cast<size_t>(4 * planes * 1024));
    EXPECT_TRUE(split_row_plain(x.data(), 100, planes, row.data()));
    for (int64_t i = 0; i < 100; ++i) {
      double sum = 0;
      for (int p = 0; p < planes; ++p)
        sum += half::from_bf16(row[static_cast<size_t>(i / 32 * planes * 1024 + p * 1024 + i % 32)]);
      const float value = x[static_cast<size_t>(i)];
      EXPECT_NEAR(sum, value, std::fabs(value) * std::ldexp(1.0, i == 7 ? -7 : -8 * planes - (planes - 1))) << i;
    }
#if defined(__x86_64__)
    if (!active_avx512_bf16()) continue;
    for (const int64_t k : {1, 16, 17, 32, 33, 100}) {
      for (const bool large : {false, true}) {
        if (!large) x[7] = 1;
        std::vector<uint16_t> want(row.size()), got(row.size());
        EXPECT_TRUE(split_row_plain(x.data(), k, planes, want.data()));
        EXPECT_TRUE(avx512bf16::split_row(x.data(), k, planes, got.data()));
        EXPECT_EQ(got, want) << k << " " << planes;
      }
    }
    x[50] = std::numeric_limits<float>::infinity();
    EXPECT_FALSE(avx512bf16::split_row(x.data(), 100, planes, row.data()));
    x[50] = 1;
#endif
  }
}

}  // namespace
}  // namespace trunnion::kernels
