#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

using U8 = std::vector<uint8_t>;
using I8 = std::vector<int8_t>;
using I16 = std::vector<int16_t>;
ir::Attr attr(const char* name, int64_t v) { return {name, v}; }

TEST(QuantizeLinear, PerTensorRoundsHalfToEvenAndSaturates) {
  const auto y = output({.op = "QuantizeLinear",
                         .inputs = {tensor<float>({7}, {1, 3, 5, -1, 1000, -1000, NAN}), tensor<float>({}, {2}),
                                    tensor<uint8_t>({}, {10})}});
  EXPECT_EQ(values<uint8_t>(y), (U8{10, 12, 12, 10, 255, 0, 10}));
  const auto z =
      output({.op = "QuantizeLinear", .inputs = {tensor<float>({3}, {1, 3, -300}), tensor<float>({}, {1}), Tensor{}}});
  EXPECT_EQ(values<uint8_t>(z), (U8{1, 3, 0}));
}

TEST(QuantizeLinear, PerAxis) {
  const OpRun base{.op = "QuantizeLinear",
                   .inputs = {tensor<float>({2, 3, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}),
                              tensor<float>({3}, {1, 2, 4}), tensor<int8_t>({3}, {0, 1, -1})}};
  EXPECT_EQ(values<int8_t>(output(base)), (I8{1, 2, 3, 3, 0, 1, 7, 8, 5, 6, 2, 2}));
  OpRun last = base;
  last.inputs[0] = tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  last.attrs = {attr("axis", -1)};
  EXPECT_EQ(values<int8_t>(output(last)), (I8{1, 2, 0, 4, 3, 1}));  // 2.5 rounds to 2
}

TEST(QuantizeLinear, Blocked) {
  // Along axis 1 in blocks of 2: 3 columns have 2 scales a row.
  const auto y = output({.op = "QuantizeLinear",
                         .inputs = {tensor<float>({2, 3}, {10, 20, 30, 40, 50, 60}),
                                    tensor<float>({2, 2}, {1, 2, 4, 5}), tensor<int16_t>({2, 2}, {0, 1, 2, 3})},
                         .attrs = {attr("block_size", 2)}});
  EXPECT_EQ(values<int16_t>(y), (I16{10, 20, 16, 12, 14, 15}));
  // Along axis 0: the scales change with every element.
  const auto z = output(
      {.op = "QuantizeLinear",
       .inputs = {tensor<float>({3, 2}, {10, 20, 30, 40, 50, 60}), tensor<float>({2, 2}, {1, 2, 5, 10}), Tensor{}},
       .attrs = {attr("axis", 0), attr("block_size", 2), attr("output_dtype", 4)}});
  EXPECT_EQ(values<uint16_t>(z), (std::vector<uint16_t>{10, 10, 30, 20, 10, 6}));
}

TEST(QuantizeLinear, PackedTypes) {
  const OpRun base{.op = "QuantizeLinear",
                   .opset = 25,
                   .inputs = {tensor<float>({5}, {-9, 2, 3.5f, 100, 1}), tensor<float>({}, {1}),
                              raw<uint8_t>(DType::i4, {}, {0x01})}};
  EXPECT_EQ(raw_values<uint8_t>(output(base)), (U8{0x38, 0x75, 0x02}));
  OpRun two = base;
  two.inputs[2] = raw<uint8_t>(DType::u2, {}, {0x01});
  EXPECT_EQ(raw_values<uint8_t>(output(two)), (U8{0b11111100, 0b10}));
  // Per axis with an odd number of elements in a row: rows share bytes.
  const auto y = output({.op = "QuantizeLinear",
                         .inputs = {tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6}), tensor<float>({2}, {1, 2}),
                                    raw<uint8_t>(DType::u4, {2}, {0x10})},
                         .attrs = {attr("axis", 0)}});
  EXPECT_EQ(raw_values<uint8_t>(y), (U8{0x21, 0x33, 0x43}));  // 1 2 3 | 4/2+1, 5/2 -> 2+1, 6/2+1
}

TEST(QuantizeLinear, SmallFloats) {
  OpRun r{
      .op = "QuantizeLinear",
      .opset = 24,
      .inputs = {tensor<float>({3}, {2, 1e6f, -3}), tensor<float>({}, {2}), raw<uint8_t>(DType::f8e4m3fn, {}, {0})}};
  EXPECT_EQ(raw_values<uint8_t>(output(r)), (U8{0x38, 0x7e, 0xbc}));
  r.attrs = {attr("saturate", 0)};
  EXPECT_EQ(raw_values<uint8_t>(output(r)), (U8{0x38, 0x7f, 0xbc}));
  r.attrs = {attr("output_dtype", 23)};
  r.inputs[2] = Tensor{};
  EXPECT_EQ(raw_values<uint8_t>(output(r)), (U8{0x72, 0x0b}));  // 1, 6 (the largest), -1.5
}

TEST(QuantizeLinear, HalfAndInteger) {
  const auto y =
      output({.op = "QuantizeLinear", .inputs = {half({3}, {3, -5, 7}), half({}, {2}), tensor<int8_t>({}, {1})}});
  EXPECT_EQ(values<int8_t>(y), (I8{3, -1, 5}));
  const auto z =
      output({.op = "QuantizeLinear",
              .opset = 13,
              .inputs = {tensor<int32_t>({3}, {5, -6, 1 << 30}), tensor<float>({1}, {2}), tensor<uint8_t>({1}, {9})}});
  EXPECT_EQ(values<uint8_t>(z), (U8{11, 6, 255}));
}

TEST(QuantizeLinear, RefusesWhatDoesNotFit) {
  const Tensor x = tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_NE(failure({.op = "QuantizeLinear", .inputs = {x, tensor<float>({2}, {1, 2})}}).find("must have shape {3}"),
            std::string::npos);
  EXPECT_NE(failure({.op = "QuantizeLinear", .inputs = {x, tensor<float>({3}, {1, 2, 3})}, .attrs = {attr("axis", 2)}})
                .find("axis 2"),
            std::string::npos);
  EXPECT_NE(failure({.op = "QuantizeLinear", .opset = 10, .inputs = {x, tensor<float>({3}, {1, 2, 3})}}).find("scalar"),
            std::string::npos);
  EXPECT_EQ(output({.op = "QuantizeLinear", .inputs = {tensor<float>({0, 3}, {}), tensor<float>({3}, {1, 2, 3})}})
                .tensor()
                .count(),
            0);
}

}  // namespace
}  // namespace trunnion::ops::test
