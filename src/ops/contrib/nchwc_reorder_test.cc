#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

OpRun node(std::string op, std::vector<Value> inputs, std::vector<ir::Attr> attrs = {}) {
  return {.op = std::move(op),
          .opset = 1,
          .inputs = std::move(inputs),
          .attrs = std::move(attrs),
          .domain = "com.microsoft.nchwc"};
}

TEST(NchwcReorder, ChannelsArePaddedAndCut) {
  const Tensor x = tensor<float>({1, 3, 1, 2}, {1, 2, 3, 4, 5, 6});
  const auto y = output(node("ReorderInput", {x}));
  const auto block = static_cast<size_t>(shape(y)[1]);
  ASSERT_TRUE(block == 8 || block == 16);
  Floats want(2 * block);  // channels of the first pixel, then those of the second
  for (size_t c = 0; c < 3; ++c)
    for (size_t p = 0; p < 2; ++p) want[p * block + c] = static_cast<float>(2 * c + p + 1);
  EXPECT_EQ(values<float>(y), want);
  const auto back = output(node("ReorderOutput", {y.tensor()}, {{"channels", int64_t{3}}}));
  EXPECT_EQ(values<float>(back), values<float>(Value(x)));
  EXPECT_EQ(shape(back), (Ints{1, 3, 1, 2}));
  EXPECT_NE(failure(node("ReorderOutput", {x}, {{"channels", int64_t{4}}})).find("fewer"), std::string::npos);
}

TEST(NchwcReorder, SeveralBlocks) {
  Tensor x = *Tensor::allocate(DType::f32, std::vector<int64_t>{2, 40, 2, 3});
  for (int64_t i = 0; i < x.count(); ++i) x.data<float>()[i] = static_cast<float>(i);
  const auto y = output(node("ReorderInput", {x}));
  EXPECT_NE(values<float>(y), values<float>(Value(x)));
  const auto back = output(node("ReorderOutput", {y.tensor()}, {{"channels", int64_t{40}}}));
  EXPECT_EQ(values<float>(back), values<float>(Value(x)));
}

TEST(NchwcReorder, ChannelsLast) {
  const Tensor x = tensor<float>({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6});
  const auto y = output(node("ReorderInput", {x}, {{"channels_last", int64_t{1}}}));
  const auto v = values<float>(y);
  EXPECT_EQ(Floats(v.begin(), v.begin() + 3), (Floats{1, 2, 3}));
  const std::vector<ir::Attr> attrs{{"channels", int64_t{3}}, {"channels_last", int64_t{1}}};
  const auto back = output(node("ReorderOutput", {y.tensor()}, attrs));
  EXPECT_EQ(values<float>(back), values<float>(Value(x)));
  EXPECT_EQ(shape(back), (Ints{1, 1, 2, 3}));
}

}  // namespace
}  // namespace trunnion::ops::test
