#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

using Bytes = std::vector<uint8_t>;
using Signed = std::vector<int8_t>;

template <class T>
OpRun node(Tensor x, float x_scale, T y_zero, int64_t axis, int64_t opset = 13) {
  return {.op = "QLinearSoftmax",
          .opset = 1,
          .inputs = {x, tensor<float>({}, {x_scale}), tensor<T>({}, {0}), tensor<float>({}, {1 / 256.0f}),
                     tensor<T>({}, {y_zero})},
          .attrs = {{"axis", axis}, {"opset", opset}},
          .domain = "com.microsoft"};
}

TEST(QLinearSoftmax, LastAxis) {
  // exp(0), exp(ln 3).
  const auto r = node<uint8_t>(tensor<uint8_t>({2, 2}, {0, 10, 200, 200}), 0.109861229f, 0, -1);
  EXPECT_EQ(values<uint8_t>(output(r)), (Bytes{64, 192, 128, 128}));
}

TEST(QLinearSoftmax, SignedResultsSaturate) {
  const auto r = node<int8_t>(tensor<int8_t>({1, 3}, {-128, 127, -128}), 1.0f, -128, -1);
  EXPECT_EQ(values<int8_t>(output(r)), (Signed{-128, 127, -128}));
}

TEST(QLinearSoftmax, OtherAxes) {
  const Tensor x = tensor<uint8_t>({2, 2}, {0, 5, 10, 5});
  EXPECT_EQ(values<uint8_t>(output(node<uint8_t>(x, 0.109861229f, 0, 0))), (Bytes{64, 128, 192, 128}));
  // Before opset 13 everything from the axis on is one row.
  const Tensor flat = tensor<uint8_t>({2, 2}, {7, 7, 7, 7});
  EXPECT_EQ(values<uint8_t>(output(node<uint8_t>(flat, 1.0f, 1, 0, 11))), (Bytes{65, 65, 65, 65}));
  EXPECT_NE(failure(node<uint8_t>(x, 1.0f, 0, 2)).find("axis 2"), std::string::npos);
}

TEST(QLinearSoftmax, LongRows) {
  Bytes x(600, 3);
  x[17] = 200;
  const Bytes y = values<uint8_t>(output(node<uint8_t>(tensor<uint8_t>({600}, x), 0.5f, 0, 0)));
  for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], i == 17 ? 255 : 0) << i;
}

}  // namespace
}  // namespace trunnion::ops::test
