#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

using Bytes = std::vector<uint8_t>;
using Signed = std::vector<int8_t>;

TEST(MatMulFpQ4, BothBlocks) {
  // One column of 18 weights: 3 times (code - zero); codes 0 and 17 are the first low and the second high half.
  for (const int64_t type : {0, 1}) {
    Bytes blob = {0, 0, 0x40, 0x40};  // 3.0f
    if (type == 1) blob.push_back(5);
    for (int i = 0; i < 16; ++i) blob.push_back(type == 1 ? 0x55 : 0x88);
    blob[blob.size() - 16] = type == 1 ? 0x57 : 0x8A;
    blob[blob.size() - 15] = type == 1 ? 0x45 : 0x78;
    Floats a(18, 1);
    a[17] = 10;
    const OpRun r{.op = "MatMulFpQ4",
                  .opset = 1,
                  .inputs = {tensor<float>({1, 18}, a), tensor<uint8_t>({static_cast<int64_t>(blob.size())}, blob),
                             tensor<int64_t>({2}, {18, 1})},
                  .attrs = {{"blk_quant_type", type}},
                  .domain = "com.microsoft",
                  .constant = {false, true, true}};
    EXPECT_EQ(values<float>(output(r)), (Floats{6 - 30}));
    auto bad = r;
    bad.inputs[2] = tensor<int64_t>({2}, {18, 2});
    EXPECT_NE(failure(bad).find("takes"), std::string::npos);
  }
}

}  // namespace
}  // namespace trunnion::ops::test
