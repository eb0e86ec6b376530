#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

using U8 = std::vector<uint8_t>;
using I8 = std::vector<int8_t>;

TEST(QLinearMatMul, SpecExample) {
  const Tensor a = tensor<uint8_t>({2, 4}, {208, 236, 0, 238, 3, 214, 255, 29}),
               b = tensor<uint8_t>({4, 3}, {152, 51, 244, 60, 26, 255, 0, 127, 246, 127, 254, 247});
  OpRun r{.op = "QLinearMatMul",
          .inputs = {a, tensor<float>({1}, {0.0066f}), tensor<uint8_t>({1}, {113}), b, tensor<float>({1}, {0.00705f}),
                     tensor<uint8_t>({1}, {114}), tensor<float>({1}, {0.0107f}), tensor<uint8_t>({1}, {118})}};
  EXPECT_EQ(values<uint8_t>(output(r)), (U8{168, 115, 255, 1, 66, 151}));
  r.constant = {false, false, false, true};
  EXPECT_EQ(values<uint8_t>(output(r)), (U8{168, 115, 255, 1, 66, 151}));
}

TEST(QLinearMatMul, PerColumnAndPerRow) {
  const Tensor a = tensor<int8_t>({2, 2}, {1, 2, 3, 4}), b = tensor<int8_t>({2, 2}, {1, 2, 3, 4}),
               one = tensor<float>({}, {1}), zero = tensor<int8_t>({}, {0});
  EXPECT_EQ(values<int8_t>(output({.op = "QLinearMatMul",
                                   .inputs = {a, one, zero, b, tensor<float>({2}, {1, 2}), tensor<int8_t>({2}, {0, 1}),
                                              one, tensor<int8_t>({}, {5})}})),
            (I8{12, 19, 20, 35}));  // sums {7, 7}, {15, 15}
  EXPECT_EQ(values<int8_t>(output({.op = "QLinearMatMul",
                                   .inputs = {a, tensor<float>({2}, {1, 2}), zero, b, one, zero,
                                              tensor<float>({2}, {1, 4}), tensor<int8_t>({2}, {0, -1})}})),
            (I8{7, 10, 7, 10}));  // 15 * 2 / 4 - 1 = 6.5 -> 7.5 rounds to 8 - 1
}

TEST(QLinearMatMul, Float8) {
  const Tensor one = tensor<float>({}, {1}), zero = raw<uint8_t>(DType::f8e4m3fn, {}, {0});
  const auto y = output(
      {.op = "QLinearMatMul",
       .inputs = {raw<uint8_t>(DType::f8e4m3fn, {1, 2}, {0x38, 0x40}), one, zero,
                  raw<uint8_t>(DType::f8e4m3fn, {2, 1}, {0x38, 0x40}), one, zero, tensor<float>({}, {0.5f}), zero}});
  EXPECT_EQ(raw_values<uint8_t>(y), (U8{0x52}));  // (1 + 4) / 0.5 = 10
}

TEST(DynamicQuantizeLinear, RangeHoldsZero) {
  auto r = outputs(
      {.op = "DynamicQuantizeLinear", .inputs = {tensor<float>({6}, {0, 2, -3, -2.5f, 1.34f, 0.5f})}, .outputs = 3});
  EXPECT_EQ(values<uint8_t>(r[0]), (U8{153, 255, 0, 26, 221, 179}));
  EXPECT_FLOAT_EQ(values<float>(r[1])[0], 0.0196078438f);
  EXPECT_EQ(values<uint8_t>(r[2]), (U8{153}));
  r = outputs({.op = "DynamicQuantizeLinear",
               .inputs = {tensor<float>({6}, {-1, -2.1f, -1.3f, -2.5f, -3.34f, -4})},
               .outputs = 3});
  EXPECT_EQ(values<uint8_t>(r[0]), (U8{191, 121, 172, 96, 42, 0}));
  EXPECT_EQ(values<uint8_t>(r[2]), (U8{255}));
  r = outputs({.op = "DynamicQuantizeLinear", .inputs = {tensor<float>({2}, {0, 0})}, .outputs = 3});
  EXPECT_EQ(values<uint8_t>(r[0]), (U8{0, 0}));
  EXPECT_EQ(values<float>(r[1]), (Floats{1}));
  EXPECT_EQ(
      outputs({.op = "DynamicQuantizeLinear", .inputs = {tensor<float>({0}, {})}, .outputs = 3})[0].tensor().count(),
      0);
}

}  // namespace
}  // namespace trunnion::ops::test
