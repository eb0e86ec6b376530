// Convolutions that run on planes: what the kernel's own test does not see, the node around it.
#include "ops/packing.h"
#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

using Strings = std::vector<std::string>;

// Tells which kernel was made by the layout of its weights.
class SeenPacks final : public PackPlace {
 public:
  Result<Tensor> pack(const Tensor& operand, const Packing& how, PackFill fill) override {
    layouts.emplace_back(how.layout);
    return pack_here(operand, how, fill);
  }
  Strings layouts;
};

// Ones everywhere: an output counts the taps inside of the picture.
TEST(ConvPlanar, CountsTaps) {
  const Floats ones(static_cast<size_t>(2 * 2 * 20 * 20), 1.0f);
  const OpRun run{.op = "Conv",
                  .opset = 22,
                  .inputs = {tensor<float>({2, 2, 20, 20}, ones), tensor<float>({2, 1, 3, 3}, Floats(18, 1.0f)),
                             tensor<float>({2}, {0, 100})},
                  .attrs = {{"group", int64_t{2}, {}}, {"pads", std::vector<int64_t>{1, 1, 1, 1}, {}}},
                  .constant = {true, true, true}};  // x as well: the kernel is made for its shape
  SeenPacks packs;
  Floats y;
  {
    PackScope scope(&packs);
    y = values<float>(output(run));
  }
  EXPECT_EQ(packs.layouts, Strings{"conv planes"});
  ASSERT_EQ(y.size(), ones.size());
  for (size_t i = 0; i < y.size(); ++i) {
    const size_t row = i / 20 % 20, column = i % 20, channel = i / 400 % 2;
    const auto taps = [](size_t at) { return at == 0 || at == 19 ? 2.0f : 3.0f; };
    EXPECT_EQ(y[i], taps(row) * taps(column) + (channel ? 100.0f : 0.0f)) << i;
  }
}

}  // namespace
}  // namespace trunnion::ops::test
