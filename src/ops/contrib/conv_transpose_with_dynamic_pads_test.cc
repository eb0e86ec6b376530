#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

OpRun conv(Value pads, std::vector<Value> rest = {}) {
  OpRun r{.op = "ConvTransposeWithDynamicPads",
          .opset = 1,
          .inputs = {tensor<float>({1, 1, 2, 2}, {-5, -2, 1, 4}), tensor<float>({1, 1, 3, 3}, Floats(9, 1.0f)),
                     std::move(pads)},
          .attrs = {{"strides", Ints{2, 2}}},
          .domain = "com.microsoft"};
  for (auto& v : rest) r.inputs.push_back(std::move(v));
  return r;
}

TEST(ConvTransposeWithDynamicPads, Pads) {
  const auto y = output(conv(tensor<int64_t>({4}, {1, 0, 0, 1})));
  EXPECT_EQ(shape(y), (Ints{1, 1, 4, 4}));
  EXPECT_EQ(values<float>(y), (Floats{-5, -5, -7, -2, -4, -4, -2, 2, 1, 1, 5, 4, 1, 1, 5, 4}));
  EXPECT_EQ(shape(output(conv(Tensor{}))), (Ints{1, 1, 5, 5}));
  const auto biased = output(conv(tensor<int64_t>({4}, {2, 2, 2, 2}), {tensor<float>({1}, {10})}));
  EXPECT_EQ(values<float>(biased), (Floats{8}));
  const ir::Fact x = fact({symbol("N"), 1, 2, 2}), w = fact({1, 1, 3, 3});
  EXPECT_EQ(inferred(conv(Tensor{}), {x, w, fact({4}, DType::i64)}), "{N,1,?,?}");
  EXPECT_NE(failure(conv(tensor<int64_t>({2}, {1, 1}))).find("pads has 2 entries"), std::string::npos);
}

}  // namespace
}  // namespace trunnion::ops::test
