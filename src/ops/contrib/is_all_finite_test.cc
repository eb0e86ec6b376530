#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

bool finite(std::vector<Value> inputs, std::vector<ir::Attr> attrs = {}) {
  const auto y = output({.op = "IsAllFinite",
                         .opset = 1,
                         .inputs = std::move(inputs),
                         .attrs = std::move(attrs),
                         .domain = "com.microsoft"});
  EXPECT_TRUE(shape(y).empty());
  return values<bool>(y)[0];
}

TEST(IsAllFinite, InfinitiesAndNan) {
  const Tensor good = tensor<float>({2}, {1, -2}), none = tensor<float>({0}, {}), nan = tensor<float>({1}, {NAN});
  Floats late(3000, 1.0f);
  late[2999] = -INFINITY;
  const Tensor inf = tensor<float>({3000}, late);
  EXPECT_TRUE(finite({good, none}));
  EXPECT_FALSE(finite({good, nan}));
  EXPECT_FALSE(finite({inf, good}));
  EXPECT_TRUE(finite({inf}, {{"isnan_only", int64_t{1}}}));
  EXPECT_TRUE(finite({nan}, {{"isinf_only", int64_t{1}}}));
  EXPECT_FALSE(finite({half({1}, {INFINITY})}));
}

}  // namespace
}  // namespace trunnion::ops::test
