#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

using Bytes = std::vector<uint8_t>;
using Signed = std::vector<int8_t>;

TEST(QLinearWhere, Broadcasts) {
  OpRun r{.op = "QLinearWhere",
          .opset = 1,
          .inputs = {tensor<bool>({2, 1}, {true, false}), tensor<int8_t>({3}, {1, 2, 3}), tensor<float>({}, {1.0f}),
                     tensor<int8_t>({}, {0}), tensor<int8_t>({}, {-7}), tensor<float>({}, {0.5f}),
                     tensor<int8_t>({}, {-1}), tensor<float>({}, {0.5f}), tensor<int8_t>({}, {-1})},
          .domain = "com.microsoft"};
  EXPECT_EQ(values<int8_t>(output(r)), (Signed{1, 3, 5, -7, -7, -7}));
  EXPECT_EQ(shape(output(r)), (Ints{2, 3}));
  r.inputs[7] = tensor<float>({3}, {1, 1, 1});
  EXPECT_NE(failure(r).find("input 7"), std::string::npos);
}

}  // namespace
}  // namespace trunnion::ops::test
