#include "kernels/rotary.h"

#include "kernels/rung_test.h"

namespace trunnion::kernels {
namespace {

TEST(Rotary, HalvesAndPairs) {
  for_each_rung([] {
    for (int64_t half : {0, 1, 3, 4, 7, 8, 15, 16, 17, 32, 33, 64}) {
      const auto n = static_cast<size_t>(half);
      const auto x = random_floats(2 * n, -2, 2, 1), cos = random_floats(n, -1, 1, 2), sin = random_floats(n, -1, 1, 3);
      for (const bool pairs : {false, true}) {
        std::vector<float> y(2 * n), in_place = x;
        const auto fn = pairs ? rotary().pairs : rotary().halves;
        fn(x.data(), y.data(), cos.data(), sin.data(), half);
        fn(in_place.data(), in_place.data(), cos.data(), sin.data(), half);
        EXPECT_EQ(y, in_place);
        for (size_t i = 0; i < n; ++i) {
          const size_t first = pairs ? 2 * i : i, second = pairs ? 2 * i + 1 : n + i;
          const double a = x[first], b = x[second], c = cos[i], s = sin[i];
          EXPECT_NEAR(y[first], c * a - s * b, 1e-6);
          EXPECT_NEAR(y[second], s * a + c * b, 1e-6);
        }
      }
    }
  });
}

}  // namespace
}  // namespace trunnion::kernels
