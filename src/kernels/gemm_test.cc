// fp32 GEMM on every rung of this CPU against a double-precision product.
#include "kernels/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "base/cpu_info.h"

namespace trunnion::kernels {
namespace {

// 64-byte aligned floats between guard values.
class Buffer {
 public:
  explicit Buffer(int64_t n) : n_(n), data_(static_cast<float*>(std::aligned_alloc(64, bytes(n)))) {
    for (int64_t i = 0; i < n + 32; ++i) data_[i] = kGuard;
  }
  ~Buffer() {
    for (int64_t i = 0; i < 16; ++i) EXPECT_TRUE(data_[i] == kGuard && data_[16 + n_ + i] == kGuard) << "guard " << i;
    std::free(data_);
  }
  float* get() { return data_ + 16; }
  float& operator[](int64_t i) { return data_[16 + i]; }
  void fill(std::mt19937& random) {
    std::uniform_real_distribution<float> values(-1.0f, 1.0f);
    for (int64_t i = 0; i < n_; ++i) data_[16 + i] = values(random);
  }

  static constexpr float kGuard = 12345.0f;

 private:
  static size_t bytes(int64_t n) { return (static_cast<size_t>(n + 32) * 4 + 63) / 64 * 64; }
  int64_t n_;
  float* data_;
};

struct Case {
  int64_t m, n, k;
  int64_t lda_extra = 0, ldc_extra = 0;
  bool a_transposed = false, b_transposed = false, packed = true, a_rows = false;
  Epilogue epilogue;  // pointers only say which operands exist
};

double activation(Activation act, double x, double a, double b) {
  const auto clip = [](double v, double lo, double hi) { return std::fmin(std::fmax(v, lo), hi); };
  switch (act) {
    case Activation::none:
      return x;
    case Activation::relu:
      return std::fmax(x, 0.0);
    case Activation::clip:
      return clip(x, a, b);
    case Activation::leaky_relu:
      return x < 0 ? a * x : x;
    case Activation::sigmoid:
      return 1 / (1 + std::exp(-x));
    case Activation::tanh:
      return std::tanh(x);
    case Activation::silu:
      return x / (1 + std::exp(-x));
    case Activation::hard_swish:
      return x * clip(x / 6 + 0.5, 0, 1);
    case Activation::hard_sigmoid:
      return clip(a * x + b, 0, 1);
    case Activation::gelu:
      return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case Activation::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / 3.14159265358979) * (x + 0.044715 * x * x * x)));
  }
  return x;
}

const float kYes = 0;  // its address stands for "present" in a Case

// Runs a case as one tile and again in small tiles; both must agree in every bit and with the reference.
void check(const Case& t) {
  SCOPED_TRACE(testing::Message() << rung_name(active_rung()) << " m " << t.m << " n " << t.n << " k " << t.k << " at "
                                  << t.a_transposed << " bt " << t.b_transposed << " packed " << t.packed << " act "
                                  << static_cast<int>(t.epilogue.activation));
  std::mt19937 random(static_cast<unsigned>(t.m * 131 + t.n * 17 + t.k));
  const int64_t lda = (t.a_transposed ? t.m : t.k) + t.lda_extra, ldc = t.n + t.ldc_extra;
  Buffer a((t.a_transposed ? t.k : t.m) * lda), b(t.k * t.n), old(t.m * ldc), bias_col(t.n), bias_row(t.m),
      residual(t.m * (t.n + 3));
  for (Buffer* x : {&a, &b, &old, &bias_col, &bias_row, &residual}) x->fill(random);

  GemmArgs g;
  g.m = t.m, g.n = t.n, g.k = t.k;
  g.a = a.get();
  g.a_row_stride = t.a_transposed ? 1 : lda;
  g.a_k_stride = t.a_transposed ? lda : 1;
  std::vector<const float*> rows;
  for (int64_t i = 0; i < t.m; ++i) rows.push_back(a.get() + (t.m - 1 - i) * lda);
  if (t.a_rows) g.a_rows = rows.data(), g.a = nullptr;
  g.b_k_stride = t.b_transposed ? 1 : t.n;
  g.b_n_stride = t.b_transposed ? t.k : 1;
  g.ldc = ldc;
  g.epilogue = t.epilogue;
  if (t.epilogue.bias_col) g.epilogue.bias_col = bias_col.get();
  if (t.epilogue.bias_row) g.epilogue.bias_row = bias_row.get();
  if (t.epilogue.residual) g.epilogue.residual = residual.get(), g.epilogue.residual_ld = t.n + 3;

  Buffer packed(gemm_packed_b_size(t.k, t.n));
  const int64_t panels = gemm_panel_count(t.n), half = panels / 2;
  gemm_pack_b(b.get(), g.b_k_stride, g.b_n_stride, t.k, t.n, half, panels, packed.get());
  gemm_pack_b(b.get(), g.b_k_stride, g.b_n_stride, t.k, t.n, 0, half, packed.get());
  if (t.packed) {
    g.packed_b = packed.get();
  } else {
    g.b = b.get();
  }
  Buffer scratch(static_cast<int64_t>(gemm_scratch_size(t.n, t.k) / 4));

  Buffer c(t.m * ldc), c2(t.m * ldc);
  std::memcpy(c.get(), old.get(), static_cast<size_t>(t.m * ldc) * 4);
  std::memcpy(c2.get(), old.get(), static_cast<size_t>(t.m * ldc) * 4);
  g.c = c.get();
  gemm_tile(g, 0, t.m, 0, t.n, scratch.get());

  g.c = c2.get();
  const int64_t width = gemm_panel_width();
  for (int64_t i = 0; i < t.m; i += 5) {
    for (int64_t j = 0; j < t.n; j += 2 * width) {
      gemm_tile(g, i, std::min(i + 5, t.m), j, std::min(j + 2 * width, t.n), scratch.get());
    }
  }
  ASSERT_EQ(std::memcmp(c.get(), c2.get(), static_cast<size_t>(t.m * ldc) * 4), 0) << "bits depend on the tiles";

  const Epilogue& e = g.epilogue;
  for (int64_t i = 0; i < t.m; ++i) {
    for (int64_t j = 0; j < t.n; ++j) {
      double sum = 0, size = 1;
      for (int64_t k = 0; k < t.k; ++k) {
        const double x = t.a_rows ? rows[i][k] : a[i * g.a_row_stride + k * g.a_k_stride];
        sum += x * b[k * g.b_k_stride + j * g.b_n_stride];
      }
      sum = e.alpha * sum;
      if (e.beta != 0) sum += static_cast<double>(e.beta) * old[i * ldc + j];
      if (e.bias_col) sum += bias_col[j];
      if (e.bias_row) sum += bias_row[i];
      const double r = e.residual ? residual[i * (t.n + 3) + j] : 0;
      if (!e.residual_after_activation) sum += r;
      sum = activation(e.activation, sum, e.a, e.b);
      if (e.residual_after_activation) sum += r;
      size = 1e-6 * (2 + std::fabs(sum) + std::sqrt(static_cast<double>(t.k)));
      ASSERT_NEAR(c[i * ldc + j], sum, size) << "row " << i << " column " << j;
    }
    for (int64_t j = t.n; j < ldc; ++j) ASSERT_EQ(c[i * ldc + j], old[i * ldc + j]) << "wrote behind a row";
  }
}

class Gemm : public testing::TestWithParam<Rung> {
 protected:
  void SetUp() override {
    if (GetParam() > cpu_info().rung) GTEST_SKIP() << "not on this CPU";
    force_rung_for_test(GetParam());
  }
  void TearDown() override { force_rung_for_test(cpu_info().rung); }
};

TEST_P(Gemm, EveryTail) {
  for (int64_t m : {1, 2, 3, 4, 5, 6, 7, 13, 14, 15, 29}) {
    for (int64_t n : {1, 2, 3, 4, 5, 8, 15, 16, 17, 24, 31, 32, 33, 49, 63, 127, 128, 129}) {
      for (int64_t k : {0, 1, 2, 17}) check({m, n, k});
    }
  }
}

TEST_P(Gemm, EmptySizes) {
  check({0, 5, 3});
  check({5, 0, 3});
  check({0, 0, 0});
}

TEST_P(Gemm, SeveralBlocksOfK) {
  for (int64_t k : {383, 384, 385, 769, 1500}) {
    for (int64_t n : {1, 3, 4, 10, 40, 150, 270}) {
      for (int64_t m : {1, 2, 3, 20}) check({m, n, k});
    }
  }
}

TEST_P(Gemm, SeveralRunsOfRows) {
  check({230, 33, 20});
  check({500, 20, 70, 3, 5});
  check({451, 3, 400});
}

TEST_P(Gemm, OperandForms) {
  for (int64_t m : {1, 3, 4, 6, 7, 40, 260}) {
    for (int64_t n : {2, 16, 50, 200}) {
      for (int64_t k : {5, 390}) {
        for (int form = 0; form < 16; ++form) {
          Case t{m, n, k};
          t.a_transposed = form & 1;
          t.b_transposed = form & 2;
          t.packed = form & 4;
          t.a_rows = form & 8;
          if (t.a_rows && t.a_transposed) continue;
          check(t);
        }
      }
    }
  }
}

TEST_P(Gemm, RowsThatShareCacheSets) {
  check({40, 140, 1024});
  Case t{30, 200, 500};
  t.lda_extra = 1024 - 500;
  check(t);
}

TEST_P(Gemm, Epilogues) {
  for (Activation act : {Activation::none, Activation::relu, Activation::clip, Activation::leaky_relu,
                         Activation::sigmoid, Activation::tanh, Activation::silu, Activation::hard_swish,
                         Activation::hard_sigmoid, Activation::gelu, Activation::gelu_tanh}) {
    for (int form = 0; form < 32; ++form) {
      for (int64_t n : {3, 10, 37, 150}) {
        Case t{17, n, form % 3 == 0 ? 400 : 30};
        t.ldc_extra = form % 2;
        t.epilogue.activation = act;
        t.epilogue.a = act == Activation::clip ? -0.5f : act == Activation::hard_sigmoid ? 0.2f : 0.1f;
        t.epilogue.b = 0.75f;
        if (form & 1) t.epilogue.bias_col = &kYes;
        if (form & 2) t.epilogue.residual = &kYes;
        if (form & 4) t.epilogue.residual_after_activation = true;
        if (form & 8) t.epilogue.alpha = 0.5f, t.epilogue.beta = -1.5f;
        if (form & 16) t.epilogue.bias_row = &kYes;
        check(t);
      }
    }
  }
}

TEST_P(Gemm, ResidualMayBeC) {
  const int64_t m = 20, n = 40, k = 900;
  std::mt19937 random(1);
  Buffer a(m * k), b(k * n), c(m * n), x(m * n), packed(gemm_packed_b_size(k, n)),
      scratch(static_cast<int64_t>(gemm_scratch_size(n, k) / 4));
  a.fill(random), b.fill(random), x.fill(random);
  gemm_pack_b(b.get(), n, 1, k, n, 0, gemm_panel_count(n), packed.get());
  for (bool after : {false, true}) {
    for (Activation act : {Activation::relu, Activation::silu}) {
      GemmArgs g;
      g.m = m, g.n = n, g.k = k, g.a = a.get(), g.a_row_stride = k, g.packed_b = packed.get(), g.ldc = n;
      g.epilogue.activation = act;
      g.epilogue.residual = x.get();
      g.epilogue.residual_ld = n;
      g.epilogue.residual_after_activation = after;
      g.c = c.get();
      gemm_tile(g, 0, m, 0, n, scratch.get());
      Buffer in_place(m * n);
      std::memcpy(in_place.get(), x.get(), m * n * 4);
      g.c = in_place.get();
      g.epilogue.residual = in_place.get();
      gemm_tile(g, 0, m, 0, n, scratch.get());
      EXPECT_EQ(std::memcmp(c.get(), in_place.get(), m * n * 4), 0);
    }
  }
}

TEST_P(Gemm, NanPassesThroughActivations) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  for (int64_t n : {2, 20, 33}) {
    for (Activation act : {Activation::relu, Activation::clip, Activation::leaky_relu, Activation::sigmoid,
                           Activation::tanh, Activation::silu, Activation::hard_swish, Activation::hard_sigmoid,
                           Activation::gelu, Activation::gelu_tanh}) {
      std::vector<float> a = {nan, inf, -inf}, b(static_cast<size_t>(n), 1.0f), c(static_cast<size_t>(3 * n));
      Buffer scratch(static_cast<int64_t>(gemm_scratch_size(n, 1) / 4));
      GemmArgs g;
      g.m = 3, g.n = n, g.k = 1, g.a = a.data(), g.a_row_stride = 1, g.b = b.data(), g.b_k_stride = n;
      g.c = c.data(), g.ldc = n;
      g.epilogue.activation = act;
      g.epilogue.a = 0.2f, g.epilogue.b = 0.5f;
      gemm_tile(g, 0, 3, 0, n, scratch.get());
      for (int64_t j = 0; j < n; ++j) EXPECT_TRUE(std::isnan(c[static_cast<size_t>(j)])) << static_cast<int>(act);
      const float top = c[static_cast<size_t>(n)];
      const bool bounded = act == Activation::sigmoid || act == Activation::tanh || act == Activation::hard_sigmoid;
      EXPECT_EQ(top, act == Activation::clip ? 0.5f : bounded ? 1.0f : inf) << static_cast<int>(act);
    }
  }
}

TEST_P(Gemm, GridCoversEverything) {
  for (int threads : {1, 2, 3, 8, 64}) {
    for (int64_t m : {1, 13, 128, 5000}) {
      for (int64_t n : {1, 32, 100, 768, 4097}) {
        const GemmGrid grid = gemm_grid(m, n, 512, threads);
        EXPECT_GE(grid.row_step * grid.row_tiles, m);
        EXPECT_LT(grid.row_step * (grid.row_tiles - 1), m);
        EXPECT_GE(grid.col_step * grid.col_tiles, n);
        EXPECT_LT(grid.col_step * (grid.col_tiles - 1), n);
        EXPECT_TRUE(grid.col_tiles == 1 || grid.col_step % gemm_panel_width() == 0);
        if (threads == 1) {
          EXPECT_EQ(grid.count(), 1);
        }
      }
    }
  }
  EXPECT_EQ(gemm_grid(0, 5, 5, 4).count(), 0);
  EXPECT_EQ(gemm_grid(5, 0, 5, 4).count(), 0);
  EXPECT_GE(gemm_grid(128, 768, 768, 2).count(), 2);
  EXPECT_GE(gemm_grid(50000, 64, 576, 2).count(), 2);
}

TEST_P(Gemm, ActivationsAreAccurate) {
  const struct {
    Activation act;
    double relative;
  } rows[] = {{Activation::sigmoid, 4e-7}, {Activation::tanh, 4e-7}, {Activation::silu, 5e-7}};
  for (const auto& row : rows) {
    for (double at = -30; at < 30; at += 0.0137) {
      float x = static_cast<float>(at);
      const double want = activation(row.act, x, 0, 0);
      apply_activation(row.act, 0, 0, &x, 1, 1, 1);
      ASSERT_NEAR(x, want, row.relative * std::fabs(want)) << at << " " << static_cast<int>(row.act);
    }
  }
  for (double at = -30; at < 30; at += 0.0137) {
    for (Activation act : {Activation::gelu, Activation::gelu_tanh}) {
      float x = static_cast<float>(at);
      const double want = activation(act, x, 0, 0);
      apply_activation(act, 0, 0, &x, 1, 1, 1);
      ASSERT_NEAR(x, want, 3e-7 * std::fabs(at) * (act == Activation::gelu ? 0.5 : 1)) << at;
    }
  }
  float tiny = 1e-20f;
  apply_activation(Activation::tanh, 0, 0, &tiny, 1, 1, 1);
  EXPECT_EQ(tiny, 1e-20f);
}

INSTANTIATE_TEST_SUITE_P(Rungs, Gemm, testing::Values(Rung::baseline, Rung::avx2, Rung::avx512),
                         [](const auto& info) { return std::string(rung_name(info.param)); });

}  // namespace
}  // namespace trunnion::kernels
