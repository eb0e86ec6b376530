#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

using Bytes = std::vector<uint8_t>;
using Signed = std::vector<int8_t>;

OpRun node(int64_t type, std::vector<Value> inputs) {
  return {.op = "MatMulBnb4",
          .opset = 1,
          .inputs = std::move(inputs),
          .attrs = {{"K", int64_t{3}}, {"N", int64_t{2}}, {"block_size", int64_t{16}}, {"quant_type", type}},
          .domain = "com.microsoft"};
}

TEST(MatMulBnb4, BothTables) {
  // Columns 1 -1 0 / 1 0 0 of NF4, and 1 -1 .5 / 1 .25 0 of FP4.
  auto nf4 =
      node(1, {tensor<float>({1, 3}, {1, 10, 100}), tensor<uint8_t>({3}, {0xF0, 0x7F, 0x77}), tensor<float>({1}, {2})});
  EXPECT_EQ(values<float>(output(nf4)), (Floats{-18, 2}));
  nf4.constant = {false, true, true};
  EXPECT_EQ(values<float>(output(nf4)), (Floats{-18, 2}));
  const auto fp4 =
      node(0, {tensor<float>({1, 3}, {1, 10, 100}), tensor<uint8_t>({3}, {0x3B, 0x53, 0x70}), tensor<float>({1}, {4})});
  EXPECT_EQ(values<float>(output(fp4)), (Floats{164, 14}));
}

TEST(MatMulBnb4, Misfits) {
  EXPECT_NE(
      failure(node(2, {tensor<float>({1, 3}, {1, 1, 1}), tensor<uint8_t>({3}, {0, 0, 0}), tensor<float>({1}, {1})}))
          .find("quant_type is 2"),
      std::string::npos);
  EXPECT_NE(failure(node(1, {tensor<float>({1, 3}, {1, 1, 1}), tensor<uint8_t>({2}, {0, 0}), tensor<float>({1}, {1})}))
                .find("must have 3 elements"),
            std::string::npos);
}

}  // namespace
}  // namespace trunnion::ops::test
