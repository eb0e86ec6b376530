#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

using Bytes = std::vector<uint8_t>;
using Signed = std::vector<int8_t>;

OpRun node(int64_t axis, std::vector<Value> inputs) {
  return {.op = "QLinearConcat",
          .opset = 1,
          .inputs = std::move(inputs),
          .attrs = {{"axis", axis}},
          .domain = "com.microsoft"};
}

TEST(QLinearConcat, CopiesAndTranslates) {
  const auto r = node(1, {tensor<float>({}, {0.5f}), tensor<uint8_t>({}, {2}),  //
                          tensor<uint8_t>({2, 2}, {1, 2, 3, 4}), tensor<float>({}, {0.5f}), tensor<uint8_t>({}, {2}),
                          tensor<uint8_t>({2, 1}, {0, 255}), tensor<float>({1}, {1.0f}), tensor<uint8_t>({1}, {1})});
  EXPECT_EQ(values<uint8_t>(output(r)), (Bytes{1, 2, 0, 3, 4, 255}));
  EXPECT_EQ(shape(output(r)), (Ints{2, 3}));
}

TEST(QLinearConcat, Misfits) {
  auto r = node(-1, {tensor<float>({}, {0.5f}), tensor<int8_t>({}, {2}),  //
                     tensor<int8_t>({2}, {1, 2}), tensor<float>({}, {0.5f}), tensor<int8_t>({}, {0})});
  EXPECT_EQ(values<int8_t>(output(r)), (Signed{3, 4}));
  r.inputs.push_back(tensor<int8_t>({1}, {0}));
  EXPECT_NE(failure(r).find("has 6 inputs"), std::string::npos);
  r.inputs.pop_back();
  r.inputs[4] = tensor<uint8_t>({}, {0});
  EXPECT_NE(failure(r).find("input 4 has type"), std::string::npos);
}

}  // namespace
}  // namespace trunnion::ops::test
