// The adapter for f16 and bf16: constants are widened once, and plans share them.
#include "ops/half_adapter.h"

#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

// Tells where prepare finds its second input.
class Looking final : public Kernel {
 public:
  explicit Looking(std::vector<const float*>& seen) : seen_(seen) {}
  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    EXPECT_EQ(ctx.in(1).dtype, DType::f32);
    seen_.push_back(ctx.in(1).as<const float>());
    return std::unique_ptr<KernelState>();
  }
  Status run(KernelContext&) const override { return {}; }

 private:
  std::vector<const float*>& seen_;
};

TEST(HalfAdapter, PlansShareWidenedConstants) {
  std::vector<const float*> seen;
  const auto kernel = adapt_half(std::make_unique<Looking>(seen));
  const Tensor x = half({1}, {0}), y = half({1}, {0});
  std::vector<std::unique_ptr<KernelState>> states;
  const auto prepare = [&](const Tensor& constant) {
    TensorView in[2] = {x.view(), constant.view()}, out = y.view();
    in[0].data = out.data = nullptr;
    const TensorView* ins[] = {&in[0], &in[1]};
    const TensorView* outs[] = {&out};
    PrepareContext ctx(ins, outs, 1);
    auto state = kernel->prepare(ctx);
    EXPECT_TRUE(state.ok());
    states.push_back(std::move(state).value());
    return std::vector<float>(seen.back(), seen.back() + constant.count());
  };
  const std::vector<float> numbers = {1, -2, 0.5f};
  EXPECT_EQ(prepare(half({3}, numbers)), numbers);
  EXPECT_EQ(prepare(half({3}, numbers)), numbers);
  EXPECT_EQ(prepare(half({3}, {1, -2, 4})), (std::vector<float>{1, -2, 4}));  // worked out with another plan
  EXPECT_EQ(prepare(half({2}, {1, -2})), (std::vector<float>{1, -2}));
  EXPECT_EQ(prepare(bfloat({2}, {1, -2})), (std::vector<float>{1, -2}));
  EXPECT_EQ(seen[0], seen[1]);
  EXPECT_NE(seen[1], seen[2]);
  EXPECT_NE(seen[2], seen[3]);
  EXPECT_EQ(seen[3], seen[4]);
  states.erase(states.begin() + 1, states.end());
  EXPECT_EQ(std::vector<float>(seen[0], seen[0] + 3), numbers);  // the first plan still holds it
}

}  // namespace
}  // namespace trunnion::ops::test
