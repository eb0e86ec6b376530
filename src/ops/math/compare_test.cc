#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

using Bools = std::vector<bool>;

TEST(Compare, Floats) {
  const Tensor a = tensor<float>({4}, {1, 2, 3, NAN}), b = tensor<float>({1}, {2});
  EXPECT_EQ(values<bool>(output({.op = "Equal", .inputs = {a, b}})), (Bools{false, true, false, false}));
  EXPECT_EQ(values<bool>(output({.op = "Less", .inputs = {a, b}})), (Bools{true, false, false, false}));
  EXPECT_EQ(values<bool>(output({.op = "LessOrEqual", .inputs = {a, b}})), (Bools{true, true, false, false}));
  EXPECT_EQ(values<bool>(output({.op = "Greater", .inputs = {a, b}})), (Bools{false, false, true, false}));
  EXPECT_EQ(values<bool>(output({.op = "GreaterOrEqual", .inputs = {a, b}})), (Bools{false, true, true, false}));
}

TEST(Compare, OtherTypes) {
  EXPECT_EQ(values<bool>(output(
                {.op = "Greater", .inputs = {tensor<uint64_t>({2}, {UINT64_MAX, 0}), tensor<uint64_t>({}, {1})}})),
            (Bools{true, false}));
  EXPECT_EQ(values<bool>(
                output({.op = "Equal", .inputs = {tensor<bool>({2}, {true, false}), tensor<bool>({2}, {true, true})}})),
            (Bools{true, false}));
  EXPECT_EQ(values<bool>(output({.op = "Less", .inputs = {half({2}, {1, 3}), half({2}, {2, 2})}})),
            (Bools{true, false}));
  const Value y = output({.op = "Equal", .inputs = {strings({2, 1}, {"a", "b"}), strings({3}, {"a", "", "b"})}});
  EXPECT_EQ(shape(y), (Ints{2, 3}));
  EXPECT_EQ(values<bool>(y), (Bools{true, false, false, false, false, true}));
}

TEST(Compare, LegacyBroadcast) {
  EXPECT_EQ(values<bool>(output({.op = "Less",
                                 .opset = 1,
                                 .inputs = {tensor<float>({2, 2}, {1, 2, 3, 4}), tensor<float>({2}, {2, 4})},
                                 .attrs = {{"broadcast", int64_t{1}}, {"axis", int64_t{0}}}})),
            (Bools{true, false, true, false}));
}

TEST(Compare, Contents) {
  const Dim n = symbol("N");
  EXPECT_EQ(content({.op = "Equal"}, {content_fact({n, 3, 4}), content_fact({-1, 3, 5})}), "{0,1,0}");
  EXPECT_EQ(content({.op = "Equal"}, {content_fact({n}), content_fact({3})}), "{?}");
  EXPECT_EQ(content({.op = "Greater"}, {content_fact({4}), content_fact({3})}), "{1}");
}

}  // namespace
}  // namespace trunnion::ops::test
