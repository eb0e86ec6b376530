// Every element-wise function on every rung, against double precision.
#include "kernels/unary.h"

#include <functional>

#include "kernels/convert.h"
#include "kernels/rung_test.h"

namespace trunnion::kernels {
namespace {

using Op = UnaryOp;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))); }

struct Case {
  Op op;
  const char* name;
  std::function<double(double)> exact;
  double max_ulp;
  UnaryParams params = {};
};

std::vector<Case> cases() {
  return {
      {Op::identity, "identity", [](double x) { return x; }, 0},
      {Op::abs, "abs", [](double x) { return std::fabs(x); }, 0},
      {Op::neg, "neg", [](double x) { return -x; }, 0},
      {Op::sign, "sign", [](double x) { return x > 0   ? 1
                                               : x < 0 ? -1
                                                       : x; }, 0},
      {Op::floor, "floor", [](double x) { return std::floor(x); }, 0},
      {Op::ceil, "ceil", [](double x) { return std::ceil(x); }, 0},
      {Op::round, "round", [](double x) { return std::nearbyint(x); }, 0},
      {Op::trunc, "trunc", [](double x) { return std::trunc(x); }, 0},
      {Op::sqrt, "sqrt", [](double x) { return std::sqrt(x); }, 0.5},
      {Op::rsqrt, "rsqrt", [](double x) { return 1 / std::sqrt(x); }, 1.5},
      {Op::reciprocal, "reciprocal", [](double x) { return 1 / x; }, 0.5},
      {Op::square, "square", [](double x) { return x * x; }, 0.5},
      {Op::exp, "exp", [](double x) { return std::exp(x); }, 1.5},
      {Op::log, "log", [](double x) { return std::log(x); }, 1.5},
      {Op::relu, "relu", [](double x) { return x < 0 ? 0 : x; }, 0},
      {Op::leaky_relu, "leaky_relu", [](double x) { return x < 0 ? double(0.01f) * x : x; }, 0.5, {0.01}},
      {Op::elu, "elu", [](double x) { return x < 0 ? 1.5 * std::expm1(x) : x; }, 3, {1.5}},
      {Op::selu, "selu", [](double x) { return 1.0625 * (x <= 0 ? 1.75 * std::expm1(x) : x); }, 4, {1.75, 1.0625}},
      {Op::celu, "celu", [](double x) { return x < 0 ? 2 * std::expm1(x / 2) : x; }, 4, {2}},
      {Op::thresholded_relu, "thresholded_relu", [](double x) { return x <= 1.5 ? 0 : x; }, 0, {1.5}},
      {Op::shrink,
       "shrink",
       [](double x) { return x < -0.5  ? x + 0.25
                             : x > 0.5 ? x - 0.25
                                       : x * 0; },
       0.5,
       {0.25, 0.5}},
      {Op::sigmoid, "sigmoid", sigmoid, 2.5},
      {Op::tanh, "tanh", [](double x) { return std::tanh(x); }, 3},
      {Op::erf, "erf", [](double x) { return std::erf(x); }, 2},
      {Op::silu, "silu", [](double x) { return x * sigmoid(x); }, 3.5, {1}},
      {Op::softplus, "softplus", softplus, 3},
      {Op::mish, "mish", [](double x) { return x * std::tanh(softplus(x)); }, 4},
      {Op::softsign, "softsign", [](double x) { return x / (1 + std::fabs(x)); }, 1.5},
      {Op::scaled_tanh, "scaled_tanh", [](double x) { return 1.5 * std::tanh(0.5 * x); }, 3.5, {1.5, 0.5}},
      {Op::clip, "clip", [](double x) { return x < -1  ? -1
                                               : x > 2 ? 2
                                                       : x; }, 0, {-1, 2}},
      {Op::clip, "clip crossed", [](double x) { return x == x ? -1.0 : x; }, 0, {2, -1}},
      {Op::sin, "sin", [](double x) { return std::sin(x); }, 1.5},
      {Op::cos, "cos", [](double x) { return std::cos(x); }, 1.5},
      {Op::tan, "tan", [](double x) { return std::tan(x); }, 3.5},
      {Op::asin, "asin", [](double x) { return std::asin(x); }, 3},
      {Op::acos, "acos", [](double x) { return std::acos(x); }, 3},
      {Op::atan, "atan", [](double x) { return std::atan(x); }, 3},
      {Op::sinh, "sinh", [](double x) { return std::sinh(x); }, 3},
      {Op::cosh, "cosh", [](double x) { return std::cosh(x); }, 3},
      {Op::asinh, "asinh", [](double x) { return std::asinh(x); }, 3},
      {Op::acosh, "acosh", [](double x) { return std::acosh(x); }, 3},
      {Op::atanh, "atanh", [](double x) { return std::atanh(x); }, 3},
  };
}

TEST(Unary, UlpOfEveryFunctionOnEveryRung) {
  const std::vector<float> x = awkward_floats();
  for_each_rung([&] {
    for (const Case& c : cases()) {
      std::vector<float> y(x.size());
      unary(c.op, Elem::f32)(x.data(), y.data(), x.size(), c.params);
      double worst = 0;
      float at = 0, got = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        if ((c.op == Op::mish || c.op == Op::silu) && x[i] < -80) continue;  // e^x is a denormal there
        const double error = ulp_error(y[i], c.exact(x[i]));
        if (error > worst) worst = error, at = x[i], got = y[i];
      }
      if (std::getenv("TRN_SHOW_ULP"))
        std::printf("%-8s %-18s %.3f at %g\n", rung_name(active_rung()), c.name, worst, at);
      EXPECT_LE(worst, c.max_ulp) << c.name << "(" << at << ") = " << got << ", exact " << c.exact(at);
    }
  });
}

// Functions with cancellation: an absolute bound relative to |x|.
TEST(Unary, GeluAndHardFunctions) {
  const std::vector<float> x = random_floats(20001, -12, 12);
  for_each_rung([&] {
    std::vector<float> y(x.size());
    const auto check = [&](Op op, UnaryParams params, double bound, auto exact) {
      unary(op, Elem::f32)(x.data(), y.data(), x.size(), params);
      for (size_t i = 0; i < x.size(); ++i) {
        const double e = exact(double(x[i]));
        ASSERT_NEAR(y[i], e, bound * std::fmax(1, std::fabs(x[i]))) << int(op) << " x " << x[i];
      }
    };
    check(Op::gelu, {}, 1.2e-7, [](double v) { return v / 2 * std::erfc(-v / std::sqrt(2.0)); });
    check(Op::gelu_tanh, {}, 1.8e-7,
          [](double v) { return v / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v))); });
    check(Op::hard_sigmoid, {0.2, 0.5}, 1e-7, [](double v) { return std::fmin(1, std::fmax(0, 0.2 * v + 0.5)); });
    check(Op::hard_swish, {}, 2e-7, [](double v) { return v * std::fmin(1, std::fmax(0, v / 6 + 0.5)); });
    check(Op::affine, {3, -0.25}, 3e-7, [](double v) { return 3 * v - 0.25; });
  });
}

TEST(Unary, TailsAndInPlace) {
  for_each_rung([&] {
    for (size_t n = 0; n <= 70; ++n) {
      const std::vector<float> x = random_floats(n + 2, -3, 3);
      std::vector<float> whole(n + 2), y = x;
      unary(Op::tanh, Elem::f32)(x.data(), whole.data(), n + 2, {});
      unary(Op::tanh, Elem::f32)(y.data() + 1, y.data() + 1, n, {});
      EXPECT_EQ(y[0], x[0]);
      EXPECT_EQ(y[n + 1], x[n + 1]);
      for (size_t i = 1; i <= n; ++i) ASSERT_EQ(y[i], whole[i]) << n << " " << i;
    }
  });
}

TEST(Unary, SignedZerosAndSpecials) {
  const float inf = std::numeric_limits<float>::infinity();
  for_each_rung([&] {
    const auto one = [](Op op, float v, UnaryParams p = {}) {
      float y;
      unary(op, Elem::f32)(&v, &y, 1, p);
      return y;
    };
    for (Op op : {Op::tanh, Op::erf, Op::ceil, Op::round, Op::sqrt, Op::sin}) EXPECT_TRUE(std::signbit(one(op, -0.0f)));
    EXPECT_EQ(one(Op::exp, -inf), 0);
    EXPECT_EQ(one(Op::exp, inf), inf);
    EXPECT_EQ(one(Op::exp, 0), 1);
    EXPECT_EQ(one(Op::log, 0), -inf);
    EXPECT_EQ(one(Op::log, 1), 0);
    EXPECT_TRUE(std::isnan(one(Op::log, -1)));
    EXPECT_EQ(one(Op::sigmoid, inf), 1);
    EXPECT_EQ(one(Op::sigmoid, -inf), 0);
    EXPECT_EQ(one(Op::softplus, inf), inf);
    EXPECT_EQ(one(Op::softplus, -inf), 0);
    EXPECT_EQ(one(Op::elu, -inf, {1}), -1);
    EXPECT_EQ(one(Op::mish, 200), 200);
    for (int op = 0; op <= int(Op::atanh); ++op) {
      EXPECT_TRUE(std::isnan(one(static_cast<Op>(op), std::numeric_limits<float>::quiet_NaN(), {1, 1}))) << op;
    }
  });
}

TEST(Unary, DoubleFollowsLibm) {
  const double x[] = {-2.5, -0.3, 0.0, 0.7, 3.25};
  double y[5];
  for (const Case& c : cases()) {
    unary(c.op, Elem::f64)(x, y, 5, c.params);
    for (int i = 0; i < 5; ++i) {
      const double e = c.exact(x[i]);
      if (std::isnan(e)) {
        EXPECT_TRUE(std::isnan(y[i])) << c.name;
      } else if (std::isinf(e)) {
        EXPECT_EQ(y[i], e) << c.name;
      } else {
        EXPECT_NEAR(y[i], e, (c.op == Op::leaky_relu ? 1e-8 : 1e-13) * std::fmax(1, std::fabs(e))) << c.name;
      }
    }
  }
}

TEST(Unary, IntegersWrapAround) {
  const int8_t x[] = {-128, -3, 0, 5, 127};
  int8_t y[5];
  const auto run = [&](Op op) {
    unary(op, Elem::i8)(x, y, 5, {});
    return std::vector<int>(y, y + 5);
  };
  EXPECT_EQ(run(Op::abs), (std::vector<int>{-128, 3, 0, 5, 127}));
  EXPECT_EQ(run(Op::neg), (std::vector<int>{-128, 3, 0, -5, -127}));
  EXPECT_EQ(run(Op::sign), (std::vector<int>{-1, -1, 0, 1, 1}));
  EXPECT_EQ(run(Op::relu), (std::vector<int>{0, 0, 0, 5, 127}));
  EXPECT_EQ(run(Op::bit_not), (std::vector<int>{127, 2, -1, -6, -128}));
  EXPECT_EQ(unary(Op::exp, Elem::i32), nullptr);
  EXPECT_EQ(unary(Op::exp, Elem::string), nullptr);
  const uint8_t flags[] = {0, 1, 1};
  uint8_t inverted[3];
  unary(Op::logical_not, Elem::boolean)(flags, inverted, 3, {});
  EXPECT_EQ(std::vector<int>(inverted, inverted + 3), (std::vector<int>{1, 0, 0}));
}

TEST(Unary, HalfPrecisionRoundsOnce) {
  const std::vector<float> x = random_floats(600, -4, 4);
  std::vector<uint16_t> h(600), y(600);
  for (size_t i = 0; i < 600; ++i) h[i] = f32_to_f16(x[i]);
  unary(Op::erf, Elem::f16)(h.data(), y.data(), 600, {});
  for (size_t i = 0; i < 600; ++i) EXPECT_EQ(y[i], f32_to_f16(std::erf(f16_to_f32(h[i])))) << x[i];
  for (size_t i = 0; i < 600; ++i) h[i] = f32_to_bf16(x[i]);
  unary(Op::neg, Elem::bf16)(h.data(), y.data(), 600, {});
  for (size_t i = 0; i < 600; ++i) EXPECT_EQ(y[i], h[i] ^ 0x8000u);
}

TEST(Unary, ClipByType) {
  const int64_t x[] = {INT64_MIN, -5, 9007199254740993, INT64_MAX}, lo = -4, hi = 9007199254740992;
  int64_t y[4];
  clip(Elem::i64)(x, y, 4, &lo, &hi);
  EXPECT_EQ(std::vector<int64_t>(y, y + 4), (std::vector<int64_t>{-4, -4, hi, hi}));
  const float nan = std::numeric_limits<float>::quiet_NaN(), f[] = {nan, -2, 0.5f, 7}, flo = 0, fhi = 1;
  float g[4];
  clip(Elem::f32)(f, g, 4, &flo, &fhi);
  EXPECT_TRUE(std::isnan(g[0]));
  EXPECT_EQ(g[1], 0);
  EXPECT_EQ(g[2], 0.5f);
  EXPECT_EQ(g[3], 1);
}

TEST(Unary, NanAndInfinityTests) {
  const float inf = std::numeric_limits<float>::infinity(), x[] = {0, inf, -inf, std::nanf(""), -std::nanf("")};
  bool y[5];
  const auto bits = [&] {
    int v = 0;
    for (int i = 0; i < 5; ++i) v |= int(y[i]) << i;
    return v;
  };
  is_nan(Elem::f32)(x, y, 5);
  EXPECT_EQ(bits(), 0b11000);
  is_inf(Elem::f32, true, true)(x, y, 5);
  EXPECT_EQ(bits(), 0b00110);
  is_inf(Elem::f32, true, false)(x, y, 5);
  EXPECT_EQ(bits(), 0b00010);
  is_inf(Elem::f32, false, true)(x, y, 5);
  EXPECT_EQ(bits(), 0b00100);
  is_inf(Elem::f32, false, false)(x, y, 5);
  EXPECT_EQ(bits(), 0);
  EXPECT_EQ(is_nan(Elem::i32), nullptr);
}

}  // namespace
}  // namespace trunnion::kernels
