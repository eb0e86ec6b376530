#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

using Bytes = std::vector<uint8_t>;
using Signed = std::vector<int8_t>;

TEST(MatMulIntegerToFloat, ScalesZerosAndBias) {
  OpRun r{.op = "MatMulIntegerToFloat",
          .opset = 1,
          .inputs = {tensor<uint8_t>({1, 2, 2}, {2, 3, 4, 5}), tensor<int8_t>({2, 2}, {1, -1, 2, 0}),
                     tensor<float>({}, {0.5f}), tensor<float>({2}, {1.0f, 2.0f}), tensor<uint8_t>({1}, {1}),
                     tensor<int8_t>({2}, {0, 1}), tensor<float>({2}, {100, 200})},
          .domain = "com.microsoft"};
  EXPECT_EQ(values<float>(output(r)), (Floats{102.5f, 196, 105.5f, 190}));
  EXPECT_EQ(shape(output(r)), (Ints{1, 2, 2}));
  r.constant = {false, true, true, true};
  EXPECT_EQ(values<float>(output(r)), (Floats{102.5f, 196, 105.5f, 190}));
  r.inputs.resize(4);
  EXPECT_EQ(values<float>(output(r)), (Floats{4, -2, 7, -4}));
  r.inputs[3] = tensor<float>({3}, {1, 1, 1});
  EXPECT_NE(failure(r).find("{3}"), std::string::npos);
}

TEST(DynamicQuantizeMatMul, RangeOfA) {
  // From -1 to 254: scale 1, zero point 1; whole numbers are exact.
  OpRun r{.op = "DynamicQuantizeMatMul",
          .opset = 1,
          .inputs = {tensor<float>({2, 2}, {-1, 254, 3, 0}), tensor<uint8_t>({2, 1}, {3, 130}),
                     tensor<float>({1}, {0.5f}), tensor<uint8_t>({}, {128}), tensor<float>({1}, {1})},
          .domain = "com.microsoft"};
  EXPECT_EQ(values<float>(output(r)), (Floats{0.5f * (125 + 508) + 1, 0.5f * -375 + 1}));
  r.inputs.resize(3);
  r.inputs[1] = tensor<int8_t>({2, 1}, {3, -2});
  EXPECT_EQ(values<float>(output(r)), (Floats{0.5f * (-3 - 508), 4.5f}));
}

}  // namespace
}  // namespace trunnion::ops::test
