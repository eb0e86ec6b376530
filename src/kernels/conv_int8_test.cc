// 8-bit integer convolution of every rung of this CPU against a loop nest: exact.
#include "kernels/conv_int8.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

#include "base/cpu_info.h"
#include "kernels/gemm_int8.h"

namespace trunnion::kernels {
namespace {

struct Case {
  ConvShape shape;
  bool x_signed = false, w_signed = true;
  int w_zeros = 0;  // 0: none, 1: one, 2: per channel
  int64_t x_extra = 0, y_extra = 0;
};

struct Free {
  void operator()(void* p) const { std::free(p); }
};
std::unique_ptr<char, Free> aligned(int64_t bytes) {
  return std::unique_ptr<char, Free>(
      static_cast<char*>(std::aligned_alloc(64, (static_cast<size_t>(bytes) + 127) / 64 * 64)));
}

int value(uint8_t byte, bool is_signed) { return is_signed ? static_cast<int8_t>(byte) : byte; }

ConvShape conv2d(int64_t cin, int64_t cout, int64_t size, int64_t kernel, int64_t stride, int64_t pad,
                 int64_t groups = 1) {
  ConvShape s;
  s.cin = cin, s.cout = cout, s.groups = groups;
  for (int i = 0; i < 2; ++i) {
    s.in[i] = size + i, s.kernel[i] = kernel, s.stride[i] = stride, s.pad_begin[i] = pad;
    s.out[i] = (s.in[i] + 2 * pad - kernel) / stride + 1;
  }
  return s;
}

void run(const ConvInt8Plan& plan, ConvInt8Args args, int32_t* y) {
  const auto scratch = aligned(static_cast<int64_t>(plan.scratch_size));
  args.y = y;
  for (int64_t t = plan.tiles - 1; t >= 0; --t) conv_int8_tile(plan, args, t, t + 1, scratch.get());
}

// Shapes of rank 2 only; the walk over other ranks is that of the fp32 convolution.
void check(const Case& t) {
  const ConvShape& s = t.shape;
  SCOPED_TRACE(testing::Message() << rung_name(active_rung()) << " cin " << s.cin << " cout " << s.cout << " groups "
                                  << s.groups << " kernel " << s.kernel[0] << " stride " << s.stride[0] << " signed "
                                  << t.x_signed << t.w_signed << " zeros " << t.w_zeros);
  std::mt19937 random(static_cast<unsigned>(s.cin * 5 + s.cout));
  const int64_t taps = s.kernel[0] * s.kernel[1], cin = s.cin / s.groups, cout = s.cout / s.groups;
  const int64_t x_stride = s.cin + t.x_extra, y_stride = s.cout + t.y_extra;
  std::vector<uint8_t> x(static_cast<size_t>(s.batch * s.in[0] * s.in[1] * x_stride)),
      w(static_cast<size_t>(s.cout * cin * taps));
  for (auto& v : x) v = static_cast<uint8_t>(random() % 3 ? random() : 255);
  for (auto& v : w) v = static_cast<uint8_t>(random() % 3 ? random() : 127);
  std::vector<int32_t> w_zero(static_cast<size_t>(s.cout));
  for (auto& v : w_zero) v = value(static_cast<uint8_t>(random()), t.w_signed);

  ConvInt8Plan plan = conv_int8_plan(s, 1);
  const auto packed = aligned(plan.packed_size);
  for (int64_t u = plan.pack_units; u-- > 0;) conv_int8_pack(plan, w.data(), t.w_signed, u, u + 1, packed.get());
  ConvInt8Args args;
  args.x = x.data(), args.x_signed = t.x_signed, args.x_pixel_stride = x_stride;
  args.packed = packed.get(), args.w_signed = t.w_signed, args.y_pixel_stride = y_stride;
  args.x_zero = t.x_signed ? -3 : 131;
  if (t.w_zeros) args.w_zero = w_zero.data(), args.w_zero_per_channel = t.w_zeros == 2;
  const int64_t out_pixels = s.batch * s.out[0] * s.out[1];
  std::vector<int32_t> y(static_cast<size_t>(out_pixels * y_stride), 77), y2 = y;
  run(plan, args, y.data());

  if (plan.tiles > 0) {  // the same in small tiles
    const int64_t rows = plan.row_step * plan.row_tiles;
    plan.row_step = std::max<int64_t>(1, rows / 5);
    plan.row_tiles = (rows + plan.row_step - 1) / plan.row_step;
    if (s.groups == 1)
      plan.col_step = std::min(s.cout, int8_gemm_panel_width()),
      plan.col_tiles = (s.cout + plan.col_step - 1) / plan.col_step;
    plan.tiles = plan.row_tiles * plan.col_tiles;
    run(plan, args, y2.data());
    ASSERT_EQ(y, y2);
  }

  for (int64_t p = 0; p < out_pixels; ++p) {
    const int64_t n = p / (s.out[0] * s.out[1]), oy = p / s.out[1] % s.out[0], ox = p % s.out[1];
    for (int64_t c = 0; c < s.cout; ++c) {
      const int zero = t.w_zeros ? w_zero[static_cast<size_t>(t.w_zeros == 2 ? c : 0)] : 0;
      int64_t sum = 0;
      for (int64_t tap = 0; tap < taps; ++tap) {
        const int64_t iy = oy * s.stride[0] - s.pad_begin[0] + tap / s.kernel[1] * s.dilation[0];
        const int64_t ix = ox * s.stride[1] - s.pad_begin[1] + tap % s.kernel[1] * s.dilation[1];
        if (iy < 0 || iy >= s.in[0] || ix < 0 || ix >= s.in[1]) continue;
        for (int64_t i = 0; i < cin; ++i) {
          const int a = value(
              x[static_cast<size_t>(((n * s.in[0] + iy) * s.in[1] + ix) * x_stride + c / cout * cin + i)], t.x_signed);
          sum += static_cast<int64_t>(a - args.x_zero) *
                 (value(w[static_cast<size_t>((c * cin + i) * taps + tap)], t.w_signed) - zero);
        }
      }
      ASSERT_EQ(y[static_cast<size_t>(p * y_stride + c)], static_cast<int32_t>(sum))
          << "pixel " << p << " channel " << c;
    }
    for (int64_t c = s.cout; c < y_stride; ++c) ASSERT_EQ(y[static_cast<size_t>(p * y_stride + c)], 77) << "neighbour";
  }
}

class Int8Conv : public testing::TestWithParam<Rung> {
 protected:
  void SetUp() override {
    if (GetParam() > cpu_info().rung) GTEST_SKIP() << "not on this CPU";
    force_rung_for_test(GetParam());
  }
  void TearDown() override { force_rung_for_test(cpu_info().rung); }
};

TEST_P(Int8Conv, Shapes) {
  const ConvShape shapes[] = {
      conv2d(3, 20, 9, 3, 2, 1),         conv2d(16, 33, 7, 3, 1, 1),     conv2d(64, 16, 6, 1, 1, 0),
      conv2d(5, 70, 6, 1, 2, 0),         conv2d(8, 24, 7, 5, 1, 2, 2),   conv2d(12, 12, 6, 3, 1, 1, 4),
      conv2d(20, 20, 7, 3, 1, 1, 20),    conv2d(33, 33, 8, 3, 2, 1, 33), conv2d(70, 70, 9, 3, 1, 1, 70),
      conv2d(131, 131, 7, 5, 2, 2, 131), conv2d(64, 64, 4, 1, 1, 0, 64)};
  for (const ConvShape& s : shapes) {
    for (int form = 0; form < 4; ++form) {
      for (int zeros = 0; zeros < 3; ++zeros) check({s, (form & 1) != 0, (form & 2) != 0, zeros});
    }
  }
}

TEST_P(Int8Conv, SlicesBatchesDilation) {
  for (ConvShape s : {conv2d(4, 18, 8, 3, 1, 1), conv2d(6, 18, 8, 3, 1, 1), conv2d(18, 18, 8, 3, 1, 1, 18)}) {
    s.batch = 2;
    Case t{s, false, true, 2, 3, 5};
    check(t);
    t.shape.dilation[0] = 2;
    t.shape.out[0] -= 2;
    check(t);
    t.shape.batch = 0;
    check(t);
  }
}

INSTANTIATE_TEST_SUITE_P(Rungs, Int8Conv, testing::Values(Rung::baseline, Rung::avx2, Rung::avx512),
                         [](const auto& info) { return std::string(rung_name(info.param)); });

}  // namespace
}  // namespace trunnion::kernels
