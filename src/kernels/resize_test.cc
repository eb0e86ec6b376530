// Tables against values worked out from ONNX's definition of Resize, and the apply loops against each other.
#include "kernels/resize.h"

#include <algorithm>

#include "kernels/rung_test.h"

namespace trunnion::kernels {
namespace {

struct Case {
  ResizeAxis axis;
  std::vector<float> expect;
};

// The input is {1, -2, 4, 0.5, 3}.
std::vector<Case> cases() {
  return {
      {{ResizeMode::linear, ResizeCoords::half_pixel, ResizeNearest::round_prefer_floor, 5, 8, 1.70000005, 0, 1, 0.0,
        -0.75, false, false},
       {1, -0.1470588, -1.911765, 1.352941, 3.485294, 1.426471, 1.308823, 2.779412}},
      {{ResizeMode::linear, ResizeCoords::half_pixel, ResizeNearest::round_prefer_floor, 5, 3, 0.600000024, 0, 1, 0.0,
        -0.75, false, false},
       {9.934107e-08, 4, 2.166666}},
      {{ResizeMode::cubic, ResizeCoords::half_pixel, ResizeNearest::round_prefer_floor, 5, 8, 1.70000005, 0, 1, 0.0,
        -0.75, false, false},
       {1.292128, -0.5117158, -2.056597, 1.513373, 4.009622, 1.309832, 0.8719107, 2.802185}},
      {{ResizeMode::nearest, ResizeCoords::half_pixel, ResizeNearest::round_prefer_floor, 5, 8, 1.70000005, 0, 1, 0.0,
        -0.75, false, false},
       {1, 1, -2, 4, 4, 0.5, 0.5, 3}},
      {{ResizeMode::linear, ResizeCoords::half_pixel_symmetric, ResizeNearest::round_prefer_floor, 5, 8, 1.70000005, 0,
        1, 0.0, -0.75, false, false},
       {1, -0.5882354, -1.294117, 2.235294, 2.970588, 0.9117648, 1.676471, 3}},
      {{ResizeMode::linear, ResizeCoords::half_pixel_symmetric, ResizeNearest::round_prefer_floor, 5, 3, 0.600000024, 0,
        1, 0.0, -0.75, false, false},
       {-1.986821e-07, 4, 2.166667}},
      {{ResizeMode::cubic, ResizeCoords::half_pixel_symmetric, ResizeNearest::round_prefer_floor, 5, 8, 1.70000005, 0,
        1, 0.0, -0.75, false, false},
       {1.117239, -1.192753, -1.587217, 2.610829, 3.590372, 0.7255234, 1.321088, 3.097699}},
      {{ResizeMode::nearest, ResizeCoords::half_pixel_symmetric, ResizeNearest::round_prefer_floor, 5, 8, 1.70000005, 0,
        1, 0.0, -0.75, false, false},
       {1, -2, -2, 4, 4, 0.5, 0.5, 3}},
      {{ResizeMode::linear, ResizeCoords::align_corners, ResizeNearest::round_prefer_floor, 5, 8, 1.70000005, 0, 1, 0.0,
        -0.75, false, false},
       {1, -0.6, -1.6, 1.6, 3.533334, 1.666667, 0.9999998, 2.333333}},
      {{ResizeMode::linear, ResizeCoords::align_corners, ResizeNearest::round_prefer_floor, 5, 3, 0.600000024, 0, 1,
        0.0, -0.75, false, false},
       {1, 3.999999, 3}},
      {{ResizeMode::cubic, ResizeCoords::align_corners, ResizeNearest::round_prefer_floor, 5, 8, 1.70000005, 0, 1, 0.0,
        -0.75, false, false},
       {1, -1.209778, -1.800667, 1.833999, 4.029259, 1.657408, 0.6039987, 2.25348}},
      {{ResizeMode::nearest, ResizeCoords::align_corners, ResizeNearest::round_prefer_floor, 5, 8, 1.70000005, 0, 1,
        0.0, -0.75, false, false},
       {1, -2, -2, 4, 4, 0.5, 0.5, 3}},
      {{ResizeMode::linear, ResizeCoords::asymmetric, ResizeNearest::round_prefer_floor, 5, 8, 1.70000005, 0, 1, 0.0,
        -0.75, false, false},
       {1, -0.7647058, -0.9411767, 2.588235, 2.764706, 0.7058827, 1.823529, 3}},
      {{ResizeMode::linear, ResizeCoords::asymmetric, ResizeNearest::round_prefer_floor, 5, 3, 0.600000024, 0, 1, 0.0,
        -0.75, false, false},
       {1, 2, 1.333333}},
      {{ResizeMode::cubic, ResizeCoords::asymmetric, ResizeNearest::round_prefer_floor, 5, 8, 1.70000005, 0, 1, 0.0,
        -0.75, false, false},
       {1, -1.437919, -1.284195, 2.997048, 3.33732, 0.5800937, 1.524933, 3.171736}},
      {{ResizeMode::nearest, ResizeCoords::asymmetric, ResizeNearest::round_prefer_floor, 5, 8, 1.70000005, 0, 1, 0.0,
        -0.75, false, false},
       {1, -2, -2, 4, 4, 0.5, 3, 3}},
      {{ResizeMode::nearest, ResizeCoords::half_pixel, ResizeNearest::round_prefer_ceil, 5, 10, 2, 0, 1, 0.0, -0.75,
        false, false},
       {1, 1, -2, -2, 4, 4, 0.5, 0.5, 3, 3}},
      {{ResizeMode::nearest, ResizeCoords::asymmetric, ResizeNearest::floor, 5, 3, 0.6, 0, 1, 0.0, -0.75, false, false},
       {1, -2, 0.5}},
      {{ResizeMode::nearest, ResizeCoords::asymmetric, ResizeNearest::ceil, 5, 3, 0.6, 0, 1, 0.0, -0.75, false, false},
       {1, 4, 3}},
      {{ResizeMode::nearest, ResizeCoords::asymmetric, ResizeNearest::round_prefer_ceil, 5, 10, 2, 0, 1, 0.0, -0.75,
        false, false},
       {1, -2, -2, 4, 4, 0.5, 0.5, 3, 3, 3}},
      {{ResizeMode::cubic, ResizeCoords::half_pixel, ResizeNearest::round_prefer_floor, 5, 3, 0.600000024, 0, 1, 0.0,
        -0.75, true, false},
       {-0.1499984, 4, 2.116665}},
      {{ResizeMode::cubic, ResizeCoords::half_pixel, ResizeNearest::round_prefer_floor, 5, 8, 1.70000005, 0, 1, 0.0,
        -0.5, true, false},
       {1.23124, -0.2438792, -2.033914, 1.517905, 3.938143, 1.241851, 1.023166, 2.855119}},
      {{ResizeMode::linear, ResizeCoords::half_pixel, ResizeNearest::round_prefer_floor, 5, 2, 0.400000006, 0, 1, 0.0,
        -0.75, false, true},
       {0.5, 2.1}},
      {{ResizeMode::cubic, ResizeCoords::half_pixel, ResizeNearest::round_prefer_floor, 5, 2, 0.400000006, 0, 1, 0.0,
        -0.75, false, true},
       {0.3942499, 2.20725}},
      {{ResizeMode::cubic, ResizeCoords::half_pixel, ResizeNearest::round_prefer_floor, 5, 3, 0.6, 0, 1, 0.0, -0.75,
        true, true},
       {-0.3545924, 1.693287, 2.081635}},
      {{ResizeMode::linear, ResizeCoords::half_pixel, ResizeNearest::round_prefer_floor, 5, 10, 2, 0, 1, 0.0, -0.75,
        false, true},
       {1, 0.25, -1.25, -0.5, 2.5, 3.125, 1.375, 1.125, 2.375, 3}},
      {{ResizeMode::linear, ResizeCoords::pytorch_half_pixel, ResizeNearest::round_prefer_floor, 5, 1, 0.2, 0, 1, 0.0,
        -0.75, false, false},
       {1}},
      {{ResizeMode::linear, ResizeCoords::align_corners, ResizeNearest::round_prefer_floor, 5, 1, 0.2, 0, 1, 0.0, -0.75,
        false, false},
       {1}},
      {{ResizeMode::linear, ResizeCoords::tf_crop_and_resize, ResizeNearest::round_prefer_floor, 5, 4, 0.8, 0.3, 1.2,
        10.0, -0.75, false, false},
       {-0.7999997, 2.6, 2, 10}},
      {{ResizeMode::linear, ResizeCoords::tf_crop_and_resize, ResizeNearest::round_prefer_floor, 5, 1, 0.2, 0.2, 0.8,
        10.0, -0.75, false, false},
       {4}},
      {{ResizeMode::nearest, ResizeCoords::tf_crop_and_resize, ResizeNearest::round_prefer_floor, 5, 4, 0.8, -0.3, 0.9,
        10.0, -0.75, false, false},
       {10, 1, 4, 3}},
  };
}

TEST(Resize, TablesFollowOnnx) {
  const std::vector<float> x = {1, -2, 4, 0.5f, 3};
  for_each_rung([&] {
    size_t number = 0;
    for (const Case& c : cases()) {
      SCOPED_TRACE(number++);
      ResizeTable table;
      ASSERT_TRUE(resize_table(c.axis, table));
      ASSERT_EQ(c.expect.size(), static_cast<size_t>(c.axis.out));
      std::vector<float> y(c.expect.size());
      resize().axis(x.data(), y.data(), table, 1, 1);
      for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], c.expect[i], 3e-6) << i;
      // The same along an axis that has an inner dimension, twice.
      for (int64_t inner : {2, 19}) {
        std::vector<float> wide(static_cast<size_t>(2 * 5 * inner)), out(2 * y.size() * static_cast<size_t>(inner));
        for (size_t i = 0; i < wide.size(); ++i) wide[i] = x[i / static_cast<size_t>(inner) % 5];
        resize().axis(wide.data(), out.data(), table, 2, inner);
        for (size_t i = 0; i < out.size(); ++i) {
          ASSERT_NEAR(out[i], c.expect[i / static_cast<size_t>(inner) % y.size()], 3e-6);
        }
      }
    }
  });
}

TEST(Resize, LongRowsUseEveryLane) {
  for_each_rung([] {
    const std::vector<float> x = random_floats(100);
    ResizeTable table;
    ASSERT_TRUE(resize_table({.mode = ResizeMode::linear, .in = 100, .out = 173, .scale = 1.73}, table));
    std::vector<float> y(173);
    resize().axis(x.data(), y.data(), table, 1, 1);
    for (int64_t j = 0; j < 173; ++j) {
      const double at = (static_cast<double>(j) + 0.5) / 1.73 - 0.5, floor = std::floor(at);
      const auto pixel = [&](double p) { return x[static_cast<size_t>(std::fmin(99, std::fmax(0, p)))]; };
      EXPECT_NEAR(y[static_cast<size_t>(j)], pixel(floor) * (1 - at + floor) + pixel(floor + 1) * (at - floor), 1e-6);
    }
  });
}

TEST(Resize, NearestOfAnyElementSize) {
  ResizeTable table;
  ASSERT_TRUE(resize_table(
      {.coords = ResizeCoords::asymmetric, .nearest = ResizeNearest::floor, .in = 2, .out = 4, .scale = 2}, table));
  const uint8_t bytes[] = {7, 9};
  uint8_t y[4];
  resize_nearest(bytes, y, table, 1, 1, 1);
  EXPECT_EQ(std::vector<int>(y, y + 4), (std::vector<int>{7, 7, 9, 9}));
  const uint16_t pairs[] = {1, 2, 3, 4};
  uint16_t z[8];
  resize_nearest(pairs, z, table, 1, 2, 2);
  EXPECT_EQ(std::vector<int>(z, z + 8), (std::vector<int>{1, 2, 1, 2, 3, 4, 3, 4}));
}

// Growing and shrinking by any factor, either direction, short rows too; then two axes at once.
TEST(Resize, NearestRowsOfWords) {
  for_each_rung([] {
    for (int64_t in : {1, 3, 7, 15, 16, 17, 40, 61}) {
      for (int64_t out : {1, 5, 16, 33, 40, 80, 200}) {
        ResizeTable table;
        ASSERT_TRUE(resize_table({.in = in, .out = out, .scale = double(out) / double(in)}, table));
        for (bool reversed : {false, true}) {
          if (reversed) std::reverse(table.index.begin(), table.index.end());
          std::vector<uint32_t> x(static_cast<size_t>(in)), y(static_cast<size_t>(out) + 1, 5);
          for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<uint32_t>(100 + i);
          resize_nearest(x.data(), y.data(), table, 1, 1, 4);
          for (size_t j = 0; j < table.index.size(); ++j)
            ASSERT_EQ(y[j], x[static_cast<size_t>(table.index[j])]) << in << ' ' << out;
          ASSERT_EQ(y.back(), 5u);
        }
      }
    }
    ResizeTable rows, cols;
    ASSERT_TRUE(resize_table({.in = 3, .out = 7, .scale = 7.0 / 3}, rows));
    ASSERT_TRUE(resize_table({.in = 20, .out = 50, .scale = 2.5}, cols));
    for (int64_t inner : {1, 3}) {
      std::vector<float> x = random_floats(static_cast<size_t>(2 * 3 * 20 * inner));
      std::vector<float> y(static_cast<size_t>(2 * 7 * 50 * inner), 9.0f);
      resize_nearest_planes(x.data(), y.data(), rows, cols, 0, 5, inner, sizeof(float));
      resize_nearest_planes(x.data(), y.data(), rows, cols, 5, 14, inner, sizeof(float));
      for (int64_t i = 0; i < static_cast<int64_t>(y.size()); ++i) {
        const int64_t c = i % inner, col = i / inner % 50, row = i / inner / 50 % 7, plane = i / inner / 350;
        const int64_t from =
            (plane * 3 + rows.index[static_cast<size_t>(row)]) * 20 + cols.index[static_cast<size_t>(col)];
        ASSERT_EQ(y[static_cast<size_t>(i)], x[static_cast<size_t>(from * inner + c)]) << i;
      }
    }
  });
}

TEST(Resize, IdentityAndRefusals) {
  ResizeTable table;
  for (ResizeMode mode : {ResizeMode::nearest, ResizeMode::linear, ResizeMode::cubic}) {
    ASSERT_TRUE(resize_table({.mode = mode, .in = 7, .out = 7}, table));
    EXPECT_TRUE(table.identity);
  }
  EXPECT_FALSE(resize_table({.in = 0, .out = 1}, table));
  EXPECT_FALSE(resize_table({.in = 4, .out = 2, .scale = 0}, table));
  EXPECT_FALSE(resize_table({.in = 4, .out = 2, .scale = std::nan("")}, table));
  EXPECT_FALSE(resize_table({.in = int64_t{1} << 40, .out = 2}, table));
  EXPECT_FALSE(resize_table({.mode = ResizeMode::linear, .in = 4, .out = 2, .scale = 1e-12, .antialias = true}, table));
}

}  // namespace
}  // namespace trunnion::kernels
