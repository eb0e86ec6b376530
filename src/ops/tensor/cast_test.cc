#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

ir::Attr to(DType t) { return {"to", static_cast<int64_t>(t)}; }

TEST(Cast, Numbers) {
  const Tensor x = tensor<float>({4}, {-1.7f, 0, 2.5f, 300});
  EXPECT_EQ(values<int32_t>(output({.op = "Cast", .inputs = {x}, .attrs = {to(DType::i32)}})),
            (std::vector<int32_t>{-1, 0, 2, 300}));
  EXPECT_EQ(values<bool>(output({.op = "Cast", .inputs = {x}, .attrs = {to(DType::boolean)}})),
            (std::vector<bool>{true, false, true, true}));
  EXPECT_EQ(widened(output({.op = "Cast", .inputs = {x}, .attrs = {to(DType::bf16)}})),
            (Floats{-1.703125f, 0, 2.5f, 300}));
  EXPECT_EQ(values<int8_t>(output({.op = "Cast", .inputs = {tensor<int16_t>({1}, {200})}, .attrs = {to(DType::i8)}})),
            (std::vector<int8_t>{-56}));
  EXPECT_EQ(
      values<double>(output({.op = "Cast", .opset = 1, .inputs = {x}, .attrs = {{"to", std::string("DOUBLE")}}}))[2],
      2.5);
  EXPECT_EQ(shape(output({.op = "Cast", .inputs = {tensor<float>({0}, {})}, .attrs = {to(DType::i64)}})), (Ints{0}));
}

TEST(Cast, PackedAndEightBit) {
  const Tensor x = tensor<float>({3}, {1, -2, 7});
  EXPECT_EQ(raw_values<uint8_t>(output({.op = "Cast", .opset = 25, .inputs = {x}, .attrs = {to(DType::i4)}})),
            (std::vector<uint8_t>{0xe1, 0x07}));
  EXPECT_EQ(values<float>(output({.op = "Cast",
                                  .opset = 25,
                                  .inputs = {raw<uint8_t>(DType::i4, {3}, {0xe1, 0x07})},
                                  .attrs = {to(DType::f32)}})),
            (Floats{1, -2, 7}));
  const Tensor big = tensor<float>({2}, {1e6f, 1});
  EXPECT_EQ(raw_values<uint8_t>(output({.op = "Cast", .opset = 25, .inputs = {big}, .attrs = {to(DType::f8e4m3fn)}})),
            (std::vector<uint8_t>{0x7e, 0x38}));
  EXPECT_EQ(
      raw_values<uint8_t>(output(
          {.op = "Cast", .opset = 25, .inputs = {big}, .attrs = {to(DType::f8e4m3fn), {"saturate", int64_t{0}}}})),
      (std::vector<uint8_t>{0x7f, 0x38}));
}

// Longer than one piece of the loop, with a tail that is no multiple of 8.
TEST(Cast, PackedRoundTrip) {
  std::vector<int32_t> v(8 * 3000 + 5);
  for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<int32_t>(i % 4) - 2;
  const Value packed = output({.op = "Cast",
                               .opset = 25,
                               .inputs = {tensor<int32_t>({static_cast<int64_t>(v.size())}, v)},
                               .attrs = {to(DType::i2)}});
  EXPECT_EQ(values<int32_t>(output({.op = "Cast", .opset = 25, .inputs = {packed}, .attrs = {to(DType::i32)}})), v);
}

TEST(Cast, TextToNumbers) {
  const Tensor s = strings({9}, {"3.5", " -2e3 ", "+INF", "-inf", "NaN", "1e400", "0x10", "+7", "1e-50"});
  const auto y = values<float>(output({.op = "Cast", .inputs = {s}, .attrs = {to(DType::f32)}}));
  EXPECT_EQ(y[0], 3.5f);
  EXPECT_EQ(y[1], -2000);
  EXPECT_EQ(y[2], INFINITY);
  EXPECT_EQ(y[3], -INFINITY);
  EXPECT_TRUE(std::isnan(y[4]));
  EXPECT_EQ(y[5], INFINITY);
  EXPECT_EQ(y[6], 16);
  EXPECT_EQ(y[7], 7);
  EXPECT_EQ(y[8], 0);
  EXPECT_EQ(values<int64_t>(output({.op = "Cast",
                                    .inputs = {strings({3}, {"9223372036854775807", "100.5", "1e3"})},
                                    .attrs = {to(DType::i64)}})),
            (Ints{INT64_MAX, 100, 1000}));
  EXPECT_EQ(values<int8_t>(output({.op = "Cast", .inputs = {strings({1}, {"300"})}, .attrs = {to(DType::i8)}})),
            (std::vector<int8_t>{44}));
  EXPECT_EQ(values<bool>(output({.op = "Cast", .inputs = {strings({2}, {"1", "0"})}, .attrs = {to(DType::boolean)}})),
            (std::vector<bool>{true, false}));
  EXPECT_EQ(widened(output({.op = "Cast", .inputs = {strings({1}, {"0.1"})}, .attrs = {to(DType::f16)}})),
            (Floats{0.099975586f}));
  EXPECT_NE(failure({.op = "Cast", .inputs = {strings({1}, {"abc"})}, .attrs = {to(DType::f32)}}).find("'abc'"),
            std::string::npos);
  failure({.op = "Cast", .inputs = {strings({1}, {""})}, .attrs = {to(DType::i32)}});
}

TEST(Cast, NumbersToText) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(texts(output({.op = "Cast",
                          .inputs = {tensor<float>({6}, {1, 0.1f, 1.f / 3, NAN, INFINITY, -INFINITY})},
                          .attrs = {to(DType::string)}})),
            (Texts{"1", "0.1", "0.33333334", "NaN", "INF", "-INF"}));
  EXPECT_EQ(
      texts(output({.op = "Cast", .inputs = {tensor<int64_t>({2}, {-5, INT64_MAX})}, .attrs = {to(DType::string)}})),
      (Texts{"-5", "9223372036854775807"}));
  EXPECT_EQ(texts(output({.op = "Cast", .inputs = {tensor<bool>({2}, {true, false})}, .attrs = {to(DType::string)}})),
            (Texts{"1", "0"}));
  EXPECT_EQ(texts(output({.op = "Cast", .inputs = {strings({1}, {"x"})}, .attrs = {to(DType::string)}})), (Texts{"x"}));
}

TEST(Cast, InferAndRefuse) {
  EXPECT_EQ(content({.op = "Cast", .attrs = {to(DType::i32)}}, {content_fact({symbol("N"), 3})}), "{N,3}");
  EXPECT_EQ(content({.op = "Cast", .attrs = {to(DType::f32)}}, {content_fact({3})}), "none");
  EXPECT_NE(failure({.op = "Cast", .inputs = {tensor<float>({1}, {1})}, .attrs = {{"to", int64_t{99}}}}).find("99"),
            std::string::npos);
  EXPECT_EQ(
      values<int32_t>(output({.op = "CastLike", .inputs = {tensor<float>({1}, {2.5f}), tensor<int32_t>({0}, {})}})),
      (std::vector<int32_t>{2}));
  EXPECT_EQ(values<int32_t>(
                output({.op = "BitCast", .opset = 26, .inputs = {tensor<float>({1}, {1})}, .attrs = {to(DType::i32)}})),
            (std::vector<int32_t>{0x3f800000}));
  failure({.op = "BitCast", .opset = 26, .inputs = {tensor<float>({1}, {1})}, .attrs = {to(DType::i64)}});
}

}  // namespace
}  // namespace trunnion::ops::test
