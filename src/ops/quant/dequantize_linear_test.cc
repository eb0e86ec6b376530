#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

ir::Attr attr(const char* name, int64_t v) { return {name, v}; }

TEST(DequantizeLinear, PerTensorAndPerAxis) {
  EXPECT_EQ(values<float>(output({.op = "DequantizeLinear",
                                  .inputs = {tensor<uint8_t>({3}, {0, 128, 255}), tensor<float>({}, {0.5f}),
                                             tensor<uint8_t>({}, {128})}})),
            (Floats{-64, 0, 63.5f}));
  EXPECT_EQ(values<float>(output({.op = "DequantizeLinear",
                                  .opset = 10,
                                  .inputs = {tensor<int32_t>({2}, {-7, 1 << 20}), tensor<float>({}, {2})}})),
            (Floats{-14, 2097152}));
  const auto y = output({.op = "DequantizeLinear",
                         .inputs = {tensor<int8_t>({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}), tensor<float>({2}, {1, 10}),
                                    tensor<int8_t>({2}, {1, -1})}});
  EXPECT_EQ(values<float>(y), (Floats{0, 1, 40, 50, 4, 5, 80, 90}));
  const auto z = output({.op = "DequantizeLinear",
                         .inputs = {tensor<int16_t>({2, 2}, {1, 2, -300, 4}), tensor<float>({2}, {1, 10})},
                         .attrs = {attr("axis", -1)}});
  EXPECT_EQ(values<float>(z), (Floats{1, 20, -300, 40}));
}

TEST(DequantizeLinear, Blocked) {
  const auto y = output({.op = "DequantizeLinear",
                         .inputs = {tensor<uint16_t>({3, 2}, {1, 2, 3, 4, 5, 6}), tensor<float>({2, 2}, {1, 2, 3, 4}),
                                    tensor<uint16_t>({2, 2}, {0, 1, 2, 3})},
                         .attrs = {attr("axis", 0), attr("block_size", 2)}});
  EXPECT_EQ(values<float>(y), (Floats{1, 2, 3, 6, 9, 12}));
  const auto z = output({.op = "DequantizeLinear",
                         .inputs = {raw<uint8_t>(DType::i4, {1, 5}, {0x21, 0x43, 0x0f}), half({1, 3}, {1, 2, 4})},
                         .attrs = {attr("axis", 1), attr("block_size", 2)}});
  EXPECT_EQ(z.tensor().dtype(), DType::f16);
  EXPECT_EQ(widened(z), (Floats{1, 2, 6, 8, -4}));
}

TEST(DequantizeLinear, SmallTypes) {
  EXPECT_EQ(values<float>(output({.op = "DequantizeLinear",
                                  .opset = 23,
                                  .inputs = {raw<uint8_t>(DType::f8e4m3fn, {2}, {0x38, 0xbc}), half({}, {2})},
                                  .attrs = {attr("output_dtype", 1)}})),
            (Floats{2, -3}));
  EXPECT_EQ(values<float>(output({.op = "DequantizeLinear",
                                  .opset = 23,
                                  .inputs = {raw<uint8_t>(DType::f4e2m1, {3}, {0x72, 0x0b}), tensor<float>({}, {2})}})),
            (Floats{2, 12, -3}));
  EXPECT_EQ(values<float>(output({.op = "DequantizeLinear",
                                  .opset = 25,
                                  .inputs = {raw<uint8_t>(DType::i2, {5}, {0b01001110, 0b11}), tensor<float>({}, {3}),
                                             raw<uint8_t>(DType::i2, {}, {1})}})),
            (Floats{-9, -6, -3, 0, -6}));
  // A power-of-two scale; the output is float.
  EXPECT_EQ(values<float>(output({.op = "DequantizeLinear",
                                  .opset = 24,
                                  .inputs = {tensor<int8_t>({2}, {3, -4}), raw<uint8_t>(DType::f8e8m0, {}, {128})}})),
            (Floats{6, -8}));
}

TEST(DequantizeLinear, LongPackedRows) {
  // More than one chunk, rows of odd length.
  const int64_t rows = 701, cols = 3;
  std::vector<uint8_t> packed(static_cast<size_t>((rows * cols + 1) / 2));
  std::vector<float> scale(static_cast<size_t>(rows)), want;
  for (int64_t r = 0; r < rows; ++r) {
    scale[static_cast<size_t>(r)] = static_cast<float>(r % 7 + 1);
    for (int64_t c = 0; c < cols; ++c) {
      const int64_t i = r * cols + c, v = i % 16;
      packed[static_cast<size_t>(i / 2)] |= static_cast<uint8_t>(v << (i % 2 * 4));
      want.push_back(static_cast<float>(v) * scale[static_cast<size_t>(r)]);
    }
  }
  const auto y = output({.op = "DequantizeLinear",
                         .inputs = {raw(DType::u4, {rows, cols}, packed), tensor<float>({rows}, scale)},
                         .attrs = {attr("axis", 0)}});
  EXPECT_EQ(values<float>(y), want);
}

TEST(DequantizeLinear, InfersTypes) {
  EXPECT_EQ(inferred({.op = "DequantizeLinear"}, {fact({symbol("N"), Dim(3)}, DType::u8), fact({}, DType::f16)}),
            "{N,3}");
  EXPECT_NE(inferred({.op = "DequantizeLinear"}, {fact({Dim(2), Dim(3)}, DType::u8), fact({Dim(4)})})
                .find("must have shape {3}"),
            std::string::npos);
  EXPECT_NE(inferred({.op = "DequantizeLinear"},
                     {fact({Dim(2), Dim(3)}, DType::u8), fact({Dim(3)}), fact({Dim(2)}, DType::u8)})
                .find("must agree"),
            std::string::npos);
}

}  // namespace
}  // namespace trunnion::ops::test
