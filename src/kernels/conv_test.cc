// Convolutions of every rung of this CPU against a double-precision loop nest.
#include "kernels/conv.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "base/cpu_info.h"
#include "kernels/gemm.h"
#include "kernels/gemm_split_emulated.h"
#include "kernels/half.h"

namespace trunnion::kernels {
namespace {

// 64-byte aligned floats between guard values.
class Buffer {
 public:
  explicit Buffer(int64_t n) : n_(n), data_(static_cast<float*>(std::aligned_alloc(64, bytes(n)))) {
    for (int64_t i = 0; i < n + 32; ++i) data_[i] = kGuard;
  }
  ~Buffer() {
    for (int64_t i = 0; i < 16; ++i) EXPECT_TRUE(data_[i] == kGuard && data_[16 + n_ + i] == kGuard) << "guard " << i;
    std::free(data_);
  }
  float* get() { return data_ + 16; }
  float& operator[](int64_t i) { return data_[16 + i]; }
  void fill(std::mt19937& random) {
    std::uniform_real_distribution<float> values(-1.0f, 1.0f);
    for (int64_t i = 0; i < n_; ++i) data_[16 + i] = values(random);
  }
  void round_to_bf16() {
    for (int64_t i = 0; i < n_; ++i) data_[16 + i] = half::from_bf16(half::to_bf16(data_[16 + i]));
  }

 private:
  static constexpr float kGuard = 12345.0f;
  static size_t bytes(int64_t n) { return (static_cast<size_t>(n + 32) * 4 + 63) / 64 * 64; }
  int64_t n_;
  float* data_;
};

struct Case {
  ConvShape shape;
  int64_t x_extra = 0, y_extra = 0;  // x and y are slices of wider tensors
  bool bias = true, residual = false, after = false;
  Activation activation = Activation::none;
  float alpha = 1, beta = 0;
};

// Sets `out` from the other fields; pad_end like pad_begin.
ConvShape shaped(ConvShape s, int64_t output_padding = 0) {
  for (int i = 0; i < s.rank; ++i) {
    const int64_t reach = s.dilation[i] * (s.kernel[i] - 1) + 1;
    s.out[i] = s.transposed ? s.stride[i] * (s.in[i] - 1) + output_padding + reach - 2 * s.pad_begin[i]
                            : (s.in[i] + 2 * s.pad_begin[i] - reach) / s.stride[i] + 1;
  }
  return s;
}

ConvShape conv2d(int64_t cin, int64_t cout, int64_t size, int64_t kernel, int64_t stride, int64_t pad,
                 int64_t groups = 1, int64_t dilation = 1) {
  ConvShape s;
  s.cin = cin, s.cout = cout, s.groups = groups;
  s.in[0] = size, s.in[1] = size + 2;
  for (int i = 0; i < 2; ++i)
    s.kernel[i] = kernel, s.stride[i] = stride, s.pad_begin[i] = pad, s.dilation[i] = dilation;
  return shaped(s);
}

double activate(Activation a, double x) {
  switch (a) {
    case Activation::relu:
      return std::fmax(x, 0.0);
    case Activation::clip:
      return std::fmin(std::fmax(x, -0.25), 0.5);
    case Activation::silu:
      return x / (1 + std::exp(-x));
    case Activation::hard_swish:
      return x * std::fmin(std::fmax(x / 6 + 0.5, 0), 1);
    default:
      return x;
  }
}

// For every output pixel: the sum over taps and channels, in double.
std::vector<double> reference(const ConvShape& s, Buffer& x, int64_t x_stride, Buffer& w) {
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, k[3] = {1, 1, 1}, st[3] = {1, 1, 1}, di[3] = {1, 1, 1},
          pa[3] = {0, 0, 0};
  for (int i = 0; i < s.rank; ++i) {
    const int to = 3 - s.rank + i;
    in[to] = s.in[i], out[to] = s.out[i], k[to] = s.kernel[i];
    st[to] = s.stride[i], di[to] = s.dilation[i], pa[to] = s.pad_begin[i];
  }
  const int64_t taps = k[0] * k[1] * k[2], cin = s.cin / s.groups, cout = s.cout / s.groups;
  const int64_t in_pixels = in[0] * in[1] * in[2], out_pixels = out[0] * out[1] * out[2];
  std::vector<double> y(static_cast<size_t>(s.batch * out_pixels * s.cout));
  // `from` and `to` are the sides that are stepped by one and by the stride.
  const int64_t* from = s.transposed ? in : out;
  const int64_t* to = s.transposed ? out : in;
  for (int64_t n = 0; n < s.batch; ++n)
    for (int64_t a = 0; a < from[0] * from[1] * from[2]; ++a)
      for (int64_t t = 0; t < taps; ++t) {
        const int64_t ai[3] = {a / (from[1] * from[2]), a / from[2] % from[1], a % from[2]};
        const int64_t ti[3] = {t / (k[1] * k[2]), t / k[2] % k[1], t % k[2]};
        int64_t b = 0;
        bool inside = true;
        for (int i = 0; i < 3; ++i) {
          const int64_t at = ai[i] * st[i] - pa[i] + ti[i] * di[i];
          inside = inside && at >= 0 && at < to[i];
          b = b * to[i] + at;
        }
        if (!inside) continue;
        const int64_t xp = n * in_pixels + (s.transposed ? a : b), yp = n * out_pixels + (s.transposed ? b : a);
        for (int64_t c = 0; c < s.cout; ++c)
          for (int64_t i = 0; i < cin; ++i) {
            const int64_t g = c / cout, ci = g * cin + i;
            const double weight = s.transposed ? w[(ci * cout + c % cout) * taps + t] : w[(c * cin + i) * taps + t];
            y[static_cast<size_t>(yp * s.cout + c)] += static_cast<double>(x[xp * x_stride + ci]) * weight;
          }
      }
  return y;
}

void run(const ConvPlan& plan, ConvArgs args, float* y) {
  Buffer scratch(static_cast<int64_t>(plan.scratch_size / 4));
  args.y = y;
  for (int64_t t = plan.tiles - 1; t >= 0; --t) conv_tile(plan, args, t, t + 1, scratch.get());
}

// The same plan in many small tiles.
ConvPlan cut(const ConvPlan& plan) {
  ConvPlan p = plan;
  if (p.tiles == 0) return p;
  const int64_t phases = p.tiles / (p.row_tiles * p.col_tiles), rows = p.row_step * p.row_tiles;
  const int64_t cols = p.col_step * p.col_tiles;
  p.row_step = std::max<int64_t>(1, rows / 3);
  if (p.block_tiles > 0) p.row_step = std::min(p.row_step, p.block_tiles);
  p.row_tiles = (rows + p.row_step - 1) / p.row_step;
  const bool by_group = p.algorithm != ConvAlgorithm::direct && p.shape.groups / p.group_step > 1;
  p.col_step =
      std::min(cols, by_group                              ? 1
                     : p.algorithm == ConvAlgorithm::split ? kSplitPanel
                                                           : gemm_panel_width());  // the vector length divides it
  p.col_tiles = (cols + p.col_step - 1) / p.col_step;
  p.tiles = phases * p.row_tiles * p.col_tiles;
  return p;
}

void check_one(const Case& t) {
  const ConvShape& s = t.shape;
  const ConvPlan plan = conv_plan(s, 1), split = cut(plan);
  SCOPED_TRACE(testing::Message() << rung_name(active_rung()) << " algorithm " << static_cast<int>(plan.algorithm)
                                  << " bf16 " << plan.shape.bf16 << " rank " << s.rank << " cin " << s.cin << " cout "
                                  << s.cout << " groups " << s.groups << " transposed " << s.transposed << " in "
                                  << s.in[0] << "x" << s.in[1] << "x" << s.in[2] << " kernel " << s.kernel[0] << "x"
                                  << s.kernel[1] << "x" << s.kernel[2] << " stride " << s.stride[0] << " dilation "
                                  << s.dilation[0]);
  std::mt19937 random(static_cast<unsigned>(s.cin * 31 + s.cout));
  int64_t in_pixels = s.batch, out_pixels = s.batch, taps = 1;
  for (int i = 0; i < s.rank; ++i) in_pixels *= s.in[i], out_pixels *= s.out[i], taps *= s.kernel[i];
  const int64_t x_stride = s.cin + t.x_extra, y_stride = s.cout + t.y_extra, r_stride = s.cout + 1;
  // A slice ends with its own last channel, which is where reading must stop.
  Buffer x(std::max<int64_t>(in_pixels * x_stride - t.x_extra, 0)), w(s.cout * (s.cin / s.groups) * taps), bias(s.cout);
  Buffer old(out_pixels * y_stride), residual(out_pixels * r_stride), packed(plan.packed_size);
  for (Buffer* b : {&x, &w, &bias, &old, &residual}) b->fill(random);
  if (s.bf16 == 1) x.round_to_bf16(), w.round_to_bf16();  // so that products are exact

  for (int64_t unit = plan.pack_units; unit-- > 0;) conv_pack(plan, w.get(), unit, unit + 1, packed.get());
  ConvArgs args;
  args.x = x.get(), args.x_pixel_stride = x_stride;
  Buffer rounded(plan.rounds_x ? in_pixels * plan.x_stride : 0);
  if (plan.rounds_x) {
    conv_round_x(plan, x.get(), x_stride, in_pixels / 2, in_pixels, rounded.get());
    conv_round_x(plan, x.get(), x_stride, 0, in_pixels / 2, rounded.get());
    args.x = rounded.get(), args.x_pixel_stride = plan.x_stride;
  }
  args.packed = packed.get(), args.y_pixel_stride = y_stride;
  Epilogue& e = args.epilogue;
  e.alpha = t.alpha, e.beta = t.beta, e.activation = t.activation, e.a = -0.25f, e.b = 0.5f;
  if (t.bias) e.bias_col = bias.get();
  if (t.residual) e.residual = residual.get(), e.residual_ld = r_stride;
  e.residual_after_activation = t.after;

  Buffer y(out_pixels * y_stride), y2(out_pixels * y_stride);
  const size_t bytes = static_cast<size_t>(out_pixels * y_stride) * sizeof(float);
  std::memcpy(y.get(), old.get(), bytes);
  std::memcpy(y2.get(), old.get(), bytes);
  run(plan, args, y.get());
  run(split, args, y2.get());
  ASSERT_EQ(std::memcmp(y.get(), y2.get(), bytes), 0) << "bits depend on the tiles";

  const std::vector<double> sums = reference(s, x, x_stride, w);
  const double tolerance = (s.winograd == 4 || s.bf16 == 2 ? 1e-5
                            : s.winograd == 2              ? 2e-6
                                                           : 1e-6) *
                           (2 + std::sqrt(static_cast<double>(taps * s.cin / s.groups)));
  for (int64_t p = 0; p < out_pixels; ++p) {
    for (int64_t c = 0; c < s.cout; ++c) {
      double want = t.alpha * sums[static_cast<size_t>(p * s.cout + c)];
      if (t.beta != 0) want += static_cast<double>(t.beta) * old[p * y_stride + c];
      if (t.bias) want += bias[c];
      if (t.residual && !t.after) want += residual[p * r_stride + c];
      want = activate(t.activation, want);
      if (t.residual && t.after) want += residual[p * r_stride + c];
      ASSERT_NEAR(y[p * y_stride + c], want, tolerance * (1 + std::fabs(want))) << "pixel " << p << " channel " << c;
    }
    for (int64_t c = s.cout; c < y_stride; ++c) ASSERT_EQ(y[p * y_stride + c], old[p * y_stride + c]) << "neighbour";
  }
}

// And with factors rounded to bfloat16, where there is a kernel for it.
void check(Case t) {
  check_one(t);
  t.shape.bf16 = 1;
  if (t.shape.winograd == 0 && conv_plan(t.shape, 1).shape.bf16 != 0) check_one(t);
}

class Conv : public testing::TestWithParam<Rung> {
 protected:
  void SetUp() override {
    if (GetParam() > cpu_info().rung) GTEST_SKIP() << "not on this CPU";
    force_rung_for_test(GetParam());
  }
  void TearDown() override { force_rung_for_test(cpu_info().rung); }
};

TEST_P(Conv, Kernels) {
  for (int64_t kernel : {1, 2, 3, 5}) {
    for (int64_t stride : {1, 2, 3}) {
      for (int64_t pad : {0, 1, 2}) {
        if (pad >= kernel && kernel > 1) continue;
        check({conv2d(3, 20, 9, kernel, stride, pad)});
        check({conv2d(70, 5, 7, kernel, stride, pad)});
      }
    }
  }
}

TEST_P(Conv, Channels) {
  for (int64_t cin : {1, 2, 3, 4, 17, 64, 65}) {
    for (int64_t cout : {1, 3, 4, 5, 16, 33, 140}) {
      check({conv2d(cin, cout, 6, 3, 1, 1)});
      check({conv2d(cin, cout, 6, 1, 1, 0)});
      check({conv2d(cin, cout, 7, 1, 2, 0)});
    }
  }
}

TEST_P(Conv, PlanesOfBfloat16) {
  set_split_unit_for_test(&kEmulated);
  for (int planes = 1; planes <= 3; ++planes) {
    Case t{conv2d(20, 40, 6, 3, 1, 1)};
    t.shape.bf16 = planes;
    t.residual = true, t.activation = Activation::relu;
    check_one(t);
    EXPECT_EQ(conv_plan(t.shape, 1).algorithm, ConvAlgorithm::split);
    t.x_extra = 5, t.y_extra = 7;
    t.shape = conv2d(70, 20, 5, 1, 2, 0);
    t.shape.bf16 = planes;
    check_one(t);
    t.shape = conv2d(7, 5, 7, 5, 1, 4, 1, 2);
    t.shape.bf16 = planes, t.shape.batch = 2;
    check_one(t);
  }
  set_split_unit_for_test(nullptr);
}

TEST_P(Conv, LongSums) {
  check({conv2d(90, 40, 7, 3, 1, 1)});
  check({conv2d(600, 36, 5, 3, 2, 1)});
  check({conv2d(40, 20, 9, 7, 2, 3)});
  check({conv2d(1024, 40, 5, 1, 2, 0)});
}

TEST_P(Conv, Winograd) {
  for (int winograd : {2, 4}) {
    for (int64_t cin : {16, 17, 30, 64, 272}) {
      for (int64_t cout : {16, 20, 33, 64, 132}) {
        ConvShape s = conv2d(cin, cout, 7, 3, 1, cin % 2);
        if (!conv_winograd_fits(s)) continue;
        s.winograd = winograd;
        check({s});
      }
    }
    Case t{conv2d(32, 40, 20, 3, 1, 1)};
    t.shape.winograd = winograd;
    t.shape.batch = 3;
    t.x_extra = 5, t.y_extra = 7, t.residual = true;
    for (Activation a : {Activation::none, Activation::relu, Activation::clip, Activation::silu}) {
      t.activation = a;
      for (bool after : {false, true}) {
        t.after = after;
        check(t);
      }
    }
    t.alpha = 0.5f, t.beta = 2.0f;
    check(t);
    ConvShape s = conv2d(32, 32, 1, 3, 1, 2);
    s.winograd = winograd;
    check({s});
    s = conv2d(24, 48, 5, 3, 1, 0);
    s.out[0] += 4, s.out[1] += 1;  // rows that see padding only
    s.winograd = winograd;
    check({s});
  }
}

TEST_P(Conv, Slices) {
  for (int64_t cin : {3, 20, 64}) {
    Case t{conv2d(cin, 24, 8, 3, 1, 1)};
    t.x_extra = 5, t.y_extra = 7;
    check(t);
    t.shape = conv2d(cin, 24, 8, 1, 1, 0);
    check(t);
    t.shape = conv2d(cin * 2, cin * 2, 8, 3, 2, 1, cin * 2);
    check(t);
    t.shape = conv2d(32, 32, 6, 3, 1, 1, 8);
    check(t);
    t.shape.transposed = true;
    t.shape.groups = 1;
    t.shape.stride[0] = 2;
    t.shape = shaped(t.shape);
    check(t);
  }
}

TEST_P(Conv, Depthwise) {
  for (int64_t channels : {2, 4, 15, 16, 17, 40, 64}) {
    for (int64_t kernel : {1, 3, 5}) {
      for (int64_t stride : {1, 2}) {
        for (int64_t pad : {int64_t{0}, kernel / 2})
          check({conv2d(channels, channels, 11, kernel, stride, pad, channels)});
      }
    }
  }
  check({conv2d(20, 20, 15, 3, 1, 4, 20, 4)});
  check({conv2d(20, 20, 3, 7, 1, 3, 20)});
}

TEST_P(Conv, Groups) {
  const int64_t rows[][3] = {{2, 4, 2},    {6, 12, 6},   {5, 15, 5},    {12, 12, 4},  {32, 32, 8},  {64, 64, 8},
                             {24, 48, 3},  {9, 6, 3},    {128, 128, 4}, {40, 200, 2}, {48, 24, 12}, {10, 80, 10},
                             {60, 60, 20}, {64, 32, 32}, {64, 32, 16},  {34, 34, 17}};
  for (const auto& r : rows) {
    check({conv2d(r[0], r[1], 7, 3, 1, 1, r[2])});
    check({conv2d(r[0], r[1], 6, 1, 1, 0, r[2])});
    check({conv2d(r[0], r[1], 8, 3, 2, 0, r[2])});
  }
}

TEST_P(Conv, Dilation) {
  for (int64_t dilation : {2, 3}) {
    check({conv2d(3, 18, 13, 3, 1, dilation, 1, dilation)});
    check({conv2d(66, 18, 9, 3, 2, 1, 1, dilation)});
  }
}

TEST_P(Conv, OneAndThreeDimensions) {
  for (bool transposed : {false, true}) {
    for (int64_t groups : {1, 4}) {
      ConvShape s;
      s.rank = 1, s.batch = 2, s.cin = 12, s.cout = 20, s.groups = groups, s.in[0] = 33, s.transposed = transposed;
      s.kernel[0] = 5, s.stride[0] = 2, s.pad_begin[0] = 2;
      check({shaped(s)});
      s.in[0] = 400, s.cin = s.cout = 4, s.kernel[0] = 40, s.stride[0] = 10;
      check({shaped(s)});
      s = ConvShape();
      s.rank = 3, s.batch = 2, s.cin = 8, s.cout = 12, s.groups = groups, s.transposed = transposed;
      const int64_t in[3] = {3, 4, 5}, kernel[3] = {2, 3, 2}, stride[3] = {1, 2, 2}, pad[3] = {1, 0, 1};
      for (int i = 0; i < 3; ++i)
        s.in[i] = in[i], s.kernel[i] = kernel[i], s.stride[i] = stride[i], s.pad_begin[i] = pad[i];
      check({shaped(s)});
      s.dilation[1] = 2;
      check({shaped(s)});
    }
  }
  ConvShape audio;  // a long window over one channel
  audio.rank = 1, audio.cin = 1, audio.cout = 34, audio.in[0] = 2000, audio.kernel[0] = 400, audio.stride[0] = 160;
  check({shaped(audio)});
}

// Depthwise windows: lines of every length, at whose ends columns are missing.
TEST_P(Conv, DepthwiseWindows) {
  for (int64_t kernel : {3, 5}) {
    for (int64_t stride : {1, 2}) {
      for (int64_t size : {1, 2, 5, 6, 7, 13, 20}) {
        for (int64_t pad = 0; pad <= kernel / 2; pad += kernel / 2) {
          if (size + 2 * pad < kernel) continue;
          for (int64_t channels : {3, 24, 150})
            check({conv2d(channels, channels, size, kernel, stride, pad, channels)});
        }
      }
    }
  }
}

TEST_P(Conv, UnevenPadding) {
  ConvShape s = conv2d(5, 18, 8, 3, 2, 0);
  s.out[0] += 1, s.out[1] += 1;  // the last taps reach behind the input
  check({s});
  s.pad_begin[1] = 2;
  check({s});
  s = conv2d(64, 64, 2, 3, 1, 1);
  s.out[0] = 6;  // rows that see padding only
  check({s});
  s.groups = 64;
  check({s});
}

TEST_P(Conv, Transposed) {
  for (int64_t groups : {1, 2, 6}) {
    for (int64_t stride : {1, 2, 3}) {
      for (int64_t kernel : {1, 2, 3, 4}) {
        for (int64_t dilation : {1, 2}) {
          ConvShape s = conv2d(6, 12, 5, kernel, stride, 0, groups, dilation);
          s.transposed = true;
          check({shaped(s)});
          if (kernel * dilation < 3) continue;
          s.pad_begin[0] = s.pad_begin[1] = 1;
          check({shaped(s)});
          if (stride > 1) check({shaped(s, 1)});
        }
      }
    }
  }
  ConvShape s = conv2d(10, 10, 5, 4, 2, 1, 10);
  s.transposed = true;
  check({shaped(s)});
  s = conv2d(70, 40, 5, 4, 2, 1);
  s.transposed = true;
  check({shaped(s)});
  s = conv2d(90, 3, 3, 5, 4, 1);
  s.transposed = true;
  check({shaped(s)});
  for (int64_t groups : {1, 10}) {  // strides that never come to bear
    s = conv2d(10, 10, 1, 3, 1, 0, groups);
    s.transposed = true;
    s.in[1] = 1;
    s.stride[0] = s.stride[1] = int64_t{1} << 31;
    s.batch = 3;
    s = shaped(s);
    check({s});
    s.out[1] = 1;
    s.in[1] = 4;
    check({s});
    s.in[0] = 4;
    s.out[0] = 1;
    check({s});
  }
}

TEST_P(Conv, Epilogues) {
  const ConvShape shapes[] = {conv2d(20, 37, 6, 3, 1, 1),     conv2d(20, 37, 6, 1, 1, 0),
                              conv2d(37, 37, 6, 3, 1, 1, 37), conv2d(40, 40, 6, 3, 1, 1, 10),
                              conv2d(120, 17, 5, 3, 1, 1),    conv2d(64, 3, 5, 3, 1, 1)};
  for (const ConvShape& shape : shapes) {
    for (Activation act :
         {Activation::none, Activation::relu, Activation::clip, Activation::silu, Activation::hard_swish}) {
      for (int form = 0; form < 16; ++form) {
        Case t{shape};
        t.activation = act;
        t.bias = form & 1, t.residual = form & 2, t.after = form & 4;
        if (form & 8) t.alpha = 0.5f, t.beta = 2.0f;
        check(t);
      }
    }
  }
}

TEST_P(Conv, BatchesAndEmpty) {
  ConvShape s = conv2d(4, 18, 6, 3, 1, 1);
  s.batch = 3;
  check({s});
  s.groups = 2;
  check({s});
  s.batch = 0;
  check({s});
  s = conv2d(8, 8, 6, 3, 1, 1, 8);
  s.batch = 3;
  check({s});
  s.batch = 0;
  check({s});
  s.batch = 1;
  s.out[0] = 0;
  check({s});
}

TEST_P(Conv, PlansForThreads) {
  for (int threads : {1, 2, 8}) {
    for (const ConvShape& s : {conv2d(64, 64, 56, 3, 1, 1), conv2d(512, 512, 7, 3, 1, 1), conv2d(256, 64, 56, 1, 1, 0),
                               conv2d(144, 144, 56, 3, 1, 1, 144), conv2d(128, 128, 56, 3, 1, 1, 8)}) {
      const ConvPlan plan = conv_plan(s, threads);
      if (threads == 1) {
        EXPECT_EQ(plan.tiles, 1);
      } else {
        EXPECT_GE(plan.tiles, threads);
      }
    }
  }
}

// Infinity in one group stays out of the others where groups are computed apart.
TEST_P(Conv, DepthwiseKeepsChannelsApart) {
  const ConvShape s = conv2d(4, 4, 4, 3, 1, 1, 4);
  std::vector<float> x(4 * 6 * 4, 1.0f), y(x.size()), w(4 * 9, 1.0f);
  for (size_t i = 0; i < x.size(); i += 4) x[i] = std::numeric_limits<float>::infinity();
  const ConvPlan plan = conv_plan(s, 1);
  Buffer packed(plan.packed_size);
  conv_pack(plan, w.data(), 0, plan.pack_units, packed.get());
  ConvArgs args;
  args.x = x.data(), args.x_pixel_stride = 4, args.packed = packed.get(), args.y_pixel_stride = 4;
  run(plan, args, y.data());
  EXPECT_EQ(y[0], std::numeric_limits<float>::infinity());
  EXPECT_EQ(y[1], 4.0f);
  EXPECT_EQ(y[7 * 4 + 3], 9.0f);
}

INSTANTIATE_TEST_SUITE_P(Rungs, Conv, testing::Values(Rung::baseline, Rung::avx2, Rung::avx512),
                         [](const auto& info) { return std::string(rung_name(info.param)); });

}  // namespace
}  // namespace trunnion::kernels
