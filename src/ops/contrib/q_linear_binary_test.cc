#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

using Bytes = std::vector<uint8_t>;
using Signed = std::vector<int8_t>;

OpRun node(const char* op, Value a, Value b, float y_scale, Value y_zero) {
  return {.op = op,
          .opset = 1,
          .inputs = {a, tensor<float>({}, {0.5f}),
                     a.tensor().dtype() == DType::i8 ? tensor<int8_t>({}, {1}) : tensor<uint8_t>({}, {10}), b,
                     tensor<float>({1}, {0.25f}), Tensor{}, tensor<float>({}, {y_scale}), std::move(y_zero)},
          .domain = "com.microsoft"};
}

TEST(QLinearBinary, AddRoundsHalfToEvenAndSaturates) {
  // a: -5, -1.5, 0, 0.5, 122.5; b: 1.
  const auto r = node("QLinearAdd", tensor<uint8_t>({5}, {0, 7, 10, 11, 255}), tensor<uint8_t>({}, {4}), 1.0f,
                      tensor<uint8_t>({1}, {3}));
  EXPECT_EQ(values<uint8_t>(output(r)), (Bytes{0, 2, 4, 4, 126}));
  const auto s =
      node("QLinearAdd", tensor<int8_t>({3}, {-128, 1, 127}), tensor<int8_t>({3}, {-128, 2, 127}), 0.5f, Tensor{});
  EXPECT_EQ(values<int8_t>(output(s)), (Signed{-128, 1, 127}));
}

TEST(QLinearBinary, MulOverBothBroadcasts) {
  // a: 1, 2; b: -0.5, 0, 1 as a column.
  const auto r = node("QLinearMul", tensor<int8_t>({1, 2}, {3, 5}), tensor<int8_t>({3, 1}, {-2, 0, 4}), 0.5f,
                      tensor<int8_t>({}, {-1}));
  EXPECT_EQ(values<int8_t>(output(r)), (Signed{-2, -3, -1, -1, 1, 3}));
  EXPECT_EQ(shape(output(r)), (Ints{3, 2}));
}

TEST(QLinearBinary, LongRowsAndMisfits) {
  Bytes a(1000), b(1000), want(1000);
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<uint8_t>(i * 7);
    b[i] = static_cast<uint8_t>(i * 13);
    // (a - 10) / 2 + b / 4, in quarters.
    want[i] = static_cast<uint8_t>(std::clamp((a[i] - 10) * 2 + b[i], 0, 255));
  }
  auto r = node("QLinearAdd", tensor<uint8_t>({1000}, a), tensor<uint8_t>({1000}, b), 0.25f, Tensor{});
  EXPECT_EQ(values<uint8_t>(output(r)), want);
  r.inputs[4] = tensor<float>({2}, {1, 1});
  EXPECT_NE(failure(r).find("input 4 has shape {2}"), std::string::npos);
  r.inputs[4] = tensor<float>({}, {1});
  r.inputs[0] = tensor<uint8_t>({3}, {1, 2, 3});
  EXPECT_FALSE(run(r).ok());
  const OpRun sym{.op = "QLinearAdd", .opset = 1, .domain = "com.microsoft"};
  const auto one = fact({}, DType::f32);
  EXPECT_EQ(inferred(sym, {fact({symbol("N"), 1}, DType::u8), one, fact({}, DType::u8), fact({3}, DType::u8), one,
                           fact({}, DType::u8), one, fact({}, DType::u8)}),
            "{N,3}");
}

}  // namespace
}  // namespace trunnion::ops::test
