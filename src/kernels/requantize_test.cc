// Requantization on every rung, tails included.
#include "kernels/requantize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/rung_test.h"

namespace trunnion::kernels {
namespace {

TEST(Requantize, MatchesPlainLoops) {
  for_each_rung([] {
    for (const int64_t cols : {1, 3, 8, 17, 40}) {
      const int64_t rows = 3, ld = cols + 2;
      std::vector<int32_t> x(static_cast<size_t>(rows * ld)), bias(static_cast<size_t>(cols));
      std::vector<float> scale(static_cast<size_t>(cols)), shift(static_cast<size_t>(cols));
      for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<int32_t>((i * 2654435761u) % 60001) - 30000;
      for (size_t j = 0; j < scale.size(); ++j) {
        bias[j] = static_cast<int32_t>(j) * 7 - 20;
        scale[j] = 0.25f / static_cast<float>(1 + j % 5);
        shift[j] = static_cast<float>(j) - 3;
      }
      for (const bool per_col : {false, true}) {
        const RequantizeArgs args{x.data(), ld, rows, cols, bias.data(), scale.data(), per_col};
        std::vector<uint8_t> u(static_cast<size_t>(rows * cols));
        std::vector<int8_t> s(u.size());
        std::vector<float> f(u.size());
        requantize().to_u8(args, u.data(), cols, 100);
        requantize().to_i8(args, s.data(), cols, -5);
        requantize().to_f32(args, f.data(), cols, shift.data());
        for (int64_t r = 0; r < rows; ++r) {
          for (int64_t j = 0; j < cols; ++j) {
            const auto c = static_cast<size_t>(j), at = static_cast<size_t>(r * cols + j);
            const float v = static_cast<float>(x[static_cast<size_t>(r * ld + j)] + bias[c]) * scale[per_col ? c : 0];
            const float q = std::nearbyint(v);
            EXPECT_EQ(u[at], std::min(255.0f, std::max(0.0f, q + 100)));
            EXPECT_EQ(s[at], std::min(127.0f, std::max(-128.0f, q - 5)));
            EXPECT_EQ(f[at], v + shift[c]);
          }
        }
      }
    }
  });
}

TEST(Requantize, ExtremesSaturate) {
  for_each_rung([] {
    const std::vector<int32_t> x{INT32_MAX, INT32_MIN, 0, 5};
    const float inf = INFINITY, half = 0.5f;
    std::vector<uint8_t> u(4);
    requantize().to_u8({x.data(), 4, 1, 4, nullptr, &inf}, u.data(), 4, 7);
    EXPECT_EQ(u, (std::vector<uint8_t>{255, 0, 7, 255}));
    requantize().to_u8({x.data(), 4, 1, 4, nullptr, &half}, u.data(), 4, 0);
    EXPECT_EQ(u, (std::vector<uint8_t>{255, 0, 0, 2}));
  });
}

}  // namespace
}  // namespace trunnion::kernels
