#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

using Bytes = std::vector<uint8_t>;
using Signed = std::vector<int8_t>;

// A is [2, 2]: 1 2 / 3 4; B is [2, 2]: 1 -1 / 2 0.
OpRun node(std::vector<Value> rest, std::vector<ir::Attr> attrs = {}) {
  std::vector<Value> inputs = {
      tensor<uint8_t>({2, 2}, {2, 3, 4, 5}), tensor<float>({}, {0.5f}),        tensor<uint8_t>({}, {1}),
      tensor<int8_t>({2, 2}, {1, -1, 2, 0}), tensor<float>({2}, {1.0f, 2.0f}), tensor<int8_t>({2}, {0, 0})};
  for (auto& v : rest) inputs.push_back(std::move(v));
  return {.op = "QGemm", .opset = 1, .inputs = std::move(inputs), .attrs = std::move(attrs), .domain = "com.microsoft"};
}

TEST(QGemm, Float) {
  EXPECT_EQ(values<float>(output(node({}))), (Floats{2.5f, -1, 5.5f, -3}));
  EXPECT_EQ(values<float>(output(node({tensor<int32_t>({2}, {10, 20})}, {{"alpha", 2.0f}}))), (Floats{15, 38, 21, 34}));
  EXPECT_EQ(values<float>(output(node({}, {{"transA", int64_t{1}}}))), (Floats{3.5f, -1, 5, -2}));
  EXPECT_EQ(values<float>(output(node({}, {{"transB", int64_t{1}}}))), (Floats{-0.5f, 2, -0.5f, 6}));
}

TEST(QGemm, QuantizedWithEveryC) {
  const Value scale = tensor<float>({}, {0.5f}), zero = tensor<uint8_t>({}, {10});
  EXPECT_EQ(values<uint8_t>(output(node({Tensor{}, scale, zero}))), (Bytes{15, 8, 21, 4}));
  EXPECT_EQ(values<uint8_t>(output(node({tensor<int32_t>({}, {1}), scale, zero}))), (Bytes{16, 10, 22, 6}));
  EXPECT_EQ(values<uint8_t>(output(node({tensor<int32_t>({2, 1}, {1, 2}), scale, zero}))), (Bytes{16, 10, 23, 8}));
  EXPECT_EQ(values<uint8_t>(output(node({tensor<int32_t>({2, 2}, {1, 2, 3, 400}), scale, zero}))),
            (Bytes{16, 12, 24, 255}));
  EXPECT_EQ(values<uint8_t>(output(node({tensor<int32_t>({1, 2}, {1, 2}), scale, zero}))), (Bytes{16, 12, 22, 8}));
}

TEST(QGemm, Misfits) {
  auto r = node({tensor<int32_t>({3}, {1, 2, 3})});
  EXPECT_NE(failure(r).find("does not broadcast"), std::string::npos);
  r = node({});
  r.inputs[4] = tensor<float>({3}, {1, 2, 3});
  EXPECT_NE(failure(r).find("input 4 has shape {3}"), std::string::npos);
}

}  // namespace
}  // namespace trunnion::ops::test
