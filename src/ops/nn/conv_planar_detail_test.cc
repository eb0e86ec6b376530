// Convolutions that run on planes: what the kernel's own test does not see, the node around it.
#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

// Ones everywhere: an output counts the taps inside of the picture.
TEST(ConvPlanar, CountsTaps) {
  const Floats ones(static_cast<size_t>(2 * 2 * 20 * 20), 1.0f);
  const OpRun run{.op = "Conv",
                  .opset = 22,
                  .inputs = {tensor<float>({2, 2, 20, 20}, ones), tensor<float>({2, 1, 3, 3}, Floats(18, 1.0f)),
                             tensor<float>({2}, {0, 100})},
                  .attrs = {{"group", int64_t{2}, {}}, {"pads", std::vector<int64_t>{1, 1, 1, 1}, {}}},
                  .constant = {false, true, true}};
  const Floats y = values<float>(output(run));
  ASSERT_EQ(y.size(), ones.size());
  for (size_t i = 0; i < y.size(); ++i) {
    const size_t row = i / 20 % 20, column = i % 20, channel = i / 400 % 2;
    const auto taps = [](size_t at) { return at == 0 || at == 19 ? 2.0f : 3.0f; };
    EXPECT_EQ(y[i], taps(row) * taps(column) + (channel ? 100.0f : 0.0f)) << i;
  }
}

}  // namespace
}  // namespace trunnion::ops::test
