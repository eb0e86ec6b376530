#include "kernels/bilinear.h"

#include "kernels/rung_test.h"

namespace trunnion::kernels {
namespace {

// Every length up to a few vectors, bit for bit.
TEST(Bilinear, EveryRungGivesTheSameBits) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> unit(-1.0f, 1.0f);
  std::vector<float> a(50), b(50), wl(70), wr(70);
  std::vector<int32_t> left(70), right(70);
  for (auto* v : {&a, &b, &wl, &wr})
    for (float& e : *v) e = unit(random);
  for (auto* v : {&left, &right})
    for (int32_t& e : *v) e = static_cast<int32_t>(random() % 50);
  for_each_rung([&] {
    for (int64_t n = 0; n <= 70; ++n) {
      std::vector<float> y(71, 9.0f);
      bilinear().row(a.data(), b.data(), 0.3f, 0.7f, {left.data(), right.data(), wl.data(), wr.data(), n}, y.data());
      for (int64_t j = 0; j < n; ++j) {
        volatile float p[] = {wl[j] * 0.3f, wr[j] * 0.3f, wl[j] * 0.7f, wr[j] * 0.7f};
        volatile float t[] = {p[0] * a[left[j]], p[1] * a[right[j]], p[2] * b[left[j]], p[3] * b[right[j]]};
        volatile float s = t[0] + t[1];
        s = s + t[2];
        EXPECT_EQ(y[j], s + t[3]) << n;
      }
      EXPECT_EQ(y[n], 9.0f);
    }
  });
}

}  // namespace
}  // namespace trunnion::kernels
