#include "kernels/norm.h"

#include "kernels/rung_test.h"

namespace trunnion::kernels {
namespace {

struct Moments {
  double mean = 0, var = 0;
};
Moments moments_of(const float* x, int64_t n, int64_t stride = 1) {
  Moments m;
  for (int64_t i = 0; i < n; ++i) m.mean += x[i * stride];
  m.mean /= static_cast<double>(n);
  for (int64_t i = 0; i < n; ++i) m.var += (x[i * stride] - m.mean) * (x[i * stride] - m.mean);
  m.var /= static_cast<double>(n);
  return m;
}

TEST(Norm, LayerMatchesDouble) {
  for_each_rung([] {
    for (int64_t cols : {1, 3, 8, 16, 17, 63, 64, 65, 768, 10007}) {
      const size_t n = static_cast<size_t>(cols);
      const std::vector<float> x = random_floats(3 * n, -3, 5), scale = random_floats(n, 0.5f, 2, 2),
                               bias = random_floats(n, -1, 1, 3);
      std::vector<float> y(3 * n), plain(3 * n), only_scale(3 * n), mean(3), inv(3);
      norm().layer(x.data(), scale.data(), bias.data(), y.data(), mean.data(), inv.data(), 3, cols, 1e-5f);
      norm().layer(x.data(), nullptr, nullptr, plain.data(), nullptr, nullptr, 3, cols, 1e-5f);
      norm().layer(x.data(), scale.data(), nullptr, only_scale.data(), nullptr, nullptr, 3, cols, 1e-5f);
      for (size_t r = 0; r < 3; ++r) {
        const Moments m = moments_of(&x[r * n], cols);
        const double factor = 1 / std::sqrt(m.var + 1e-5f);
        EXPECT_NEAR(mean[r], m.mean, 1e-6);
        EXPECT_NEAR(inv[r], factor, 1e-6 * factor + (cols == 1 ? 1e-4 : 0));
        for (size_t c = 0; c < n; ++c) {
          const double e = (x[r * n + c] - m.mean) * factor;
          ASSERT_NEAR(plain[r * n + c], e, 2e-6) << cols;
          ASSERT_NEAR(only_scale[r * n + c], e * scale[c], 4e-6) << cols;
          ASSERT_NEAR(y[r * n + c], e * scale[c] + bias[c], 4e-6) << cols;
        }
      }
    }
  });
}

TEST(Norm, LargeMeanKeepsItsVariance) {
  for_each_rung([] {
    std::vector<float> x = random_floats(1000, -1, 1);
    for (float& v : x) v += 4096;
    float mean, var;
    norm().moments(x.data(), 1000, &mean, &var);
    const Moments m = moments_of(x.data(), 1000);
    EXPECT_NEAR(mean, m.mean, 1e-3);
    EXPECT_NEAR(var, m.var, 1e-5);
    norm().moments(x.data(), 0, &mean, &var);
    EXPECT_TRUE(std::isnan(mean));
  });
}

TEST(Norm, RmsAndLp) {
  for_each_rung([] {
    for (size_t n : {1, 5, 16, 33, 513}) {
      const std::vector<float> x = random_floats(2 * n), scale = random_floats(n, 0.5f, 2, 2);
      std::vector<float> y(2 * n), l1(2 * n), l2(2 * n), inv(2);
      norm().rms(x.data(), scale.data(), y.data(), inv.data(), 2, static_cast<int64_t>(n), 1e-6f);
      norm().lp(x.data(), l1.data(), 2, static_cast<int64_t>(n), 1);
      norm().lp(x.data(), l2.data(), 2, static_cast<int64_t>(n), 2);
      for (size_t r = 0; r < 2; ++r) {
        double squares = 0, absolute = 0;
        for (size_t c = 0; c < n; ++c)
          squares += double(x[r * n + c]) * x[r * n + c], absolute += std::fabs(x[r * n + c]);
        const double factor = 1 / std::sqrt(squares / static_cast<double>(n) + 1e-6f);
        EXPECT_NEAR(inv[r], factor, 1e-6 * factor);
        for (size_t c = 0; c < n; ++c) {
          ASSERT_NEAR(y[r * n + c], x[r * n + c] * factor * scale[c], 2e-6);
          ASSERT_NEAR(l1[r * n + c], x[r * n + c] / absolute, 1e-6);
          ASSERT_NEAR(l2[r * n + c], x[r * n + c] / std::sqrt(squares), 1e-6);
        }
      }
    }
    const float zeros[3] = {};
    float y[3] = {1, 1, 1};
    norm().lp(zeros, y, 1, 3, 2);
    EXPECT_EQ(y[1], 0);
  });
}

TEST(Norm, SkipEqualsSumThenNorm) {
  for_each_rung([] {
    const int64_t rows = 4, cols = 37;
    const size_t n = static_cast<size_t>(cols);
    const std::vector<float> x = random_floats(4 * n), skip = random_floats(2 * n, -1, 1, 2),
                             add = random_floats(n, -1, 1, 3), scale = random_floats(n, 0, 1, 4),
                             bias = random_floats(n, 0, 1, 5);
    std::vector<float> s(4 * n), expect(4 * n), y(4 * n), sum(4 * n);
    for (size_t i = 0; i < s.size(); ++i) s[i] = x[i] + skip[i % (2 * n)] + add[i % n];
    norm().layer(s.data(), scale.data(), bias.data(), expect.data(), nullptr, nullptr, rows, cols, 1e-5f);
    norm().skip(x.data(), skip.data(), add.data(), scale.data(), bias.data(), y.data(), sum.data(), nullptr, nullptr,
                rows, cols, 2, 1e-5f, false);
    EXPECT_EQ(sum, s);
    EXPECT_EQ(y, expect);
    norm().rms(s.data(), scale.data(), expect.data(), nullptr, rows, cols, 1e-5f);
    norm().skip(x.data(), skip.data(), add.data(), scale.data(), nullptr, y.data(), nullptr, nullptr, nullptr, rows,
                cols, 2, 1e-5f, true);
    EXPECT_EQ(y, expect);
  });
}

TEST(Norm, ColumnsAndScaleShift) {
  for_each_rung([] {
    for (int64_t cols : {1, 4, 15, 16, 33}) {
      const int64_t rows = 150, stride = cols + 3;
      const std::vector<float> x = random_floats(static_cast<size_t>(rows * stride), -1, 4);
      std::vector<float> mean(static_cast<size_t>(cols)), var(mean);
      norm().moments_columns(x.data(), rows, cols, stride, mean.data(), var.data());
      for (int64_t c = 0; c < cols; ++c) {
        const Moments m = moments_of(&x[static_cast<size_t>(c)], rows, stride);
        EXPECT_NEAR(mean[static_cast<size_t>(c)], m.mean, 1e-6);
        EXPECT_NEAR(var[static_cast<size_t>(c)], m.var, 2e-6);
      }
      std::vector<float> y(static_cast<size_t>(rows * cols)), z(y);
      norm().scale_shift_columns(x.data(), y.data(), rows, cols, mean.data(), var.data());
      norm().scale_shift_columns(x.data(), z.data(), rows, cols, mean.data(), nullptr);
      for (size_t i = 0; i < y.size(); ++i) {
        const size_t c = i % static_cast<size_t>(cols);
        ASSERT_NEAR(y[i], double(x[i]) * mean[c] + var[c], 2e-6);
        ASSERT_EQ(z[i], x[i] * mean[c]);
      }
      norm().scale_shift(x.data(), y.data(), cols, 2.0f, 0.25f);
      for (int64_t c = 0; c < cols; ++c) EXPECT_EQ(y[static_cast<size_t>(c)], 2.0f * x[static_cast<size_t>(c)] + 0.25f);
    }
  });
}

TEST(Norm, BatchNormFoldAndLrn) {
  const float scale[] = {2, 1}, bias[] = {1, 0}, mean[] = {3, -1}, var[] = {4, 0.25f};
  float f[2], s[2];
  fold_batch_norm(scale, bias, mean, var, 0, 2, f, s);
  EXPECT_EQ(f[0], 1);
  EXPECT_EQ(s[0], -2);
  EXPECT_EQ(f[1], 2);
  EXPECT_EQ(s[1], 2);
  fold_batch_norm(nullptr, nullptr, mean, var, 0, 2, f, s);
  EXPECT_EQ(f[0], 0.5f);
  EXPECT_EQ(s[0], -1.5f);
  const float x[] = {1, 2, 3, 4};  // 4 channels, plane of 1
  float y[4];
  lrn(x, y, 4, 1, 3, 0.3f, 0.5f, 1.0f);
  EXPECT_NEAR(y[0], 1 / std::sqrt(1 + 0.1 * (1 + 4)), 1e-6);
  EXPECT_NEAR(y[1], 2 / std::sqrt(1 + 0.1 * (1 + 4 + 9)), 1e-6);
  EXPECT_NEAR(y[3], 4 / std::sqrt(1 + 0.1 * (9 + 16)), 1e-6);
  lrn(x, y, 4, 1, 2, 0.2f, 0.75f, 2.0f);  // an even window reaches further ahead
  EXPECT_NEAR(y[0], 1 / std::pow(2 + 0.1 * (1 + 4), 0.75), 1e-6);
  EXPECT_NEAR(y[3], 4 / std::pow(2 + 0.1 * 16, 0.75), 1e-6);
}

}  // namespace
}  // namespace trunnion::kernels
