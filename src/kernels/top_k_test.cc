// Keys and selection against a stable sort, on every rung.
#include "kernels/top_k.h"

#include <algorithm>
#include <numeric>

#include "kernels/rung_test.h"

namespace trunnion::kernels {
namespace {

TEST(TopK, KeysOrderFloats) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const std::vector<float> up = {-inf, -3e38f, -2, -1e-40f, 0, 1e-45f, 1, 3e38f, inf, nan};
  for_each_rung([&] {
    for (bool largest : {false, true}) {
      std::vector<uint32_t> keys(up.size());
      // One by one (the tail) and in the middle of a vector.
      for (size_t i = 0; i < up.size(); ++i) f32_keys(&up[i], &keys[i], 1, largest);
      for (size_t i = 1; i < keys.size(); ++i) EXPECT_EQ(keys[i - 1] < keys[i], !largest) << i;
      for (size_t i = 0; i < up.size(); ++i) {
        const std::vector<float> same(40, up[i]);
        std::vector<uint32_t> all(40);
        f32_keys(same.data(), all.data(), 40, largest);
        EXPECT_EQ(all, std::vector<uint32_t>(40, keys[i]));
      }
      const std::vector<float> zeros(20, -0.0f), nans(20, -nan);
      std::vector<uint32_t> zero(20), other(20);
      f32_keys(zeros.data(), zero.data(), 20, largest);
      f32_keys(nans.data(), other.data(), 20, largest);
      EXPECT_EQ(zero, std::vector<uint32_t>(20, keys[4]));
      EXPECT_EQ(other, std::vector<uint32_t>(20, keys.back()));
    }
  });
  EXPECT_LT(i32_key(-5, false), i32_key(3, false));
  EXPECT_GT(i32_key(-5, true), i32_key(3, true));
  EXPECT_LT(u32_key(7, true), u32_key(3, true));
}

TEST(TopK, SelectsWhatAStableSortPutsFirst) {
  for_each_rung([] {
    std::mt19937 random(3);
    for (int64_t n : {1, 2, 7, 16, 63, 200, 256, 257, 1000, 5000}) {
      for (unsigned different : {1u, 3u, 100u, 0u}) {
        std::vector<uint32_t> keys(static_cast<size_t>(n));
        for (uint32_t& k : keys) k = different ? random() % different : static_cast<uint32_t>(random());
        std::vector<int64_t> order(keys.size());
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
          return keys[static_cast<size_t>(a)] < keys[static_cast<size_t>(b)];
        });
        for (int64_t k : {int64_t{0}, int64_t{1}, int64_t{5}, int64_t{100}, n / 3, n / 2, n - 1, n}) {
          if (k > n) continue;
          std::vector<uint64_t> work(select_keys_bytes(n) / 8 + 1);
          work.back() = 42;
          const uint64_t* best = select_keys(keys.data(), n, k, work.data());
          for (int64_t i = 0; i < k; ++i) {
            ASSERT_EQ(static_cast<int64_t>(best[i] & 0xffffffffu), order[static_cast<size_t>(i)])
                << n << " " << k << " " << different << " at " << i;
          }
          EXPECT_EQ(work.back(), 42u);
        }
      }
    }
  });
}

}  // namespace
}  // namespace trunnion::kernels
