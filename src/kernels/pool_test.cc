#include "kernels/pool.h"

#include <algorithm>

#include "kernels/rung_test.h"

namespace trunnion::kernels {
namespace {

const float kInf = std::numeric_limits<float>::infinity();

struct Element {
  double max = -kInf, sum = 0, power = 0;
  int64_t inside = 0, with_pad = 0, argmax = -1;
};

// Everything about one window, the slow way; get(i0, i1, i2) reads the input.
template <class Get>
Element scan(const PoolShape& s, int64_t o0, int64_t o1, int64_t o2, const Get& get) {
  Element e;
  const int64_t o[3] = {o0, o1, o2};
  for (int64_t k0 = 0; k0 < s.kernel[0]; ++k0) {
    for (int64_t k1 = 0; k1 < s.kernel[1]; ++k1) {
      for (int64_t k2 = 0; k2 < s.kernel[2]; ++k2) {
        const int64_t k[3] = {k0, k1, k2};
        int64_t i[3];
        bool inside = true, counted = true;
        for (int d = 0; d < 3; ++d) {
          i[d] = o[d] * s.stride[d] - s.pad_begin[d] + k[d] * s.dilation[d];
          inside &= i[d] >= 0 && i[d] < s.in[d];
          counted &= i[d] < s.in[d] + s.pad_end[d];
        }
        e.with_pad += counted;
        if (!inside) continue;
        const double v = get(i[0], i[1], i[2]);
        ++e.inside;
        e.sum += v;
        e.power += std::pow(std::fabs(v), s.p);
        if (v > e.max) e.max = v, e.argmax = (i[0] * s.in[1] + i[1]) * s.in[2] + i[2];
      }
    }
  }
  return e;
}

std::vector<PoolShape> shapes() {
  std::vector<PoolShape> all;
  const auto add = [&](PoolShape s) {
    for (int d = 0; d < 3; ++d) {
      const int64_t span = (s.kernel[d] - 1) * s.dilation[d] + 1;
      s.out[d] = (s.in[d] + s.pad_begin[d] + s.pad_end[d] - span + s.stride[d] - 1) / s.stride[d] + 1;  // ceil mode
      if ((s.out[d] - 1) * s.stride[d] >= s.in[d] + s.pad_begin[d]) --s.out[d];
    }
    all.push_back(s);
    s.count_include_pad = true;
    all.push_back(s);
  };
  add({.in = {1, 1, 37}, .kernel = {1, 1, 3}, .stride = {1, 1, 1}, .pad_begin = {0, 0, 1}, .pad_end = {0, 0, 1}});
  add({.in = {1, 9, 40}, .kernel = {1, 3, 3}, .stride = {1, 2, 2}, .pad_begin = {0, 1, 1}, .pad_end = {0, 1, 1}});
  add({.in = {1, 12, 35}, .kernel = {1, 2, 2}, .stride = {1, 2, 2}});
  add({.in = {1, 7, 50},
       .kernel = {1, 3, 4},
       .stride = {1, 1, 3},
       .dilation = {1, 2, 2},
       .pad_begin = {0, 0, 2},
       .pad_end = {0, 3, 1}});
  add({.in = {4, 5, 20}, .kernel = {2, 3, 3}, .stride = {2, 1, 1}, .pad_begin = {1, 1, 0}, .pad_end = {0, 1, 2}});
  add({.in = {1, 7, 7}, .kernel = {1, 7, 7}});
  add({.in = {1, 9, 28}, .kernel = {1, 3, 3}, .pad_begin = {0, 1, 1}, .pad_end = {0, 1, 1}});
  add({.in = {1, 20, 33}, .kernel = {1, 5, 5}, .pad_begin = {0, 2, 2}, .pad_end = {0, 2, 2}});
  // Rows that are made piece by piece, more rows and taps than are taken at once, windows too long for vectors.
  add({.in = {1, 3, 2600}, .kernel = {1, 2, 3}, .stride = {1, 1, 2}, .pad_begin = {0, 0, 1}, .pad_end = {0, 0, 1}});
  add({.in = {1, 2, 2500}, .kernel = {1, 1, 40}, .stride = {1, 1, 37}});
  add({.in = {1, 90, 4}, .kernel = {1, 80, 4}, .stride = {1, 5, 1}});
  add({.in = {1, 1, 2300}, .kernel = {1, 1, 2200}, .stride = {1, 1, 30}});
  add({.in = {1, 3, 5}, .kernel = {1, 3, 9}, .pad_begin = {0, 1, 4}, .pad_end = {0, 1, 4}});
  return all;
}

TEST(Pool, PlanesMatchTheDefinition) {
  for_each_rung([] {
    for (PoolShape s : shapes()) {
      const int64_t in_plane = s.in[0] * s.in[1] * s.in[2], out_plane = s.out[0] * s.out[1] * s.out[2];
      const std::vector<float> x = random_floats(static_cast<size_t>(2 * in_plane));
      const size_t n = static_cast<size_t>(2 * out_plane);
      std::vector<float> max(n), max_indexed(n), average(n), l1(n), l2(n), l3(n);
      std::vector<int64_t> indices(n);
      pool().max(x.data(), max.data(), nullptr, 2, s, false);
      s.index_base = 1000;
      pool().max(x.data(), max_indexed.data(), indices.data(), 2, s, false);
      pool().average(x.data(), average.data(), 2, s);
      pool().lp(x.data(), l2.data(), 2, s);
      s.p = 1;
      pool().lp(x.data(), l1.data(), 2, s);
      s.p = 3;
      pool().lp(x.data(), l3.data(), 2, s);
      size_t at = 0;
      for (int64_t p = 0; p < 2; ++p) {
        const auto get = [&](int64_t a, int64_t b, int64_t c) {
          return double(x[static_cast<size_t>(p * in_plane + (a * s.in[1] + b) * s.in[2] + c)]);
        };
        for (int64_t o0 = 0; o0 < s.out[0]; ++o0) {
          for (int64_t o1 = 0; o1 < s.out[1]; ++o1) {
            for (int64_t o2 = 0; o2 < s.out[2]; ++o2, ++at) {
              s.p = 3;
              const Element e = scan(s, o0, o1, o2, get);
              s.p = 2;
              const Element squares = scan(s, o0, o1, o2, get);
              s.p = 1;
              const Element absolute = scan(s, o0, o1, o2, get);
              ASSERT_EQ(max[at], static_cast<float>(e.max));
              ASSERT_EQ(max_indexed[at], static_cast<float>(e.max));
              ASSERT_EQ(indices[at], 1000 + p * in_plane + e.argmax);
              ASSERT_NEAR(average[at], e.sum / double(s.count_include_pad ? e.with_pad : e.inside), 1e-6);
              ASSERT_NEAR(l1[at], absolute.power, 1e-5 * std::max(1.0, absolute.power / 4));
              ASSERT_NEAR(l2[at], std::sqrt(squares.power), 1e-5 * std::max(1.0, squares.power / 10));
              ASSERT_NEAR(l3[at], std::cbrt(e.power), 1e-5 * std::max(1.0, e.power / 10));
            }
          }
        }
      }
    }
  });
}

TEST(Pool, ChannelsLastMatchesTheDefinition) {
  for_each_rung([] {
    for (const PoolShape& s : shapes()) {
      for (int64_t channels : {1, 3, 16, 21}) {
        const std::vector<float> x = random_floats(static_cast<size_t>(s.in[0] * s.in[1] * s.in[2] * channels));
        const int64_t rows = s.out[0] * s.out[1];
        std::vector<float> max(static_cast<size_t>(rows * s.out[2] * channels)), average(max);
        pool().max_nhwc(x.data(), max.data(), channels, 0, rows / 2, s);
        pool().max_nhwc(x.data(), max.data(), channels, rows / 2, rows, s);
        pool().average_nhwc(x.data(), average.data(), channels, 0, rows, s);
        size_t at = 0;
        for (int64_t row = 0; row < rows; ++row) {
          for (int64_t o2 = 0; o2 < s.out[2]; ++o2) {
            for (int64_t c = 0; c < channels; ++c, ++at) {
              const Element e = scan(s, row / s.out[1], row % s.out[1], o2, [&](int64_t a, int64_t b, int64_t i) {
                return double(x[static_cast<size_t>(((a * s.in[1] + b) * s.in[2] + i) * channels + c)]);
              });
              ASSERT_EQ(max[at], static_cast<float>(e.max));
              ASSERT_NEAR(average[at], e.sum / double(s.count_include_pad ? e.with_pad : e.inside), 1e-6);
            }
          }
        }
      }
    }
  });
}

// Channels last: a NaN at any tap of the window, in vectors and behind them; infinities of both signs are none.
TEST(Pool, NanIsKeptInChannels) {
  constexpr int64_t kChannels = 83;
  for_each_rung([] {
    const PoolShape s{.in = {1, 1, 4}, .out = {1, 1, 2}, .kernel = {1, 1, 3}};
    for (int64_t at = 0; at < 4; ++at) {
      for (int64_t c : {0, 17, 40, 64, 82}) {
        std::vector<float> x(4 * kChannels, 1.0f), y(2 * kChannels);
        x[static_cast<size_t>(at * kChannels + c)] = std::nanf("");
        x[static_cast<size_t>(1 * kChannels + 5)] = kInf;
        x[static_cast<size_t>(2 * kChannels + 5)] = -kInf;
        pool().max_nhwc(x.data(), y.data(), kChannels, 0, 1, s);
        for (int64_t o = 0; o < 2; ++o)
          for (int64_t k = 0; k < kChannels; ++k) {
            const float v = y[static_cast<size_t>(o * kChannels + k)];
            if (k == c && o <= at && at < o + 3)
              EXPECT_TRUE(std::isnan(v)) << at << " " << o << " " << k;
            else
              EXPECT_EQ(v, k == 5 ? kInf : 1.0f) << at << " " << o << " " << k;
          }
      }
    }
  });
}

TEST(Pool, NanIsKept) {
  for_each_rung([] {
    std::vector<float> x(40, 1.0f), y(20), z(20);
    for (size_t i : {size_t{0}, size_t{7}, size_t{22}, size_t{39}}) x[i] = std::nanf("");
    PoolShape s{.in = {1, 1, 40}, .out = {1, 1, 20}, .kernel = {1, 1, 2}, .stride = {1, 1, 2}};
    std::vector<int64_t> indices(20);
    pool().max(x.data(), y.data(), nullptr, 1, s, false);
    pool().max(x.data(), z.data(), indices.data(), 1, s, false);
    for (size_t i = 0; i < 20; ++i) {
      const bool nan = i == 0 || i == 3 || i == 11 || i == 19;
      EXPECT_EQ(std::isnan(y[i]), nan);
      EXPECT_EQ(std::isnan(z[i]), nan);
    }
    EXPECT_EQ(indices[3], 7);
  });
}

template <class T>
void expect_bytes(Elem type, const PoolShape& s) {
  constexpr int64_t kPlanes = 3;
  std::mt19937 random(5);
  std::vector<T> x(static_cast<size_t>(kPlanes * s.in[0] * s.in[1] * s.in[2]));
  for (T& v : x) v = static_cast<T>(random() >> 24);
  std::vector<T> y(static_cast<size_t>(kPlanes * s.out[0] * s.out[1] * s.out[2]), T{77}), plain(y.size());
  std::vector<int64_t> indices(y.size());
  ASSERT_TRUE(max_pool(type, x.data(), plain.data(), indices.data(), kPlanes, s, false));
  ASSERT_TRUE(max_pool(type, x.data(), y.data(), nullptr, kPlanes, s, false));
  ASSERT_EQ(y, plain);
}

TEST(Pool, BytesMatchThePlainLoop) {
  for_each_rung([] {
    auto all = shapes();
    // Rows that are taken piece by piece, wide steps, windows in the padding only, too long for the vector kernel.
    all.push_back({.in = {1, 3, 9000}, .out = {1, 2, 4499}, .kernel = {1, 2, 3}, .stride = {1, 1, 2}});
    all.push_back({.in = {1, 2, 9000}, .out = {1, 1, 4}, .kernel = {1, 2, 30}, .stride = {1, 1, 2900}});
    all.push_back({.in = {1, 2, 70}, .out = {1, 6, 90}, .kernel = {1, 2, 2}, .pad_begin = {0, 3, 12}});
    all.push_back({.in = {1, 1, 5000}, .out = {1, 1, 1000}, .kernel = {1, 1, 4001}});
    for (int64_t width = 1; width < 140; width += 3)
      all.push_back({.in = {1, 5, width},
                     .out = {1, 3, (width + 1) / 2},
                     .kernel = {1, 3, 3},
                     .stride = {1, 2, 2},
                     .pad_begin = {0, 1, 1},
                     .pad_end = {0, 1, 1}});
    for (const PoolShape& s : all) {
      expect_bytes<uint8_t>(Elem::u8, s);
      expect_bytes<int8_t>(Elem::i8, s);
    }
  });
}

TEST(Pool, OtherTypesAndColumnMajor) {
  const int8_t x[] = {1, 2, 3, 4, 5, -6};  // 2 x 3
  int8_t y[2];
  int64_t indices[2];
  PoolShape s{.in = {1, 2, 3}, .out = {1, 1, 2}, .kernel = {1, 2, 2}};
  ASSERT_TRUE(max_pool(Elem::i8, x, y, indices, 1, s, true));
  EXPECT_EQ(y[0], 5);
  EXPECT_EQ(y[1], 5);
  EXPECT_EQ(indices[0], 1 + 2 * 1);  // row 1, column 1, columns of two
  EXPECT_FALSE(max_pool(Elem::i64, x, y, nullptr, 1, s, false));
}

}  // namespace
}  // namespace trunnion::kernels
