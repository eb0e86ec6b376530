#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

using Bytes = std::vector<uint8_t>;
using Signed = std::vector<int8_t>;

TEST(QLinearGlobalAveragePool, BothLayouts) {
  OpRun r{.op = "QLinearGlobalAveragePool",
          .opset = 1,
          .inputs = {tensor<uint8_t>({1, 2, 2, 2}, {1, 2, 3, 4, 10, 20, 30, 40}), tensor<float>({}, {1.0f}),
                     tensor<uint8_t>({}, {1}), tensor<float>({}, {0.5f}), tensor<uint8_t>({}, {3})},
          .domain = "com.microsoft"};
  EXPECT_EQ(values<uint8_t>(output(r)), (Bytes{6, 51}));  // 1.5 and 24 in halves, plus 3
  EXPECT_EQ(shape(output(r)), (Ints{1, 2, 1, 1}));
  r.inputs[0] = tensor<uint8_t>({1, 2, 2, 2}, {1, 10, 2, 20, 3, 30, 4, 40});
  r.attrs = {{"channels_last", int64_t{1}}};
  EXPECT_EQ(values<uint8_t>(output(r)), (Bytes{6, 51}));
  EXPECT_EQ(shape(output(r)), (Ints{1, 1, 1, 2}));
  const int64_t many = INT32_MAX / 255 + 1;  // the sum may not fit 32 bits
  r.inputs[0] = tensor<uint8_t>({1, many, 1}, Bytes(static_cast<size_t>(many), 255));
  EXPECT_NE(failure(r).find("are the limit"), std::string::npos);
}

OpRun pool(Tensor x, std::vector<ir::Attr> attrs) {
  return {.op = "QLinearAveragePool",
          .opset = 1,
          .inputs = {x, tensor<float>({}, {0.5f}), tensor<int8_t>({}, {-2}), tensor<float>({}, {0.5f}),
                     tensor<int8_t>({}, {1})},
          .attrs = std::move(attrs),
          .domain = "com.microsoft"};
}

TEST(QLinearAveragePool, RoundsWithTheZeroPoint) {
  // Means 0.5 and 1.5 in steps, plus 2, plus 1: 3.5 and 4.5 go to even.
  const auto r = pool(tensor<int8_t>({1, 1, 3}, {0, 1, 2}), {{"kernel_shape", Ints{2}}});
  EXPECT_EQ(values<int8_t>(output(r)), (Signed{4, 4}));
}

TEST(QLinearAveragePool, PaddingAndChannelsLast) {
  auto r = pool(tensor<int8_t>({1, 2, 2}, {2, 10, 4, 20}),
                {{"kernel_shape", Ints{2}}, {"pads", Ints{1, 1}}, {"channels_last", int64_t{1}}});
  EXPECT_EQ(values<int8_t>(output(r)), (Signed{5, 13, 6, 18, 7, 23}));
  EXPECT_EQ(shape(output(r)), (Ints{1, 3, 2}));
  r.attrs.push_back({"count_include_pad", int64_t{1}});
  EXPECT_EQ(values<int8_t>(output(r)), (Signed{3, 7, 6, 18, 4, 12}));
  r.attrs[0] = {"kernel_shape", Ints{9}};
  EXPECT_NE(failure(r).find("does not fit"), std::string::npos);
}

TEST(QLinearAveragePool, WholePictureIsExact) {
  const auto r = pool(tensor<int8_t>({1, 1, 2, 2}, {0, 1, 2, 4}), {{"kernel_shape", Ints{2, 2}}});
  EXPECT_EQ(values<int8_t>(output(r)), (Signed{5}));
}

}  // namespace
}  // namespace trunnion::ops::test
