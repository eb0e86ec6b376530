#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

using Bytes = std::vector<uint8_t>;
using Signed = std::vector<int8_t>;

TEST(MatMulInteger16, Wraps) {
  const OpRun r{.op = "MatMulInteger16",
                .opset = 1,
                .inputs = {tensor<int16_t>({1, 2}, {-32768, 3}), tensor<int16_t>({2, 2}, {-32768, 2, 5, -32768})},
                .domain = "com.microsoft"};
  EXPECT_EQ(values<int32_t>(output(r)), (std::vector<int32_t>{1073741824 + 15, -65536 - 98304}));
  const OpRun u{.op = "MatMulInteger16",
                .opset = 1,
                .inputs = {tensor<uint16_t>({1, 2}, {65535, 65535}), tensor<uint16_t>({2, 1}, {65535, 1})},
                .domain = "com.microsoft"};
  EXPECT_EQ(output(u).tensor().dtype(), DType::u32);
  EXPECT_EQ(values<uint32_t>(output(u)), (std::vector<uint32_t>{4294836225u + 65535u}));
}

}  // namespace
}  // namespace trunnion::ops::test
