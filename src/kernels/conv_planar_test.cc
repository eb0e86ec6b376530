// Convolution over planes on every rung of this CPU against a loop nest in double.
#include "kernels/conv_planar.h"

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "kernels/rung_test.h"

namespace trunnion::kernels {
namespace {

ConvShape shape2d(int64_t cin, int64_t cout, int64_t rows, int64_t cols, int64_t kernel, int64_t stride, int64_t pad,
                  int64_t groups = 1) {
  ConvShape s;
  s.batch = 2, s.cin = cin, s.cout = cout, s.groups = groups;
  const int64_t in[] = {rows, cols};
  for (int i = 0; i < 2; ++i) {
    s.in[i] = in[i], s.kernel[i] = kernel, s.stride[i] = stride, s.pad_begin[i] = pad;
    s.out[i] = (in[i] + 2 * pad - kernel) / stride + 1;
  }
  return s;
}

std::vector<double> by_definition(const ConvShape& s, const std::vector<float>& x, const std::vector<float>& w,
                                  const std::vector<float>& bias) {
  const int64_t cin = s.cin / s.groups, cout = s.cout / s.groups;
  std::vector<double> y(static_cast<size_t>(s.batch * s.cout * s.out[0] * s.out[1]));
  for (size_t i = 0; i < y.size(); ++i)
    y[i] = double(bias[i / static_cast<size_t>(s.out[0] * s.out[1]) % static_cast<size_t>(s.cout)]);
  for (int64_t n = 0; n < s.batch; ++n)
    for (int64_t o = 0; o < s.cout; ++o)
      for (int64_t i = 0; i < cin; ++i)
        for (int64_t a = 0; a < s.kernel[0]; ++a)
          for (int64_t b = 0; b < s.kernel[1]; ++b) {
            const int64_t weight = s.transposed ? ((i * cout + o) * s.kernel[0] + a) * s.kernel[1] + b
                                                : ((o * cin + i) * s.kernel[0] + a) * s.kernel[1] + b;
            const int64_t walk_rows = s.transposed ? s.in[0] : s.out[0], walk_cols = s.transposed ? s.in[1] : s.out[1];
            for (int64_t r = 0; r < walk_rows; ++r)
              for (int64_t c = 0; c < walk_cols; ++c) {
                const int64_t far_r = r * s.stride[0] - s.pad_begin[0] + a * s.dilation[0];
                const int64_t far_c = c * s.stride[1] - s.pad_begin[1] + b * s.dilation[1];
                const int64_t ir = s.transposed ? r : far_r, ic = s.transposed ? c : far_c;
                const int64_t yr = s.transposed ? far_r : r, yc = s.transposed ? far_c : c;
                if (ir < 0 || ir >= s.in[0] || ic < 0 || ic >= s.in[1]) continue;
                y[static_cast<size_t>(((n * s.cout + o) * s.out[0] + yr) * s.out[1] + yc)] +=
                    double(x[static_cast<size_t>(((n * s.cin + o / cout * cin + i) * s.in[0] + ir) * s.in[1] + ic)]) *
                    double(w[static_cast<size_t>(weight)]);
              }
          }
  return y;
}

void check(const ConvShape& s, int threads) {
  SCOPED_TRACE(testing::Message() << "cin " << s.cin << " cout " << s.cout << " columns " << s.in[1] << " kernel "
                                  << s.kernel[1] << " stride " << s.stride[1] << " transposed " << s.transposed);
  ASSERT_TRUE(conv_planar_fits(s));
  const ConvPlanarPlan plan = conv_planar_plan(s, threads);
  // Exactly as large as they are, so that a sanitizer sees what is read behind their end.
  const std::vector<float> x = random_floats(static_cast<size_t>(s.batch * s.cin * s.in[0] * s.in[1]));
  const std::vector<float> w =
      random_floats(static_cast<size_t>(s.cin / s.groups * s.cout * s.kernel[0] * s.kernel[1]));
  const std::vector<float> bias = random_floats(static_cast<size_t>(s.cout));
  std::vector<float> packed(static_cast<size_t>(plan.packed_size));
  conv_planar_pack(plan, w.data(), packed.data());
  const size_t count = static_cast<size_t>(s.batch * s.cout * s.out[0] * s.out[1]);
  std::vector<float> y(count + 1, 77.0f);
  void* scratch = std::aligned_alloc(64, plan.scratch_size);
  std::fill_n(static_cast<float*>(scratch), plan.scratch_size / 4, std::nanf(""));
  ConvPlanarArgs args{x.data(), packed.data(), y.data(), bias.data(), Activation::relu, 0, 0};
  for (int64_t t = plan.tiles; t-- > 0;) conv_planar_tile(plan, args, t, scratch);
  std::free(scratch);
  const std::vector<double> exact = by_definition(s, x, w, bias);
  for (size_t i = 0; i < count; ++i) ASSERT_NEAR(y[i], std::max(0.0, exact[i]), 2e-4) << i;
  EXPECT_EQ(y[count], 77.0f);
}

void check(const ConvShape& s) {
  for (int threads : {1, 3}) check(s, threads);
}

TEST(ConvPlanar, Depthwise) {
  for_each_rung([] {
    for (int64_t columns : {13, 16, 28, 33, 56, 67, 112})
      for (int64_t stride : {1, 2, 3})
        if ((columns - 1) / stride + 1 >= 12) check(shape2d(3, 3, 19, columns, 3, stride, 1, 3));
    check(shape2d(5, 5, 28, 28, 5, 1, 2, 5));
    check(shape2d(2, 2, 150, 150, 5, 2, 2, 2));
    check(shape2d(2, 2, 40, 40, 2, 2, 0, 2));
    ConvShape s = shape2d(2, 2, 40, 40, 3, 1, 2, 2);
    s.dilation[0] = s.dilation[1] = 2;
    s.out[0] = s.out[1] = 40;
    check(s);
    s.stride[0] = 1, s.stride[1] = 2, s.out[1] = 20;
    check(s);
  });
}

TEST(ConvPlanar, FewInputChannels) {
  for_each_rung([] {
    check(shape2d(3, 64, 60, 64, 7, 2, 3));
    check(shape2d(3, 8, 33, 35, 3, 2, 1));
    check(shape2d(18, 36, 17, 64, 3, 1, 1));
    check(shape2d(1, 7, 9, 130, 3, 1, 0));
    check(shape2d(4, 1, 12, 50, 3, 3, 1));
  });
}

TEST(ConvPlanar, TransposedByTheKernel) {
  for_each_rung([] {
    for (int64_t columns : {16, 29, 64, 70}) {
      ConvShape s = shape2d(10, 5, 9, columns, 2, 2, 0);
      s.transposed = true;
      s.out[0] = 18, s.out[1] = 2 * columns;
      check(s);
    }
  });
}

TEST(ConvPlanar, NoPictures) {
  for (int threads : {1, 3}) {
    ConvShape s = shape2d(3, 8, 33, 35, 3, 2, 1);
    s.batch = 0;
    EXPECT_EQ(conv_planar_plan(s, threads).tiles, 0);
    s.batch = 2, s.out[0] = 0;
    EXPECT_EQ(conv_planar_plan(s, threads).tiles, 0);
  }
}

TEST(ConvPlanar, WhatItLeavesToOthers) {
  EXPECT_FALSE(conv_planar_fits(shape2d(64, 64, 56, 56, 3, 1, 1)));
  EXPECT_FALSE(conv_planar_fits(shape2d(8, 64, 56, 56, 1, 1, 0)));
  EXPECT_FALSE(conv_planar_fits(shape2d(8, 16, 56, 56, 3, 1, 1, 4)));
  EXPECT_FALSE(conv_planar_fits(shape2d(8, 8, 7, 2, 1, 1, 0, 8)));
}

}  // namespace
}  // namespace trunnion::kernels
