#include "kernels/reduce.h"

#include <type_traits>

#include "kernels/convert.h"
#include "kernels/rung_test.h"

namespace trunnion::kernels {
namespace {

const float kInf = std::numeric_limits<float>::infinity();

// The f64 plain loops are the reference of f32; they are checked by hand below.
std::vector<double> reference(ReduceOp op, const std::vector<float>& x, const ReduceShape& shape) {
  std::vector<double> wide(x.begin(), x.end()), y(static_cast<size_t>(shape.outer * shape.stride));
  reduce(op, Elem::f64)(wide.data(), y.data(), shape);
  return y;
}

TEST(Reduce, F32MatchesDouble) {
  for_each_rung([] {
    for (int op = 0; op < kReduceOps; ++op) {
      for (int64_t axis : {0, 1, 2, 3, 5, 16, 31, 64, 65, 129, 1000}) {
        for (int64_t inner : {1, 2, 7, 16, 21}) {
          const ReduceShape shape{2, axis, inner, inner};
          std::vector<float> x = random_floats(static_cast<size_t>(2 * axis * inner), 0.5f, 1.5f);
          if (op == int(ReduceOp::prod)) x = random_floats(x.size(), 0.99f, 1.01f);
          std::vector<float> y(static_cast<size_t>(2 * inner));
          reduce(static_cast<ReduceOp>(op), Elem::f32)(x.data(), y.data(), shape);
          const auto e = reference(static_cast<ReduceOp>(op), x, shape);
          for (size_t i = 0; i < y.size(); ++i) {
            if (std::isnan(e[i])) {
              ASSERT_TRUE(std::isnan(y[i]));
            } else if (std::isinf(e[i])) {
              ASSERT_EQ(y[i], e[i]);
            } else {
              const double bound = op == int(ReduceOp::prod) ? 3e-5 : 3e-6;  // a product is one long chain
              ASSERT_NEAR(y[i], e[i], bound * std::fmax(0.1, std::fabs(e[i]))) << op << " " << axis << " " << inner;
            }
          }
        }
      }
    }
  });
}

TEST(Reduce, LongSumsStayAccurate) {
  for_each_rung([] {
    const std::vector<float> x = random_floats(3000001, 0, 1);
    const ReduceShape row{1, int64_t(x.size()), 1, 1}, columns{1, int64_t(x.size()) / 3, 3, 3};
    double exact = 0, first = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      exact += x[i];
      if (i % 3 == 0 && i < x.size() / 3 * 3) first += x[i];
    }
    float y[3];
    reduce(ReduceOp::sum, Elem::f32)(x.data(), y, row);
    EXPECT_NEAR(y[0], exact, 3e-7 * exact);
    reduce(ReduceOp::sum, Elem::f32)(x.data(), y, columns);
    EXPECT_NEAR(y[0], first, 3e-5 * first);
  });
}

TEST(Reduce, SlicesOfInnerGiveTheSameBits) {
  for_each_rung([] {
    const std::vector<float> x = random_floats(2 * 90 * 40);
    std::vector<float> whole(80), sliced(80);
    const ReduceFn sum = reduce(ReduceOp::sum, Elem::f32);
    sum(x.data(), whole.data(), {2, 90, 40, 40});
    for (int64_t at : {0, 13, 27}) {
      const int64_t end = at == 0 ? 13 : at == 13 ? 27 : 40;
      sum(x.data() + at, sliced.data() + at, {2, 90, end - at, 40});
    }
    EXPECT_EQ(whole, sliced);
    float one;
    sum(x.data() + 5, &one, {1, 90, 1, 40});  // a slice of one column
    EXPECT_EQ(one, whole[5]);
  });
}

TEST(Reduce, NanAndInfinity) {
  for_each_rung([] {
    for (int64_t inner : {1, 3}) {
      for (size_t place : {size_t{0}, size_t{5}, size_t{18}}) {
        std::vector<float> x(static_cast<size_t>(19 * inner), 1.0f), y(static_cast<size_t>(inner));
        const ReduceShape shape{1, 19, inner, inner};
        x[place * static_cast<size_t>(inner)] = std::nanf("");
        for (int op = 0; op < kReduceOps; ++op) {
          reduce(static_cast<ReduceOp>(op), Elem::f32)(x.data(), y.data(), shape);
          EXPECT_TRUE(std::isnan(y[0])) << op;
        }
        x[place * static_cast<size_t>(inner)] = kInf;
        reduce(ReduceOp::log_sum_exp, Elem::f32)(x.data(), y.data(), shape);
        EXPECT_EQ(y[0], kInf);
        std::fill(x.begin(), x.end(), -kInf);
        reduce(ReduceOp::log_sum_exp, Elem::f32)(x.data(), y.data(), shape);
        EXPECT_EQ(y[0], -kInf);
        reduce(ReduceOp::max, Elem::f32)(x.data(), y.data(), shape);
        EXPECT_EQ(y[0], -kInf);
      }
    }
  });
}

TEST(Reduce, Integers) {
  const int32_t x[] = {1, -2, 3, INT32_MAX, 5, 6};
  int32_t y[2];
  const auto run = [&](ReduceOp op) {
    reduce(op, Elem::i32)(x, y, {2, 3, 1, 1});
    return std::vector<int32_t>(y, y + 2);
  };
  EXPECT_EQ(run(ReduceOp::sum), (std::vector<int32_t>{2, INT32_MIN + 10}));
  EXPECT_EQ(run(ReduceOp::max), (std::vector<int32_t>{3, INT32_MAX}));
  EXPECT_EQ(run(ReduceOp::min), (std::vector<int32_t>{-2, 5}));
  EXPECT_EQ(run(ReduceOp::mean)[0], 0);
  EXPECT_EQ(run(ReduceOp::prod)[0], -6);
  EXPECT_EQ(run(ReduceOp::l1)[0], 6);
  EXPECT_EQ(run(ReduceOp::l2)[0], 3);
  EXPECT_EQ(run(ReduceOp::sum_square)[0], 14);
  const bool flags[] = {false, true, false};
  bool any;
  reduce(ReduceOp::max, Elem::boolean)(flags, &any, {1, 3, 1, 1});
  EXPECT_TRUE(any);
  reduce(ReduceOp::min, Elem::boolean)(flags, &any, {1, 3, 1, 1});
  EXPECT_FALSE(any);
  EXPECT_EQ(reduce(ReduceOp::sum, Elem::i8), nullptr);
  const double d[] = {3, 4};
  double r;
  reduce(ReduceOp::l2, Elem::f64)(d, &r, {1, 2, 1, 1});
  EXPECT_EQ(r, 5);
  reduce(ReduceOp::log_sum_exp, Elem::f64)(d, &r, {1, 2, 1, 1});
  EXPECT_NEAR(r, std::log(std::exp(3) + std::exp(4)), 1e-12);
}

template <class T>
T plain(ReduceOp op, const T* x, int64_t axis, int64_t step) {
  using U = std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;
  U acc = op == ReduceOp::prod ? U(1) : op == ReduceOp::max || op == ReduceOp::min ? static_cast<U>(x[0]) : U(0);
  for (int64_t k = 0; k < axis; ++k) {
    const T v = x[k * step], best = static_cast<T>(acc);
    const U u = static_cast<U>(v);
    if (op == ReduceOp::sum || op == ReduceOp::mean) acc += u;
    if (op == ReduceOp::prod) acc *= u;
    if (op == ReduceOp::sum_square || op == ReduceOp::l2) acc += u * u;
    if (op == ReduceOp::l1) acc += v < T(0) ? U(0) - u : u;
    if (op == ReduceOp::max && v > best) acc = u;
    if (op == ReduceOp::min && v < best) acc = u;
  }
  const T total = static_cast<T>(acc);
  if (op == ReduceOp::l2) return static_cast<T>(std::sqrt(static_cast<double>(total)));
  return op == ReduceOp::mean ? static_cast<T>(total / static_cast<T>(axis)) : total;
}

template <class T>
void expect_plain(Elem type, std::initializer_list<ReduceOp> ops) {
  std::mt19937_64 random(3);
  for_each_rung([&] {
    for (ReduceOp op : ops)
      for (int64_t axis : {1, 2, 7, 16, 33, 70, 257})
        for (int64_t inner : {1, 3, 9, 16, 31, 150}) {
          std::vector<T> x(static_cast<size_t>(2 * axis * inner)), y(static_cast<size_t>(2 * inner));
          for (T& v : x) v = static_cast<T>(static_cast<int64_t>(random() % 250) - 120);
          reduce(op, type)(x.data(), y.data(), {2, axis, inner, inner});
          for (int64_t i = 0; i < 2 * inner; ++i) {
            const T want = plain(op, x.data() + i / inner * axis * inner + i % inner, axis, inner);
            if constexpr (std::is_floating_point_v<T>) {
              if (op == ReduceOp::prod) {
                ASSERT_NEAR(y[static_cast<size_t>(i)] / want, 1, std::isfinite(want) && want != 0 ? 1e-12 : 1e300);
                continue;
              }
            }
            ASSERT_EQ(y[static_cast<size_t>(i)], want) << int(op) << " " << axis << " " << inner;
          }
        }
  });
}

TEST(Reduce, OtherTypesMatchPlainLoops) {
  const auto sums = {ReduceOp::sum,  ReduceOp::mean,       ReduceOp::max, ReduceOp::min,
                     ReduceOp::prod, ReduceOp::sum_square, ReduceOp::l1};
  const auto extremes = {ReduceOp::max, ReduceOp::min};
  expect_plain<double>(Elem::f64, {ReduceOp::sum, ReduceOp::mean, ReduceOp::max, ReduceOp::min, ReduceOp::sum_square,
                                   ReduceOp::l1, ReduceOp::l2});
  expect_plain<int32_t>(Elem::i32, sums);
  expect_plain<int64_t>(Elem::i64, sums);
  expect_plain<uint32_t>(Elem::u32, sums);
  expect_plain<uint64_t>(Elem::u64, sums);
  expect_plain<int8_t>(Elem::i8, extremes);
  expect_plain<uint8_t>(Elem::u8, extremes);
  expect_plain<int16_t>(Elem::i16, extremes);
  expect_plain<uint16_t>(Elem::u16, extremes);
  for_each_rung([] {
    for (size_t at : {0, 3, 40, 66}) {
      std::vector<double> x(67, 1.0);
      x[at] = std::nan("");
      for (ReduceOp op : {ReduceOp::max, ReduceOp::min, ReduceOp::sum}) {
        double y;
        reduce(op, Elem::f64)(x.data(), &y, {1, 67, 1, 1});
        EXPECT_TRUE(std::isnan(y));
      }
    }
  });
}

TEST(Reduce, ShortRowsHaveTheSameBitsHoweverTheyAreSplit) {
  for_each_rung([] {
    for (int64_t axis : {2, 3, 8, 29}) {
      const std::vector<float> x = random_floats(static_cast<size_t>(300 * axis));
      std::vector<float> whole(300), parts(300);
      const ReduceFn sum = reduce(ReduceOp::sum, Elem::f32);
      sum(x.data(), whole.data(), {300, axis, 1, 1});
      for (int64_t at = 0; at < 300; at += 7)
        sum(x.data() + at * axis, parts.data() + at, {std::min<int64_t>(7, 300 - at), axis, 1, 1});
      EXPECT_EQ(whole, parts);
    }
  });
}

TEST(Reduce, ArgExtreme) {
  const float x[] = {1, 3, 3, -1, -1, 2};
  const auto at = [&](bool largest, bool last) {
    int64_t y;
    arg_extreme(largest, last, Elem::f32)(x, &y, {1, 6, 1, 1});
    return y;
  };
  EXPECT_EQ(at(true, false), 1);
  EXPECT_EQ(at(true, true), 2);
  EXPECT_EQ(at(false, false), 3);
  EXPECT_EQ(at(false, true), 4);
  int64_t y[2];
  arg_extreme(true, false, Elem::f32)(x, y, {1, 3, 2, 2});  // columns {1, 3, -1} and {3, -1, 2}
  EXPECT_EQ(y[0], 1);
  EXPECT_EQ(y[1], 0);
  const float nan[] = {1, std::nanf(""), 5, std::nanf("")};
  arg_extreme(true, true, Elem::f32)(nan, y, {1, 4, 1, 1});
  EXPECT_EQ(y[0], 1);
  const uint16_t half[] = {f32_to_f16(-3), f32_to_f16(2), f32_to_f16(1)};
  arg_extreme(false, false, Elem::f16)(half, y, {1, 3, 1, 1});
  EXPECT_EQ(y[0], 0);
}

TEST(Reduce, ShapeOfReducedDimensions) {
  const int64_t dims[] = {2, 3, 1, 4, 5};
  ReduceShape s;
  const auto shape = [&](std::initializer_list<int> axes) {
    bool reduced[5] = {};
    for (int a : axes) reduced[a] = true;
    return reduce_shape(dims, reduced, 5, s);
  };
  ASSERT_TRUE(shape({1, 3}));
  EXPECT_EQ(s.outer, 2);
  EXPECT_EQ(s.axis, 12);
  EXPECT_EQ(s.inner, 5);
  EXPECT_FALSE(shape({0, 3}));
  ASSERT_TRUE(shape({0, 1, 2, 3, 4}));
  EXPECT_EQ(s.axis, 120);
  ASSERT_TRUE(shape({2}));
  EXPECT_EQ(s.outer * s.inner, 120);
  EXPECT_EQ(s.axis, 1);
}

}  // namespace
}  // namespace trunnion::kernels
