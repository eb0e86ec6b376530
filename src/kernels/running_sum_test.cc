// Running sums against plain loops, in place and not, on every rung.
#include "kernels/running_sum.h"

#include "kernels/rung_test.h"

namespace trunnion::kernels {
namespace {

template <class T>
std::vector<T> numbers(size_t n) {
  std::mt19937 random(static_cast<unsigned>(n));
  std::vector<T> v(n);
  // Quarters: sums of floats are exact in any order.
  for (T& x : v) {
    const int k = static_cast<int>(random() % 2001) - 1000;
    x = std::is_integral_v<T> ? static_cast<T>(k) : static_cast<T>(k) / 4;
  }
  return v;
}

// One line of n elements, `step` apart.
template <class T>
void plain(const T* x, T* y, int64_t n, int64_t step, bool exclusive, bool reverse) {
  T total = 0;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t at = (reverse ? n - 1 - i : i) * step;
    const T sum = static_cast<T>(total + x[at]);
    y[at] = exclusive ? total : sum;
    total = sum;
  }
}

template <class T>
void check(Elem type) {
  const RunningSum* fn = running_sum(type);
  ASSERT_NE(fn, nullptr);
  for (int form = 0; form < 4; ++form) {
    const bool exclusive = form & 1, reverse = form & 2;
    for (int64_t n : {0, 1, 2, 3, 7, 8, 15, 16, 17, 40, 129}) {
      const std::vector<T> x = numbers<T>(static_cast<size_t>(n));
      std::vector<T> want(x.size()), y(x.size() + 1, T(99)), in_place = x;
      plain(x.data(), want.data(), n, 1, exclusive, reverse);
      fn->row(x.data(), y.data(), n, exclusive, reverse);
      fn->row(in_place.data(), in_place.data(), n, exclusive, reverse);
      EXPECT_EQ(y.back(), T(99));
      y.pop_back();
      ASSERT_EQ(y, want) << n << " " << form;
      ASSERT_EQ(in_place, want);
    }
    for (int64_t width : {1, 3, 16, 21, 70, 150}) {
      const int64_t n = 9, stride = width + 2;
      const std::vector<T> x = numbers<T>(static_cast<size_t>(n * stride));
      std::vector<T> want = x, y = x, in_place = x;
      for (int64_t c = 0; c < width; ++c) plain(x.data() + c, want.data() + c, n, stride, exclusive, reverse);
      fn->columns(x.data(), y.data(), n, width, stride, exclusive, reverse);
      fn->columns(in_place.data(), in_place.data(), n, width, stride, exclusive, reverse);
      ASSERT_EQ(y, want) << width << " " << form;
      ASSERT_EQ(in_place, want);
    }
  }
}

TEST(RunningSum, AllTypesOnEveryRung) {
  for_each_rung([] {
    check<float>(Elem::f32);
    check<double>(Elem::f64);
    check<int32_t>(Elem::i32);
    check<int64_t>(Elem::i64);
    check<uint32_t>(Elem::u32);
    check<uint64_t>(Elem::u64);
  });
  EXPECT_EQ(running_sum(Elem::f16), nullptr);
}

TEST(RunningSum, NanAndInfinityReachWhatFollowsOnly) {
  for_each_rung([] {
    std::vector<float> x(50, 1.0f), y(50);
    x[20] = std::numeric_limits<float>::infinity();
    x[37] = std::nanf("");
    running_sum(Elem::f32)->row(x.data(), y.data(), 50, false, false);
    for (int i = 0; i < 50; ++i) {
      const float v = y[static_cast<size_t>(i)];
      if (i < 20) {
        EXPECT_EQ(v, static_cast<float>(i + 1));
      } else if (i < 37) {
        EXPECT_TRUE(std::isinf(v)) << i;
      } else {
        EXPECT_TRUE(std::isnan(v)) << i;
      }
    }
  });
}

TEST(RunningSum, ErrorStaysSmall) {
  const std::vector<float> x = random_floats(100000, 0, 1);
  for_each_rung([&] {
    std::vector<float> y(x.size());
    running_sum(Elem::f32)->row(x.data(), y.data(), static_cast<int64_t>(x.size()), false, false);
    double exact = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      exact += x[i];
      ASSERT_NEAR(y[i], exact, 1e-4 * exact + 1e-6) << i;
    }
  });
}

}  // namespace
}  // namespace trunnion::kernels
