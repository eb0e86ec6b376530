#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

using Bytes = std::vector<uint8_t>;
using Signed = std::vector<int8_t>;

OpRun node(Tensor x, std::vector<ir::Attr> attrs) {
  return {.op = "NhwcMaxPool", .opset = 1, .inputs = {x}, .attrs = std::move(attrs), .domain = "com.microsoft"};
}

TEST(NhwcMaxPool, SignedAndUnsigned) {
  const auto r = node(tensor<int8_t>({1, 2, 2, 2}, {-5, 1, -6, 2, -7, 3, -8, 4}), {{"kernel_shape", Ints{2, 2}}});
  EXPECT_EQ(values<int8_t>(output(r)), (Signed{-5, 4}));
  EXPECT_EQ(shape(output(r)), (Ints{1, 1, 1, 2}));
  const auto u = node(tensor<uint8_t>({1, 3, 1}, {200, 100, 7}), {{"kernel_shape", Ints{2}}, {"pads", Ints{1, 0}}});
  EXPECT_EQ(values<uint8_t>(output(u)), (Bytes{200, 200, 100}));
}

TEST(NhwcMaxPool, ManyChannels) {
  Bytes x(3 * 100);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<uint8_t>(i * 37);
  const auto r = node(tensor<uint8_t>({1, 3, 100}, x), {{"kernel_shape", Ints{2}}, {"dilations", Ints{2}}});
  const Bytes y = values<uint8_t>(output(r));
  for (size_t c = 0; c < 100; ++c) EXPECT_EQ(y[c], std::max(x[c], x[200 + c])) << c;
  EXPECT_NE(failure(node(tensor<uint8_t>({2, 2}, {1, 2, 3, 4}), {{"kernel_shape", Ints{1}}})).find("at least 3"),
            std::string::npos);
}

TEST(NhwcMaxPool, LargeWindows) {
  Bytes x(9 * 9 * 3);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<uint8_t>(i * 37 % 101 + i % 3);
  const auto r = node(tensor<uint8_t>({1, 9, 9, 3}, x), {{"kernel_shape", Ints{9, 9}}});
  Bytes want(3);
  for (size_t i = 0; i < x.size(); ++i) want[i % 3] = std::max(want[i % 3], x[i]);
  EXPECT_EQ(values<uint8_t>(output(r)), want);
}

}  // namespace
}  // namespace trunnion::ops::test
