#include "kernels/gemm_bits.h"

#include "kernels/rung_test.h"

namespace trunnion::kernels {
namespace {

struct Case {
  BitsPanel panel;
  std::vector<uint8_t> codes;
  std::vector<float> scales, zeros;
  int64_t blocks;

  Case(int bits, int64_t k, int64_t block, bool own_zeros, float zero) : blocks((k + block - 1) / block) {
    std::mt19937 random(static_cast<unsigned>(k));
    codes.resize(static_cast<size_t>(bits_panel_bytes(bits, k)));
    for (auto& c : codes) c = static_cast<uint8_t>(random());
    scales = random_floats(static_cast<size_t>(blocks * kBitsPanel), 0.1f, 1.0f);
    zeros = random_floats(static_cast<size_t>(blocks * kBitsPanel), -3.0f, 12.0f, 5);
    panel = {bits, k, block, codes.data(), scales.data(), own_zeros ? zeros.data() : nullptr, zero};
  }
  double weight(int64_t k, int64_t c) const {
    const uint8_t* group = codes.data() + k / 4 * (panel.bits * kBitsPanel / 2);
    const uint8_t byte = group[(panel.bits == 8 ? c : c % 16) * 4 + k % 4];
    const int code = panel.bits == 8 ? static_cast<int8_t>(byte) : c < 16 ? byte & 15 : byte >> 4;
    const auto at = static_cast<size_t>(k / panel.block * kBitsPanel + c);
    return (static_cast<double>(code) - (panel.zeros ? zeros[at] : panel.zero)) * scales[at];
  }
};

TEST(GemmBits, RowsAndUnpack) {
  for_each_rung([&] {
    for (const int bits : {4, 8})
      for (const int64_t k : {1, 16, 31, 64, 200})
        for (const int64_t block : {16, 32, 128})
          for (const int zeros : {0, 1, 2}) {
            const Case c(bits, k, block, zeros == 2, zeros == 1 ? 8.0f : 0.0f);
            std::vector<float> weights(static_cast<size_t>(k * (kBitsPanel + 3)));
            gemm_bits().unpack(c.panel, weights.data(), kBitsPanel + 3);
            for (int64_t i = 0; i < k; ++i)
              for (int64_t j = 0; j < kBitsPanel; ++j)
                EXPECT_NEAR(weights[static_cast<size_t>(i * (kBitsPanel + 3) + j)], c.weight(i, j), 2e-5);
            for (int rows = 1; rows <= kBitsMaxRows; ++rows) {
              const int64_t lda = k + 5, cols = rows % 2 ? kBitsPanel : 27;
              const auto a = random_floats(static_cast<size_t>(lda * rows)), bias = random_floats(kBitsPanel);
              std::vector<float> sums(static_cast<size_t>(rows * c.blocks));
              gemm_bits().block_sums(a.data(), lda, rows, k, block, sums.data());
              std::vector<float> y(static_cast<size_t>(rows * 40), -99.0f);
              gemm_bits().rows(c.panel, a.data(), lda, rows, sums.data(), rows > 2 ? bias.data() : nullptr, cols,
                               y.data(), 40);
              for (int64_t r = 0; r < rows; ++r)
                for (int64_t j = 0; j < 40; ++j) {
                  double want = j < cols && rows > 2 ? bias[static_cast<size_t>(j)] : 0, size = 1;
                  for (int64_t i = 0; i < k && j < cols; ++i) {
                    const double v = a[static_cast<size_t>(r * lda + i)] * c.weight(i, j);
                    want += v;
                    size += std::fabs(v);
                  }
                  const float have = y[static_cast<size_t>(r * 40 + j)];
                  if (j < cols)
                    EXPECT_NEAR(have, want, 4e-6 * size) << bits << " bits, k " << k << ", row " << r << ", " << j;
                  else
                    EXPECT_EQ(have, -99.0f);
                }
            }
          }
  });
}

TEST(GemmBits, QuantizedRows) {
  for_each_rung([&] {
    for (const int bits : {4, 8})
      for (const int64_t k : {1, 16, 31, 64, 202})
        for (const int zeros : {0, 1, 2, 3}) {
          const GemmBitsInt8Fn fn = gemm_bits_int8(bits);
          if (!fn) continue;
          const Case c(bits, k, 32, zeros == 3, zeros == 1 ? 8.0f : zeros == 2 ? 7.25f : 0.0f);
          const int rows = static_cast<int>(k % 4) + 1;
          const int64_t cols = zeros % 2 ? kBitsPanel : 9, ld = (k + 3) / 4 * 4;
          auto a = random_floats(static_cast<size_t>(k * rows), -2.0f, 2.0f, 9);
          if (k > 40) std::fill(a.begin() + 32, a.begin() + 40, 0.0f);
          std::vector<int8_t> codes(static_cast<size_t>(ld * rows), 99);
          std::vector<float> scales(static_cast<size_t>(c.blocks * rows)), y(static_cast<size_t>(rows * 40), -99.0f);
          std::vector<int32_t> sums(scales.size());
          const auto bias = random_floats(kBitsPanel);
          const BitsRows q{codes.data(), ld, scales.data(), sums.data()};
          gemm_bits().quantize_rows(a.data(), k, rows, k, 32, q);
          fn(c.panel, q, rows, zeros ? bias.data() : nullptr, cols, y.data(), 40);
          for (int64_t r = 0; r < rows; ++r) {
            for (int64_t i = 0; i < k; ++i) {
              const float scale = scales[static_cast<size_t>(r * c.blocks + i / 32)];
              EXPECT_NEAR(codes[static_cast<size_t>(r * ld + i)] * scale, a[static_cast<size_t>(r * k + i)],
                          scale * 0.501);
            }
            for (int64_t j = 0; j < 40; ++j) {
              double want = j < cols && zeros ? bias[static_cast<size_t>(j)] : 0, size = 1;
              for (int64_t i = 0; i < k && j < cols; ++i) {
                const double x = codes[static_cast<size_t>(r * ld + i)] *
                                 static_cast<double>(scales[static_cast<size_t>(r * c.blocks + i / 32)]);
                want += x * c.weight(i, j);
                size += std::fabs(x) * (std::fabs(c.weight(i, j)) + 1);
              }
              const float have = y[static_cast<size_t>(r * 40 + j)];
              if (j < cols)
                EXPECT_NEAR(have, want, 4e-6 * size) << bits << " bits, k " << k << ", row " << r << ", " << j;
              else
                EXPECT_EQ(have, -99.0f);
            }
          }
        }
  });
}

}  // namespace
}  // namespace trunnion::kernels
