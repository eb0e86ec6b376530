#include "kernels/softmax.h"

#include "kernels/rung_test.h"

namespace trunnion::kernels {
namespace {

const float kInf = std::numeric_limits<float>::infinity();

std::vector<double> reference(const std::vector<float>& x, int64_t outer, int64_t axis, int64_t inner, bool log) {
  std::vector<double> wide(x.begin(), x.end()), y(x.size());
  softmax_f64(wide.data(), y.data(), outer, axis, inner, log);
  return y;
}

TEST(Softmax, RowsAndStridedMatchDouble) {
  for_each_rung([] {
    for (int64_t axis : {1, 2, 3, 7, 15, 16, 17, 33, 64, 100, 1000, 3000}) {
      for (int64_t inner : {1, 2, 3, 5, 16, 19, 300}) {
        const std::vector<float> x = random_floats(static_cast<size_t>(3 * axis * inner), -20, 20);
        std::vector<float> y(x.size()), l(x.size());
        softmax().strided(x.data(), y.data(), 3, axis, inner);
        softmax().log_strided(x.data(), l.data(), 3, axis, inner);
        const auto expect = reference(x, 3, axis, inner, false), expect_log = reference(x, 3, axis, inner, true);
        for (size_t i = 0; i < x.size(); ++i) {
          // x - max has up to 40 / 2^25 of rounding error, which exp passes on.
          ASSERT_NEAR(y[i], expect[i], 5e-6 * expect[i] + 1e-37) << axis << " " << inner;
          ASSERT_NEAR(l[i], expect_log[i], 7e-7 * std::fmax(1, std::fabs(expect_log[i]))) << axis << " " << inner;
        }
        std::vector<float> in_place = x;
        softmax().strided(in_place.data(), in_place.data(), 3, axis, inner);
        EXPECT_EQ(in_place, y);
      }
    }
  });
}

TEST(Softmax, SpecialRows) {
  for_each_rung([] {
    for (int64_t inner : {1, 2}) {
      std::vector<float> x(static_cast<size_t>(20 * inner), -kInf), y(x.size());
      softmax().strided(x.data(), y.data(), 1, 20, inner);
      for (float v : y) EXPECT_TRUE(std::isnan(v));
      x[static_cast<size_t>(3 * inner)] = 5;  // one finite element in column 0
      softmax().strided(x.data(), y.data(), 1, 20, inner);
      EXPECT_EQ(y[static_cast<size_t>(3 * inner)], 1);
      EXPECT_EQ(y[0], 0);
      x[0] = kInf;
      softmax().strided(x.data(), y.data(), 1, 20, inner);
      EXPECT_TRUE(std::isnan(y[0]));
      x[0] = std::nanf("");
      softmax().strided(x.data(), y.data(), 1, 20, inner);
      EXPECT_TRUE(std::isnan(y[static_cast<size_t>(3 * inner)]));
    }
    softmax().rows(nullptr, nullptr, 0, 5);
    softmax().rows(nullptr, nullptr, 5, 0);
  });
}

TEST(Softmax, AttentionScalesAndMasks) {
  for_each_rung([] {
    const int64_t rows = 3, cols = 21, stride = 24;
    const std::vector<float> x = random_floats(static_cast<size_t>(rows * stride), -4, 4);
    std::vector<float> mask(static_cast<size_t>(rows * cols));
    for (int64_t c = 5; c < cols; ++c) mask[static_cast<size_t>(c)] = -kInf;
    for (int64_t c = 0; c < cols; ++c) mask[static_cast<size_t>(cols + c)] = -kInf;
    mask[static_cast<size_t>(2 * cols + 1)] = 0.5f;
    std::vector<float> y = x;
    softmax().attention(y.data(), mask.data(), rows, cols, stride, cols, 0.25f);
    for (int64_t r = 0; r < rows; ++r) {
      std::vector<double> e(static_cast<size_t>(cols));
      double sum = 0;
      for (int64_t c = 0; c < cols; ++c) {
        const size_t at = static_cast<size_t>(c);
        e[at] = std::exp(0.25 * x[static_cast<size_t>(r * stride + c)] + mask[static_cast<size_t>(r * cols + c)]);
        sum += e[at];
      }
      for (int64_t c = 0; c < cols; ++c) {
        const double expect = r == 1 ? 0 : e[static_cast<size_t>(c)] / sum;
        EXPECT_NEAR(y[static_cast<size_t>(r * stride + c)], expect, 3e-7 * expect);
      }
      EXPECT_EQ(y[static_cast<size_t>(r * stride + cols)], x[static_cast<size_t>(r * stride + cols)]);
    }
    std::vector<float> plain = x, rows_only(static_cast<size_t>(cols));
    softmax().attention(plain.data(), nullptr, 1, cols, stride, 0, 1.0f);
    softmax().rows(x.data(), rows_only.data(), 1, cols);
    for (size_t c = 0; c < rows_only.size(); ++c) EXPECT_EQ(plain[c], rows_only[c]);
  });
}

}  // namespace
}  // namespace trunnion::kernels
