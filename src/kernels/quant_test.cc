#include "kernels/quant.h"

#include "kernels/rung_test.h"

namespace trunnion::kernels {
namespace {

template <class T>
void check_type(Elem type) {
  const int32_t low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  for (int32_t zero : {0, 3, low, high}) {
    for (size_t n : {0, 1, 7, 16, 33, 100}) {
      const float scale = 0.37f;
      const std::vector<float> x = random_floats(n, -60, 60);
      std::vector<T> q(n + 1, T{42});
      quantize(type)(x.data(), q.data(), n, scale, zero);
      for (size_t i = 0; i < n; ++i) {
        const double exact = std::fmin(high, std::fmax(low, std::nearbyint(x[i] / scale) + zero));
        ASSERT_EQ(q[i], static_cast<T>(exact)) << x[i];
      }
      EXPECT_EQ(q[n], T{42});
      std::vector<float> back(n);
      dequantize(type)(q.data(), back.data(), n, scale, zero);
      for (size_t i = 0; i < n; ++i) ASSERT_EQ(back[i], static_cast<float>(q[i] - zero) * scale);
      std::vector<float> scales(n, scale), each(n);
      std::vector<int32_t> zeros(n, zero);
      std::vector<T> q_each(n);
      quantize_vector(x.data(), q_each.data(), n, scales.data(), zeros.data(), type);
      EXPECT_TRUE(std::equal(q_each.begin(), q_each.end(), q.begin()));
      dequantize_vector(q.data(), each.data(), n, scales.data(), zeros.data(), type);
      EXPECT_EQ(each, back);
    }
  }
  const float inf = std::numeric_limits<float>::infinity(), special[] = {inf, -inf, std::nanf(""), 0.5f, 1.5f, -2.5f};
  T q[6];
  quantize(type)(special, q, 6, 1.0f, 1);
  EXPECT_EQ(q[0], high);
  EXPECT_EQ(q[1], low);
  EXPECT_EQ(q[2], 1);
  EXPECT_EQ(q[3], 1);
  EXPECT_EQ(q[4], 3);
  EXPECT_EQ(q[5], std::max<int32_t>(low, -1));
}

TEST(Quant, AllTypesOnEveryRung) {
  for_each_rung([] {
    check_type<uint8_t>(Elem::u8);
    check_type<int8_t>(Elem::i8);
    check_type<uint16_t>(Elem::u16);
    check_type<int16_t>(Elem::i16);
    std::vector<int32_t> x(37);
    std::vector<float> y(37);
    for (int i = 0; i < 37; ++i) x[static_cast<size_t>(i)] = i * 1000 - 5;
    dequantize(Elem::i32)(x.data(), y.data(), 37, 0.5f, 0);
    for (size_t i = 0; i < 37; ++i) EXPECT_EQ(y[i], static_cast<float>(x[i]) * 0.5f);
  });
}

TEST(Quant, PackedTypes) {
  std::vector<float> x(300);
  for (size_t i = 0; i < 300; ++i) x[i] = static_cast<float>(i % 24) - 10;
  std::vector<uint8_t> packed(150);
  std::vector<float> back(300);
  const auto check = [&](Elem type, int low, int high, int zero) {
    quantize(type)(x.data(), packed.data(), 300, 1.0f, zero);
    dequantize(type)(packed.data(), back.data(), 300, 1.0f, zero);
    for (size_t i = 0; i < 300; ++i) {
      ASSERT_EQ(back[i], std::fmin(float(high - zero), std::fmax(float(low - zero), x[i]))) << int(type);
    }
  };
  check(Elem::u4, 0, 15, 4);
  check(Elem::i4, -8, 7, -1);
  check(Elem::u2, 0, 3, 1);
  check(Elem::i2, -2, 1, 0);
  EXPECT_EQ(quantize(Elem::i32), nullptr);
  EXPECT_EQ(dequantize(Elem::f16), nullptr);
}

TEST(Quant, DynamicRange) {
  for_each_rung([] {
    std::vector<float> x = random_floats(83, -1, 3);
    x[40] = -2;
    x[82] = 5;
    x[7] = std::nanf("");
    float low, high, scale;
    uint8_t zero;
    min_max(x.data(), x.size(), &low, &high);
    EXPECT_EQ(low, -2);
    EXPECT_EQ(high, 5);
    dynamic_quantize_params(low, high, &scale, &zero);
    EXPECT_EQ(scale, 7.0f / 255.0f);
    EXPECT_EQ(zero, 73);
    dynamic_quantize_params(1, 3, &scale, &zero);
    EXPECT_EQ(scale, 3.0f / 255.0f);
    EXPECT_EQ(zero, 0);
    dynamic_quantize_params(-3, -1, &scale, &zero);
    EXPECT_EQ(zero, 255);
    dynamic_quantize_params(0, 0, &scale, &zero);
    EXPECT_EQ(scale, 1);
    EXPECT_EQ(zero, 0);
    min_max(nullptr, 0, &low, &high);
    EXPECT_EQ(low, std::numeric_limits<float>::infinity());
  });
}

}  // namespace
}  // namespace trunnion::kernels
