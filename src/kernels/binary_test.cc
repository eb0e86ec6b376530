#include "kernels/binary.h"

#include "kernels/broadcast.h"
#include "kernels/broadcast_gathered.h"
#include "kernels/convert.h"
#include "kernels/rung_test.h"

namespace trunnion::kernels {
namespace {

using Op = BinaryOp;
using Shape = BinaryShape;
const float kNan = std::numeric_limits<float>::quiet_NaN();
const float kInf = std::numeric_limits<float>::infinity();

bool same(float a, float b) { return (std::isnan(a) && std::isnan(b)) || a == b; }

float expected(Op op, float a, float b) {
  switch (op) {
    case Op::add:
      return a + b;
    case Op::sub:
      return a - b;
    case Op::mul:
      return a * b;
    case Op::div:
      return a / b;
    case Op::min:
      return std::isnan(a) ? a : std::isnan(b) ? b : std::fmin(a, b);
    case Op::max:
      return std::isnan(a) ? a : std::isnan(b) ? b : std::fmax(a, b);
    case Op::pow:
      return std::pow(a, b);
    case Op::fmod:
      return std::fmod(a, b);
    case Op::prelu:
      return a < 0 ? a * b : a;
    case Op::atan2:
      return std::atan2(a, b);
    case Op::equal:
      return a == b;
    case Op::not_equal:
      return a != b;
    case Op::less:
      return a < b;
    case Op::less_equal:
      return a <= b;
    case Op::greater:
      return a > b;
    case Op::greater_equal:
      return a >= b;
    default:
      return 0;
  }
}

TEST(Binary, F32EveryShapeAndTail) {
  const float special[] = {0.0f, -0.0f, 1, -1, kInf, -kInf, kNan, 2.5f, -2.5f, 3e38f};
  for_each_rung([&] {
    for (Op op : {Op::add, Op::sub, Op::mul, Op::div, Op::min, Op::max, Op::pow, Op::fmod, Op::prelu, Op::atan2,
                  Op::equal, Op::not_equal, Op::less, Op::less_equal, Op::greater, Op::greater_equal}) {
      for (size_t n : {0, 1, 3, 4, 7, 8, 15, 16, 17, 33, 100}) {
        std::vector<float> a = random_floats(n + 1), b = random_floats(n + 1, -2, 2, 2);
        for (size_t i = 0; i < n; i += 3) a[i] = special[i % 10], b[i] = special[(i / 10 + i / 3) % 10];
        for (Shape shape : {Shape::vector_vector, Shape::vector_scalar, Shape::scalar_vector}) {
          for (float scalar : {0.5f, 2.0f, kNan}) {
            std::vector<float> left = a, right = b, y(n + 1, 77.0f);
            if (shape == Shape::scalar_vector) left.assign(1, scalar);
            if (shape == Shape::vector_scalar) right.assign(1, scalar);
            binary(op, Elem::f32, shape)(left.data(), right.data(), y.data(), n);
            const uint8_t* flags = reinterpret_cast<const uint8_t*>(y.data());
            for (size_t i = 0; i < n; ++i) {
              const float l = left[shape == Shape::scalar_vector ? 0 : i];
              const float r = right[shape == Shape::vector_scalar ? 0 : i];
              const float got = gives_boolean(op) ? flags[i] : y[i];
              ASSERT_TRUE(same(got, expected(op, l, r))) << int(op) << " f(" << l << ", " << r << ") = " << got;
            }
            EXPECT_EQ(y[n], 77.0f);
          }
        }
      }
    }
  });
}

TEST(Binary, FloatModulo) {
  const double a[] = {7, -7, 7, -7, 6, -6, 0}, b[] = {3, 3, -3, -3, 3, -3, -3};
  double y[7];
  binary(Op::mod, Elem::f64, Shape::vector_vector)(a, b, y, 7);
  EXPECT_EQ(std::vector<double>(y, y + 7), (std::vector<double>{1, 2, -2, -1, 0, 0, 0}));
  binary(Op::fmod, Elem::f64, Shape::vector_vector)(a, b, y, 7);
  EXPECT_EQ(std::vector<double>(y, y + 7), (std::vector<double>{1, -1, 1, -1, 0, 0, 0}));
}

template <class T>
std::vector<T> run(Op op, Elem type, std::vector<T> a, std::vector<T> b) {
  const Shape shape = a.size() == b.size() ? Shape::vector_vector
                      : a.size() == 1      ? Shape::scalar_vector
                                           : Shape::vector_scalar;
  std::vector<T> y(std::max(a.size(), b.size()));
  binary(op, type, shape)(a.data(), b.data(), y.data(), y.size());
  return y;
}
using I8 = std::vector<int8_t>;
using U8 = std::vector<uint8_t>;

TEST(Binary, IntegersNeverTrap) {
  EXPECT_EQ(run(Op::div, Elem::i8, I8{-128, 7, -7, 5}, I8{-1, 2, 2, 0}), (I8{-128, 3, -3, 0}));
  EXPECT_EQ(run(Op::mod, Elem::i8, I8{-128, 7, -7, 5, -6, 7}, I8{-1, 3, 3, 0, 3, -3}), (I8{0, 1, 2, 0, 0, -2}));
  EXPECT_EQ(run(Op::fmod, Elem::i8, I8{-128, 7, -7, 5}, I8{-1, 3, 3, 0}), (I8{0, 1, -1, 0}));
  EXPECT_EQ(run(Op::add, Elem::i8, I8{127, -128}, I8{1, -1}), (I8{-128, 127}));
  EXPECT_EQ(run(Op::mul, Elem::i8, I8{100, -128}, I8{3, -1}), (I8{44, -128}));
  EXPECT_EQ(run(Op::sub, Elem::u8, U8{3}, U8{4, 2}), (U8{255, 1}));
  EXPECT_EQ(run(Op::sub, Elem::u8, U8{3, 9}, U8{4}), (U8{255, 5}));
  EXPECT_EQ(run(Op::pow, Elem::i8, I8{2, 3, 2, -1, -1, 1, 5, 0}, I8{6, 5, -1, -3, -2, -9, 0, 0}),
            (I8{64, -13, 0, -1, 1, 1, 1, 1}));
  EXPECT_EQ(run(Op::shift_left, Elem::u8, U8{1, 1, 255}, U8{7, 8, 1}), (U8{128, 0, 254}));
  EXPECT_EQ(run(Op::shift_right, Elem::u8, U8{128, 1, 255}, U8{7, 8, 1}), (U8{1, 0, 127}));
  EXPECT_EQ(run(Op::min, Elem::i8, I8{-1, 5}, I8{3}), (I8{-1, 3}));
  EXPECT_EQ(run(Op::max, Elem::u8, U8{255, 5}, U8{3}), (U8{255, 5}));
  EXPECT_EQ(run(Op::bit_xor, Elem::u8, U8{255, 5}, U8{3, 4}), (U8{252, 1}));
  using I64 = std::vector<int64_t>;
  EXPECT_EQ(run(Op::div, Elem::i64, I64{INT64_MIN, 9}, I64{-1, 0}), (I64{INT64_MIN, 0}));
  EXPECT_EQ(run(Op::mul, Elem::i64, I64{int64_t{1} << 40, 3}, I64{int64_t{1} << 30, -4}), (I64{0, -12}));
  using U16 = std::vector<uint16_t>;
  EXPECT_EQ(run(Op::mul, Elem::u16, U16{65535, 2}, U16{65535, 3}), (U16{1, 6}));
}

TEST(Binary, IntegerComparisonsAndLogic) {
  const int32_t a[] = {1, -2, 3}, b[] = {1, 2, -3}, two = -2;
  uint8_t y[3];
  const auto flags = [&](Op op, Shape shape, const void* l, const void* r) {
    binary(op, Elem::i32, shape)(l, r, y, 3);
    return U8(y, y + 3);
  };
  EXPECT_EQ(flags(Op::less, Shape::vector_vector, a, b), (U8{0, 1, 0}));
  EXPECT_EQ(flags(Op::greater, Shape::vector_vector, a, b), (U8{0, 0, 1}));
  EXPECT_EQ(flags(Op::greater, Shape::vector_scalar, a, &two), (U8{1, 0, 1}));
  EXPECT_EQ(flags(Op::greater_equal, Shape::scalar_vector, &two, b), (U8{0, 0, 1}));
  EXPECT_EQ(flags(Op::less_equal, Shape::scalar_vector, &two, b), (U8{1, 1, 0}));
  EXPECT_EQ(flags(Op::equal, Shape::scalar_vector, &two, a), (U8{0, 1, 0}));
  EXPECT_EQ(run(Op::logical_xor, Elem::boolean, U8{0, 1, 1, 0}, U8{0, 0, 1, 1}), (U8{0, 1, 0, 1}));
  EXPECT_EQ(run(Op::logical_and, Elem::boolean, U8{0, 1, 1}, U8{1}), (U8{0, 1, 1}));
  EXPECT_EQ(binary(Op::add, Elem::boolean, Shape::vector_vector), nullptr);
  EXPECT_EQ(binary(Op::bit_and, Elem::f32, Shape::vector_vector), nullptr);
  EXPECT_EQ(binary(Op::bit_and, Elem::f16, Shape::vector_vector), nullptr);
  EXPECT_EQ(binary(Op::logical_or, Elem::i32, Shape::vector_vector), nullptr);
}

TEST(Binary, HalfPrecision) {
  std::vector<uint16_t> a(300), y(300), flags(300);
  const uint16_t half = f32_to_f16(0.5f);
  for (size_t i = 0; i < 300; ++i) a[i] = f32_to_f16(static_cast<float>(i) * 0.01f);
  binary(Op::mul, Elem::f16, Shape::scalar_vector)(&half, a.data(), y.data(), 300);
  for (size_t i = 0; i < 300; ++i) EXPECT_EQ(y[i], f32_to_f16(0.5f * f16_to_f32(a[i])));
  binary(Op::less, Elem::f16, Shape::vector_scalar)(a.data(), &half, flags.data(), 300);
  for (size_t i = 0; i < 300; ++i) {
    EXPECT_EQ(reinterpret_cast<const uint8_t*>(flags.data())[i], f16_to_f32(a[i]) < 0.5f) << i;
  }
  const uint16_t one = f32_to_bf16(1.0f);
  binary(Op::add, Elem::bf16, Shape::vector_vector)(&one, &one, y.data(), 1);
  EXPECT_EQ(y[0], f32_to_bf16(2.0f));
}

template <class T>
void check_mod(Elem type) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> exponent(-40, 70), mantissa(-2, 2);
  std::vector<T> a, b;
  for (int i = 0; i < 20000; ++i) {
    a.push_back(static_cast<T>(std::ldexp(mantissa(random), static_cast<int>(exponent(random)))));
    b.push_back(static_cast<T>(std::ldexp(mantissa(random), static_cast<int>(exponent(random)))));
  }
  for (double whole = -40; whole < 40; ++whole)
    for (double by : {-7.0, -3.0, 0.1, 2.5, 9.0}) {
      a.push_back(static_cast<T>(whole * by));
      b.push_back(static_cast<T>(by));
    }
  for (T special : {T(0), T(-0.0), T(kInf), T(-kInf), T(kNan), T(1e30), T(1)})
    for (T other : {T(0), T(-0.0), T(kInf), T(-kInf), T(kNan), T(-3)}) {
      a.push_back(special);
      b.push_back(other);
    }
  for_each_rung([&] {
    std::vector<T> y(a.size()), m(a.size());
    binary(Op::fmod, type, Shape::vector_vector)(a.data(), b.data(), y.data(), a.size());
    binary(Op::mod, type, Shape::vector_vector)(a.data(), b.data(), m.data(), a.size());
    for (size_t i = 0; i < a.size(); ++i) {
      const T e = std::fmod(a[i], b[i]);
      ASSERT_TRUE((std::isnan(e) && std::isnan(y[i])) || (y[i] == e && std::signbit(y[i]) == std::signbit(e)))
          << a[i] << " " << b[i] << " " << y[i] << " " << e;
      const T f = e == 0 ? std::copysign(e, b[i]) : (e < 0) != (b[i] < 0) ? e + b[i] : e;
      ASSERT_TRUE((std::isnan(f) && std::isnan(m[i])) || (m[i] == f && std::signbit(m[i]) == std::signbit(f)))
          << a[i] << " " << b[i] << " " << m[i] << " " << f;
    }
  });
}

TEST(Binary, ModOfFloatsIsExact) {
  check_mod<float>(Elem::f32);
  check_mod<double>(Elem::f64);
}

TEST(Binary, DivisionOfI32IsExact) {
  std::vector<int32_t> a, b;
  std::mt19937 random(9);
  for (int32_t x : {INT32_MIN, INT32_MIN + 1, -7, -1, 0, 1, 7, INT32_MAX - 1, INT32_MAX})
    for (int32_t y : {INT32_MIN, -3, -1, 0, 1, 3, INT32_MAX}) a.push_back(x), b.push_back(y);
  for (int i = 0; i < 5000; ++i) {
    a.push_back(static_cast<int32_t>(random()));
    b.push_back(static_cast<int32_t>(random()) >> (i % 31));
    const int64_t product = int64_t{b.back()} * (i % 100);
    a.push_back(static_cast<int32_t>(product));
    b.push_back(b.back());
  }
  for_each_rung([&] {
    std::vector<int32_t> q(a.size()), r(a.size()), m(a.size());
    binary(Op::div, Elem::i32, Shape::vector_vector)(a.data(), b.data(), q.data(), a.size());
    binary(Op::fmod, Elem::i32, Shape::vector_vector)(a.data(), b.data(), r.data(), a.size());
    binary(Op::mod, Elem::i32, Shape::vector_vector)(a.data(), b.data(), m.data(), a.size());
    for (size_t i = 0; i < a.size(); ++i) {
      const int64_t x = a[i], y = b[i], rest = y ? x % y : 0;
      ASSERT_EQ(q[i], y ? static_cast<int32_t>(x / y) : 0) << x << " " << y;
      ASSERT_EQ(r[i], rest) << x << " " << y;
      ASSERT_EQ(m[i], rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest) << x << " " << y;
    }
  });
}

TEST(Binary, GatheredBroadcastIsTheSame) {
  for_each_rung([] {
    const std::vector<std::pair<std::vector<int64_t>, std::vector<int64_t>>> cases = {
        {{37, 3, 29}, {29}}, {{37, 3, 29}, {37, 3, 1}}, {{40, 1}, {1, 30}}, {{1, 3, 29}, {37, 1, 1}}, {{600, 2}, {2}}};
    for (const auto& [left, right] : cases) {
      BroadcastPlan plan;
      const int64_t* shapes[] = {left.data(), right.data()};
      const int ranks[] = {static_cast<int>(left.size()), static_cast<int>(right.size())};
      ASSERT_TRUE(broadcast_plan(2, shapes, ranks, plan));
      std::vector<uint16_t> a(4000), b(4000), y(static_cast<size_t>(plan.elements)), z(y.size());
      const auto values = random_floats(4000);
      f32_to_f16(values.data(), a.data(), 4000);
      f32_to_f16(values.data() + 1, b.data(), 3999);
      broadcast_binary(plan, 0, plan.elements, binary(Op::sub, Elem::f16, plan.shape()), a.data(), b.data(), y.data(),
                       2, 2);
      const BinaryFn fn = binary(Op::sub, Elem::f16, Shape::vector_vector);
      broadcast_gathered(plan, 0, 11, fn, a.data(), b.data(), z.data(), 2);
      broadcast_gathered(plan, 11, plan.elements, fn, a.data(), b.data(), z.data(), 2);
      EXPECT_EQ(y, z);
    }
  });
}

}  // namespace
}  // namespace trunnion::kernels
