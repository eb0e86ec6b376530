#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

using Bytes = std::vector<uint8_t>;
using Signed = std::vector<int8_t>;

OpRun node(Tensor data, Tensor indices, Tensor scales, Value zeros, std::vector<ir::Attr> attrs) {
  return {.op = "GatherBlockQuantized",
          .opset = 1,
          .inputs = {data, indices, scales, std::move(zeros)},
          .attrs = std::move(attrs),
          .domain = "com.microsoft"};
}

TEST(GatherBlockQuantized, PackedBytes) {
  // Two rows of 32 codes in blocks of 16; row 1 counts up.
  Bytes data(32, 0x88);
  for (size_t i = 0; i < 16; ++i) data[16 + i] = static_cast<uint8_t>((2 * i % 16) | (2 * i + 1) % 16 << 4);
  auto r = node(tensor<uint8_t>({2, 16}, data), tensor<int64_t>({3}, {1, -2, 5}),
                tensor<float>({2, 2}, {1, 1, 0.5f, 2}), Tensor{}, {{"block_size", int64_t{16}}});
  const Floats y = values<float>(output(r));
  EXPECT_EQ(shape(output(r)), (Ints{3, 32}));
  for (int i = 0; i < 32; ++i) {
    EXPECT_EQ(y[static_cast<size_t>(i)], static_cast<float>(i % 16 - 8) * (i < 16 ? 0.5f : 2.0f)) << i;
    EXPECT_EQ(y[static_cast<size_t>(32 + i)], 0);
    EXPECT_EQ(y[static_cast<size_t>(64 + i)], 0);  // an index out of range
  }
  r.inputs[3] = tensor<uint8_t>({2, 1}, {0x88, 0x51});
  const Floats z = values<float>(output(r));
  EXPECT_EQ(z[0], -0.5f);
  EXPECT_EQ(z[16], -10.0f);
  r.inputs[2] = tensor<float>({2, 1}, {1, 1});
  EXPECT_NE(failure(r).find("scales"), std::string::npos);
}

TEST(GatherBlockQuantized, TwoAndEightBits) {
  const auto two = node(tensor<uint8_t>({1, 5}, {0xE4, 0xE4, 0xE4, 0xE4, 0x1B}), tensor<int64_t>({1}, {0}),
                        tensor<float>({1, 2}, {1, 2}), tensor<uint8_t>({1, 1}, {0x0D}),
                        {{"block_size", int64_t{16}}, {"bits", int64_t{2}}});
  const Floats y = values<float>(output(two));
  EXPECT_EQ(Floats(y.begin(), y.begin() + 4), (Floats{-1, 0, 1, 2}));
  EXPECT_EQ(Floats(y.begin() + 16, y.end()), (Floats{0, -2, -4, -6}));
  const auto eight =
      node(tensor<uint8_t>({2, 2}, {0, 0, 130, 120}), tensor<int64_t>({1}, {1}), tensor<float>({2, 1}, {1, 0.5f}),
           Tensor{}, {{"block_size", int64_t{16}}, {"bits", int64_t{8}}});
  EXPECT_EQ(values<float>(output(eight)), (Floats{1, -4}));
}

TEST(GatherBlockQuantized, FourBitTypesAndAxes) {
  // [2, 3] of int4: 1 -1 7 / -8 0 2, one block along axis 0, gathered along axis 1.
  const auto r = node(raw<uint8_t>(DType::i4, {2, 3}, {0xF1, 0x87, 0x20}), tensor<int32_t>({2}, {2, 0}),
                      tensor<float>({1, 3}, {1, 2, 3}), raw<uint8_t>(DType::i4, {1, 3}, {0x01, 0x02}),
                      {{"block_size", int64_t{16}}, {"gather_axis", int64_t{1}}, {"quantize_axis", int64_t{0}}});
  EXPECT_EQ(values<float>(output(r)), (Floats{15, 0, 0, -9}));
  EXPECT_EQ(shape(output(r)), (Ints{2, 2}));
}

TEST(GatherBlockQuantized, FloatCodes) {
  // f8e4m3fn: 1, 2, -1; one scale for all, in half precision.
  const auto r = node(raw<uint8_t>(DType::f8e4m3fn, {1, 3}, {0x38, 0x40, 0xB8}), tensor<int64_t>({}, {0}),
                      half({1, 1}, {0.5f}), Tensor{}, {{"block_size", int64_t{0}}});
  EXPECT_EQ(widened(output(r)), (Floats{0.5f, 1, -0.5f}));
  EXPECT_EQ(shape(output(r)), (Ints{3}));
}

}  // namespace
}  // namespace trunnion::ops::test
