#include "kernels/quant_bytes.h"

#include <algorithm>

#include "kernels/rung_test.h"

namespace trunnion::kernels {
namespace {

std::vector<uint8_t> random_bytes(size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> v(n);
  for (auto& b : v) b = static_cast<uint8_t>(random());
  return v;
}
int value(uint8_t b, bool is_signed) { return is_signed ? static_cast<int8_t>(b) : b; }

TEST(QuantBytes, AddAndMul) {
  const ByteBinaryArgs args{{0.5f, 3}, {0.25f, -4}, {1.0f, 7}};
  for_each_rung([&] {
    for (const bool is_signed : {false, true})
      for (const size_t n : {0, 1, 7, 8, 15, 16, 17, 31, 32, 33, 100}) {
        const auto a = random_bytes(n + 1, 1), b = random_bytes(n + 1, 2);
        const int low = is_signed ? -128 : 0, high = is_signed ? 127 : 255;
        for (int shape = 0; shape < 3; ++shape) {
          std::vector<uint8_t> sum(n + 1, 99), product(n + 1, 99);
          quant_bytes().add[is_signed][shape](a.data(), b.data(), sum.data(), n, args);
          quant_bytes().mul[is_signed][shape](a.data(), b.data(), product.data(), n, args);
          for (size_t i = 0; i < n; ++i) {
            const double x = (value(a[shape == 2 ? 0 : i], is_signed) - 3) * 0.5,
                         z = (value(b[shape == 1 ? 0 : i], is_signed) + 4) * 0.25;
            // Every number here is exact.
            EXPECT_EQ(value(sum[i], is_signed), std::clamp<double>(std::nearbyint(x + z + 7), low, high));
            EXPECT_EQ(value(product[i], is_signed), std::clamp<double>(std::nearbyint(x * z + 7), low, high));
          }
          EXPECT_EQ(sum[n], 99);
          EXPECT_EQ(product[n], 99);
        }
      }
  });
}

TEST(QuantBytes, InPlaceAndHugeRatios) {
  for_each_rung([&] {
    auto a = random_bytes(40, 3);
    const auto before = a;
    quant_bytes().add[0][0](a.data(), a.data(), a.data(), a.size(), {{1, 0}, {1, 0}, {2, 0}});
    EXPECT_EQ(a, before);
    quant_bytes().add[0][0](a.data(), a.data(), a.data(), a.size(), {{1e30f, 100}, {1, 0}, {1e-5f, 0}});
    for (size_t i = 0; i < a.size(); ++i)
      if (before[i] != 100) EXPECT_EQ(a[i], before[i] > 100 ? 255 : 0);
  });
}

TEST(QuantBytes, QuantizeRoundsOnce) {
  for_each_rung([&] {
    const std::vector<float> x{0.5f, 1.5f, 2.5f, -0.5f, 1e20f, -1e20f, 3.0f,  4.0f, 5.0f,
                               6.0f, 7.0f, 8.0f, 9.0f,  10.0f, 11.0f,  12.0f, 0.5f};
    std::vector<uint8_t> y(x.size());
    quant_bytes().quantize(x.data(), y.data(), x.size(), {1.0f, 1}, false);
    EXPECT_EQ(std::vector<uint8_t>(y.begin(), y.begin() + 6), (std::vector<uint8_t>{2, 2, 4, 0, 255, 0}));
    EXPECT_EQ(y[16], 2);
    quant_bytes().quantize(x.data(), y.data(), x.size(), {1.0f, -1}, true);
    EXPECT_EQ(static_cast<int8_t>(y[5]), -128);
    EXPECT_EQ(static_cast<int8_t>(y[3]), -2);
  });
}

TEST(QuantBytes, SumsAndMaxima) {
  for_each_rung([&] {
    for (const bool is_signed : {false, true})
      for (const int64_t rows : {0, 1, 3, 20})
        for (const int64_t cols : {1, 8, 15, 33, 64, 130}) {
          const auto x = random_bytes(static_cast<size_t>(rows * cols + 1), 5);
          std::vector<int32_t> by_row(static_cast<size_t>(rows)), by_column(static_cast<size_t>(cols));
          std::vector<uint8_t> most(static_cast<size_t>(cols));
          std::vector<const void*> starts;
          for (int64_t r = 0; r < rows; ++r) starts.push_back(x.data() + r * cols);
          quant_bytes().row_sums(x.data(), is_signed, rows, cols, by_row.data());
          quant_bytes().column_sums(x.data(), is_signed, rows, cols, by_column.data());
          quant_bytes().column_max(starts.data(), rows, is_signed, cols, most.data());
          std::vector<int32_t> want_row(by_row.size()), want_column(by_column.size());
          std::vector<int> want_most(by_column.size(), is_signed ? -128 : 0);
          for (int64_t r = 0; r < rows; ++r)
            for (int64_t c = 0; c < cols; ++c) {
              const int v = value(x[static_cast<size_t>(r * cols + c)], is_signed);
              want_row[static_cast<size_t>(r)] += v;
              want_column[static_cast<size_t>(c)] += v;
              want_most[static_cast<size_t>(c)] = std::max(want_most[static_cast<size_t>(c)], v);
            }
          EXPECT_EQ(by_row, want_row);
          EXPECT_EQ(by_column, want_column);
          for (size_t c = 0; c < most.size(); ++c) EXPECT_EQ(value(most[c], is_signed), want_most[c]);
        }
  });
}

TEST(QuantBytes, LookUp) {
  uint8_t table[256];
  float floats[256];
  for (int i = 0; i < 256; ++i) {
    table[i] = static_cast<uint8_t>(255 - i);
    floats[i] = static_cast<float>(i) / 2;
  }
  for (const size_t n : {0, 1, 8, 13, 64}) {
    auto x = random_bytes(n, 9);
    const auto before = x;
    std::vector<float> y(n);
    look_up(floats, x.data(), y.data(), n);
    look_up(table, x.data(), x.data(), n);
    for (size_t i = 0; i < n; ++i) {
      EXPECT_EQ(x[i], 255 - before[i]);
      EXPECT_EQ(y[i], static_cast<float>(before[i]) / 2);
    }
  }
}

}  // namespace
}  // namespace trunnion::kernels
