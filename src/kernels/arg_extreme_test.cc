// Index of the extreme element by rows, columns and short rows, in every type, on every rung.
#include <cmath>

#include "kernels/convert.h"
#include "kernels/reduce.h"
#include "kernels/rung_test.h"

namespace trunnion::kernels {
namespace {

// The plain loop, over values as doubles.
int64_t expected(const std::vector<double>& v, bool largest, bool last) {
  int64_t at = 0;
  for (size_t k = 1; k < v.size(); ++k) {
    const double best = v[static_cast<size_t>(at)];
    if (std::isnan(best)) break;
    const bool better = largest ? v[k] > best : v[k] < best;
    if (better || std::isnan(v[k]) || (last && v[k] == best)) at = static_cast<int64_t>(k);
  }
  return at;
}

template <class T>
void check(Elem type, const std::vector<T>& x, const std::vector<double>& values, ReduceShape s) {
  for (bool largest : {false, true}) {
    for (bool last : {false, true}) {
      std::vector<int64_t> y(static_cast<size_t>(s.outer * s.stride) + 1, -7);
      arg_extreme(largest, last, type)(x.data(), y.data(), s);
      for (int64_t o = 0; o < s.outer; ++o) {
        for (int64_t i = 0; i < s.stride; ++i) {
          int64_t want = -7;
          if (i < s.inner) {
            std::vector<double> line;
            for (int64_t k = 0; k < s.axis; ++k)
              line.push_back(values[static_cast<size_t>((o * s.axis + k) * s.stride + i)]);
            want = expected(line, largest, last);
          }
          ASSERT_EQ(y[static_cast<size_t>(o * s.stride + i)], want)
              << int(type) << " " << largest << last << " axis " << s.axis << " inner " << s.inner << " at " << o << ","
              << i;
        }
      }
      EXPECT_EQ(y.back(), -7);
    }
  }
}

constexpr ReduceShape kShapes[] = {{3, 1, 1, 1},   {3, 7, 1, 1},   {2, 31, 1, 1},  {2, 64, 1, 1},  {3, 300, 1, 1},
                                   {2, 131, 1, 1}, {2, 5, 3, 3},   {2, 5, 16, 16}, {1, 9, 77, 77}, {2, 6, 130, 140},
                                   {1, 3, 64, 64}, {1, 129, 1, 2}, {2, 200, 3, 3}, {150, 8, 1, 1}, {67, 31, 1, 1}};

template <class T, class Make>
void check_type(Elem type, Make make) {
  for (const ReduceShape& s : kShapes) {
    const auto n = static_cast<size_t>(s.outer * s.axis * s.stride);
    std::mt19937 random(static_cast<unsigned>(n));
    std::vector<T> x(n);
    std::vector<double> values(n);
    for (size_t i = 0; i < n; ++i) {
      const auto pair = make(random);
      x[i] = static_cast<T>(pair.first);
      values[i] = pair.second;
    }
    check(type, x, values, s);
  }
}

// Few different values, so that there are equal ones.
template <class T>
void check_integers(Elem type) {
  const auto make = [](std::mt19937& r) {
    const int pick = static_cast<int>(r() % 40);
    const T v = pick == 0   ? std::numeric_limits<T>::max()
                : pick == 1 ? std::numeric_limits<T>::min()
                            : static_cast<T>(static_cast<int>(r() % 17) - (std::is_signed_v<T> ? 8 : 0));
    return std::pair<T, double>(v, static_cast<double>(v));
  };
  check_type<T>(type, make);
}

template <class T>
void check_floats(Elem type, int nan_in) {
  const auto make = [nan_in](std::mt19937& r) {
    const int pick = static_cast<int>(r() % 64);
    T v = static_cast<T>(static_cast<int>(r() % 33) - 16) / 4;
    if (pick == 0) v = std::numeric_limits<T>::infinity();
    if (pick == 1) v = -std::numeric_limits<T>::infinity();
    if (pick == 2) v = -T(0);
    if (nan_in && r() % static_cast<unsigned>(nan_in) == 0) v = std::numeric_limits<T>::quiet_NaN();
    return std::pair<T, double>(v, static_cast<double>(v));
  };
  check_type<T>(type, make);
}

TEST(ArgExtreme, IntegersOnEveryRung) {
  for_each_rung([] {
    check_integers<int8_t>(Elem::i8);
    check_integers<int16_t>(Elem::i16);
    check_integers<int32_t>(Elem::i32);
    check_integers<int64_t>(Elem::i64);
    check_integers<uint8_t>(Elem::u8);
    check_integers<uint16_t>(Elem::u16);
    check_integers<uint32_t>(Elem::u32);
    check_integers<uint64_t>(Elem::u64);
  });
}

TEST(ArgExtreme, FloatsOnEveryRung) {
  for_each_rung([] {
    for (int nan_in : {0, 500, 20}) {
      check_floats<float>(Elem::f32, nan_in);
      check_floats<double>(Elem::f64, nan_in);
    }
    const auto f16 = [](std::mt19937& r) {
      const uint16_t bits = f32_to_f16(static_cast<float>(static_cast<int>(r() % 33) - 16) / 4);
      return std::pair<uint16_t, double>(bits, f16_to_f32(bits));
    };
    const auto bf16 = [](std::mt19937& r) {
      const uint16_t bits = r() % 90 ? f32_to_bf16(static_cast<float>(static_cast<int>(r() % 33) - 16) / 4) : 0x7fc1;
      return std::pair<uint16_t, double>(bits, bf16_to_f32(bits));
    };
    check_type<uint16_t>(Elem::f16, f16);
    check_type<uint16_t>(Elem::bf16, bf16);
  });
}

}  // namespace
}  // namespace trunnion::kernels
