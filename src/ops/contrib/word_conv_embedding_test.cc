#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

OpRun words(std::vector<int32_t> chars) {
  const auto rows = static_cast<int64_t>(chars.size() / 3);
  // One filter over two characters of two numbers each.
  return {.op = "WordConvEmbedding",
          .opset = 1,
          .inputs = {tensor<int32_t>({rows, 3}, std::move(chars)), tensor<float>({1, 1, 2, 2}, {1, 0, 0, 0.5f}),
                     tensor<float>({1}, {0.25f}), tensor<float>({3, 2}, {0, 0, 0.5f, 1, -1, -2})},
          .domain = "com.microsoft"};
}

TEST(WordConvEmbedding, LargestWindow) {
  // 1 2: .5 - 1 + .25; 1 2 1: also -1 + .5 + .25; nothing in front: no word; one character: padded by the next.
  const auto y = values<float>(output(words({1, 2, 0, 1, 2, 1, 0, 1, 1, 1, 0, 0})));
  EXPECT_NEAR(y[0], std::tanh(-0.25), 1e-6);
  EXPECT_NEAR(y[1], std::tanh(-0.25), 1e-6);
  EXPECT_EQ(y[2], 0);
  EXPECT_NEAR(y[3], std::tanh(0.75), 1e-6);
  EXPECT_NE(failure(words({1, 3, 0})).find("Sequence[0,1] is 3"), std::string::npos);
}

}  // namespace
}  // namespace trunnion::ops::test
