#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

TEST(TensorScatter, LinearAndCircular) {
  const Tensor cache = tensor<float>({2, 3, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  const Tensor update = tensor<float>({2, 2, 2}, {21, 22, 23, 24, 25, 26, 27, 28});
  EXPECT_EQ(values<float>(
                output({.op = "TensorScatter", .opset = 24, .inputs = {cache, update, tensor<int64_t>({2}, {1, 0})}})),
            (Floats{1, 2, 21, 22, 23, 24, 25, 26, 27, 28, 11, 12}));
  EXPECT_EQ(values<float>(output({.op = "TensorScatter", .opset = 24, .inputs = {cache, update}})),
            (Floats{21, 22, 23, 24, 5, 6, 25, 26, 27, 28, 11, 12}));
  EXPECT_EQ(values<float>(output({.op = "TensorScatter",
                                  .opset = 24,
                                  .inputs = {cache, update, tensor<int64_t>({2}, {2, 7})},
                                  .attrs = {{"mode", std::string("circular")}}})),
            (Floats{23, 24, 3, 4, 21, 22, 7, 8, 25, 26, 27, 28}));
  failure({.op = "TensorScatter", .opset = 24, .inputs = {cache, update, tensor<int64_t>({2}, {2, 0})}});
  failure({.op = "TensorScatter", .opset = 24, .inputs = {cache, update, tensor<int64_t>({1}, {0})}});
  failure({.op = "TensorScatter", .opset = 24, .inputs = {cache, update}, .attrs = {{"axis", int64_t{0}}}});
}

TEST(TensorScatter, PackedElements) {
  // A cache of 5 places, 1 4-bit number each; places 4 and 0 are written.
  const OpRun run{.op = "TensorScatter",
                  .opset = 24,
                  .inputs = {raw<uint8_t>(DType::u4, {1, 5, 1}, {0x21, 0x43, 0x05}),
                             raw<uint8_t>(DType::u4, {1, 2, 1}, {0xba}), tensor<int64_t>({1}, {4})},
                  .attrs = {{"mode", std::string("circular")}}};
  EXPECT_EQ(raw_values<uint8_t>(output(run)), (std::vector<uint8_t>{0x2b, 0x43, 0x0a}));
}

}  // namespace
}  // namespace trunnion::ops::test
