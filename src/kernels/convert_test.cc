#include "kernels/convert.h"

#include "kernels/rung_test.h"

namespace trunnion::kernels {
namespace {

const float kInf = std::numeric_limits<float>::infinity();

TEST(Convert, EveryF16ValueRoundTrips) {
  for_each_rung([] {
    std::vector<uint16_t> all(65536), back(65536);
    std::vector<float> f(65536);
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
    f16_to_f32(all.data(), f.data(), f.size());
    f32_to_f16(f.data(), back.data(), f.size());
    for (size_t i = 0; i < all.size(); ++i) {
      if (std::isnan(f[i])) {
        EXPECT_TRUE((i & 0x7fff) > 0x7c00 && (back[i] & 0x7fff) > 0x7c00);
        continue;
      }
      ASSERT_EQ(back[i], all[i]);
      const int exponent = static_cast<int>(i >> 10 & 31), fraction = static_cast<int>(i & 1023);
      double exact = exponent == 31 ? double(kInf)
                     : exponent     ? std::ldexp(1024 + fraction, exponent - 25)
                                    : std::ldexp(fraction, -24);
      if (i & 0x8000) exact = -exact;
      ASSERT_EQ(f[i], exact);
    }
  });
}

TEST(Convert, HalfRoundsToNearestEvenAlikeOnEveryRung) {
  std::vector<float> x = awkward_floats(20000);
  for (float f : {65519.0f, 65520.0f, 65536.0f, 0x1p-25f, 0x1.8p-25f, 0x1.000001p-25f, 0x1p-24f, 1.00048828125f,
                  1.00146484375f, 0x1.ffcp-15f, 0x1.ffep-15f}) {
    x.push_back(f);
    x.push_back(-f);
  }
  std::vector<uint16_t> f16(x.size()), bf16(x.size());
  for_each_rung([&] {
    f32_to_f16(x.data(), f16.data(), x.size());
    f32_to_bf16(x.data(), bf16.data(), x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(f16[i], f32_to_f16(x[i])) << x[i];
      ASSERT_EQ(bf16[i], f32_to_bf16(x[i])) << x[i];
    }
  });
  EXPECT_EQ(f32_to_f16(65519.0f), 0x7bff);
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7c00);
  EXPECT_EQ(f32_to_f16(0x1p-25f), 0);  // half way to the smallest: even is 0
  EXPECT_EQ(f32_to_f16(0x1.000002p-25f), 1);
  EXPECT_EQ(f32_to_f16(1.00048828125f), 0x3c00);  // 1 + 2^-11, a tie
  EXPECT_EQ(f32_to_bf16(1.00390625f), 0x3f80);    // 1 + 2^-8, a tie
  EXPECT_EQ(f32_to_bf16(1.01171875f), 0x3f82);    // 1 + 3 2^-8, a tie
  EXPECT_EQ(f32_to_bf16(std::numeric_limits<float>::max()), 0x7f80);
}

template <class From, class To>
std::vector<To> run(Elem from, Elem to, std::vector<From> x, ConvertParams params = {}) {
  std::vector<To> y(x.size());
  convert(from, to)(x.data(), y.data(), x.size(), params);
  return y;
}

TEST(Convert, FloatToIntegerTruncatesAndNeverTraps) {
  const float nan = std::nanf("");
  const std::vector<float> x = {-1.5f, 300.7f, 70000, 3e9f, -3e9f, nan, kInf, -0.9f, 2.9f};
  EXPECT_EQ((run<float, uint8_t>(Elem::f32, Elem::u8, x)), (std::vector<uint8_t>{255, 44, 112, 0, 0, 0, 0, 0, 2}));
  EXPECT_EQ((run<float, int16_t>(Elem::f32, Elem::i16, x)), (std::vector<int16_t>{-1, 300, 4464, 0, 0, 0, 0, 0, 2}));
  EXPECT_EQ((run<float, int32_t>(Elem::f32, Elem::i32, x)),
            (std::vector<int32_t>{-1, 300, 70000, INT32_MIN, INT32_MIN, INT32_MIN, INT32_MIN, 0, 2}));
  EXPECT_EQ((run<float, uint32_t>(Elem::f32, Elem::u32, x)),
            (std::vector<uint32_t>{4294967295u, 300, 70000, 3000000000u, 1294967296u, 0, 0, 0, 2}));
  EXPECT_EQ((run<double, int64_t>(Elem::f64, Elem::i64, {-1e30, 1e18, 0x1p63, -0x1p63})),
            (std::vector<int64_t>{INT64_MIN, 1000000000000000000, INT64_MIN, INT64_MIN}));
  EXPECT_EQ((run<double, uint64_t>(Elem::f64, Elem::u64, {1e19, 0x1p64, -1})),
            (std::vector<uint64_t>{10000000000000000000u, uint64_t{1} << 63, ~uint64_t{0}}));
  EXPECT_EQ((run<float, uint8_t>(Elem::f32, Elem::boolean, {0, -0.0f, 0.25f, nan})),
            (std::vector<uint8_t>{0, 0, 1, 1}));
}

TEST(Convert, IntegersAndBooleans) {
  EXPECT_EQ((run<int32_t, int8_t>(Elem::i32, Elem::i8, {300, -129, 5})), (std::vector<int8_t>{44, 127, 5}));
  EXPECT_EQ((run<int64_t, float>(Elem::i64, Elem::f32, {16777217, -3})), (std::vector<float>{16777216, -3}));
  EXPECT_EQ((run<uint64_t, double>(Elem::u64, Elem::f64, {~uint64_t{0}})), (std::vector<double>{0x1p64}));
  EXPECT_EQ((run<int16_t, uint8_t>(Elem::i16, Elem::boolean, {256, 0, -1})), (std::vector<uint8_t>{1, 0, 1}));
  EXPECT_EQ((run<uint8_t, int64_t>(Elem::boolean, Elem::i64, {1, 0})), (std::vector<int64_t>{1, 0}));
  EXPECT_EQ((run<uint8_t, uint16_t>(Elem::boolean, Elem::f16, {1, 0})), (std::vector<uint16_t>{0x3c00, 0}));
}

TEST(Convert, EveryNumericPairExists) {
  const auto numeric = [](int e) {
    return elem_bits(static_cast<Elem>(e)) > 0 && e != int(Elem::c64) && e != int(Elem::c128);
  };
  for (int from = 0; from < kElemCodes; ++from) {
    for (int to = 0; to < kElemCodes; ++to) {
      const ConvertFn fn = convert(static_cast<Elem>(from), static_cast<Elem>(to));
      ASSERT_EQ(fn != nullptr, numeric(from) && numeric(to)) << from << " " << to;
      if (!fn) continue;
      // 1 stays 1 everywhere; 300 of them, more than one block.
      std::vector<float> ones(300, 1.0f), back(300);
      std::vector<uint64_t> a(300), b(300);
      convert(Elem::f32, static_cast<Elem>(from))(ones.data(), a.data(), 300, {});
      fn(a.data(), b.data(), 300, {});
      convert(static_cast<Elem>(to), Elem::f32)(b.data(), back.data(), 300, {});
      for (float v : back) ASSERT_EQ(v, 1.0f) << from << " " << to;
    }
  }
  EXPECT_EQ(convert(Elem::string, Elem::f32), nullptr);
  EXPECT_EQ(convert(static_cast<Elem>(99), Elem::f32), nullptr);
}

TEST(Convert, WideToNarrowRoundsOnce) {
  // Just above the tie 1 + 2^-11 of f16, by less than f32 can tell.
  EXPECT_EQ((run<double, uint16_t>(Elem::f64, Elem::f16, {1.00048828125 + 0x1p-40, 1.00048828125, 1e300, -1e-300})),
            (std::vector<uint16_t>{0x3c01, 0x3c00, 0x7c00, 0x8000}));
  EXPECT_EQ((run<int32_t, uint16_t>(Elem::i32, Elem::bf16, {(1 << 30) + (1 << 22) + 1, (1 << 30) + (1 << 22)})),
            (std::vector<uint16_t>{0x4e81, 0x4e80}));
}

TEST(Convert, SmallFloats) {
  const float nan = std::nanf("");
  const std::vector<float> x = {0.25f, 0.75f, -0.2f, 5,    5.1f,  448, 464,  465,
                                57344, 61439, 61441, 1e9f, -0.0f, nan, kInf, -kInf};
  const auto codes = [&](Elem type, bool saturate) {
    std::vector<int> y;
    for (float v : x) y.push_back(f32_to_small_float(v, type, {saturate}));
    return y;
  };
  EXPECT_EQ(codes(Elem::f8e4m3fn, false),
            (std::vector<int>{40, 52, 165, 74, 74, 126, 126, 127, 127, 127, 127, 127, 128, 127, 127, 255}));
  EXPECT_EQ(codes(Elem::f8e4m3fn, true),
            (std::vector<int>{40, 52, 165, 74, 74, 126, 126, 126, 126, 126, 126, 126, 128, 127, 126, 254}));
  EXPECT_EQ(codes(Elem::f8e4m3fnuz, false)[5], 128);
  EXPECT_EQ(codes(Elem::f8e4m3fnuz, true)[5], 127);
  EXPECT_EQ(codes(Elem::f8e4m3fnuz, false)[12], 0);
  EXPECT_EQ(codes(Elem::f8e5m2, false),
            (std::vector<int>{52, 58, 178, 69, 69, 95, 95, 95, 123, 123, 124, 124, 128, 126, 124, 252}));
  EXPECT_EQ(codes(Elem::f8e5m2, true)[11], 123);
  EXPECT_EQ(codes(Elem::f8e5m2, true)[15], 251);
  EXPECT_EQ(codes(Elem::f8e5m2fnuz, false)[8], 127);
  EXPECT_EQ(codes(Elem::f8e5m2fnuz, false)[11], 128);
  EXPECT_EQ(codes(Elem::f8e5m2fnuz, false)[13], 128);
  EXPECT_EQ(codes(Elem::f4e2m1, true), (std::vector<int>{0, 2, 8, 6, 7, 7, 7, 7, 7, 7, 7, 7, 8, 8, 7, 15}));
  // Every code that is a number comes back.
  for (Elem type : {Elem::f8e4m3fn, Elem::f8e4m3fnuz, Elem::f8e5m2, Elem::f8e5m2fnuz, Elem::f4e2m1}) {
    for (int code = 0; code < (type == Elem::f4e2m1 ? 16 : 256); ++code) {
      const float f = small_float_to_f32(static_cast<uint8_t>(code), type);
      if (!std::isnan(f)) {
        ASSERT_EQ(f32_to_small_float(f, type, {false}), code) << int(type);
      }
    }
  }
  EXPECT_EQ(small_float_to_f32(0x7e, Elem::f8e4m3fn), 448);
  EXPECT_EQ(small_float_to_f32(0x7f, Elem::f8e4m3fnuz), 240);
  EXPECT_EQ(small_float_to_f32(0x7b, Elem::f8e5m2), 57344);
  EXPECT_EQ(small_float_to_f32(0x01, Elem::f8e5m2), 0x1p-16f);
  EXPECT_EQ(small_float_to_f32(0x7f, Elem::f8e5m2fnuz), 57344);
  EXPECT_EQ(small_float_to_f32(0x0f, Elem::f4e2m1), -6);
}

TEST(Convert, E8m0) {
  using Round = ConvertParams::E8m0Round;
  const auto code = [](float x, Round round) { return int(f32_to_small_float(x, Elem::f8e8m0, {true, round})); };
  EXPECT_EQ(code(1, Round::up), 127);
  EXPECT_EQ(code(1.25f, Round::up), 128);
  EXPECT_EQ(code(1.25f, Round::down), 127);
  EXPECT_EQ(code(1.25f, Round::nearest), 127);
  EXPECT_EQ(code(1.5f, Round::nearest), 128);
  EXPECT_EQ(code(-2, Round::up), 128);
  EXPECT_EQ(code(std::numeric_limits<float>::max(), Round::up), 254);
  EXPECT_EQ(code(kInf, Round::up), 255);
  EXPECT_EQ(small_float_to_f32(0, Elem::f8e8m0), 0x1p-127f);
  EXPECT_EQ(small_float_to_f32(254, Elem::f8e8m0), 0x1p127f);
  EXPECT_TRUE(std::isnan(small_float_to_f32(255, Elem::f8e8m0)));
}

TEST(Convert, PackedIntegers) {
  const std::vector<float> x = {-9, -8.6f, -1.7f, 7.9f, 8, 15.9f, 17};
  uint8_t packed[4];
  convert(Elem::f32, Elem::u4)(x.data(), packed, 7, {});
  EXPECT_EQ(std::vector<int>(packed, packed + 4), (std::vector<int>{0x87, 0x7f, 0xf8, 0x01}));
  int8_t wide[7];
  convert(Elem::i4, Elem::i8)(packed, wide, 7, {});
  EXPECT_EQ(std::vector<int>(wide, wide + 7), (std::vector<int>{7, -8, -1, 7, -8, -1, 1}));
  convert(Elem::f32, Elem::i2)(x.data(), packed, 7, {});
  float back[7];
  convert(Elem::i2, Elem::f32)(packed, back, 7, {});
  EXPECT_EQ(std::vector<float>(back, back + 7), (std::vector<float>{-1, 0, -1, -1, 0, -1, 1}));
  convert(Elem::f32, Elem::f4e2m1)(x.data(), packed, 7, {});
  convert(Elem::f4e2m1, Elem::f32)(packed, back, 7, {});
  EXPECT_EQ(std::vector<float>(back, back + 7), (std::vector<float>{-6, -6, -1.5f, 6, 6, 6, 6}));
}

}  // namespace
}  // namespace trunnion::kernels
