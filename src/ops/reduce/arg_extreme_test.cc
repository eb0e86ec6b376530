#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

TEST(ArgExtreme, AxesAndTies) {
  const Tensor x = tensor<float>({2, 3}, {2, 7, 7, 5, 1, 5});
  EXPECT_EQ(values<int64_t>(output({.op = "ArgMax", .inputs = {x}, .attrs = {{"axis", int64_t{1}}}})), (Ints{1, 0}));
  EXPECT_EQ(values<int64_t>(output(
                {.op = "ArgMax", .inputs = {x}, .attrs = {{"axis", int64_t{-1}}, {"select_last_index", int64_t{1}}}})),
            (Ints{2, 2}));
  const auto y = output({.op = "ArgMin", .inputs = {x}, .attrs = {{"keepdims", int64_t{0}}}});
  EXPECT_EQ(values<int64_t>(y), (Ints{0, 1, 1}));
  EXPECT_EQ(shape(y), Ints{3});
  EXPECT_EQ(shape(output({.op = "ArgMin", .opset = 11, .inputs = {x}})), (Ints{1, 3}));
}

TEST(ArgExtreme, TypesAndEdges) {
  EXPECT_EQ(values<int64_t>(output({.op = "ArgMax", .inputs = {tensor<uint8_t>({3}, {1, 200, 3})}})), Ints{1});
  EXPECT_EQ(values<int64_t>(output({.op = "ArgMin", .inputs = {half({3}, {1, -2, 3})}})), Ints{1});
  EXPECT_EQ(values<int64_t>(output({.op = "ArgMax", .inputs = {tensor<double>({2}, {1, NAN})}})), Ints{1});
  EXPECT_EQ(values<int64_t>(output({.op = "ArgMax", .inputs = {tensor<int32_t>({}, {4})}})), Ints{0});
  EXPECT_EQ(shape(output({.op = "ArgMax", .inputs = {tensor<float>({0, 2}, {})}, .attrs = {{"axis", int64_t{1}}}})),
            (Ints{0, 1}));
  EXPECT_NE(failure({.op = "ArgMax", .inputs = {tensor<float>({0, 2}, {})}}).find("is empty"), std::string::npos);
  EXPECT_NE(
      failure({.op = "ArgMax", .inputs = {tensor<float>({2}, {1, 2})}, .attrs = {{"axis", int64_t{2}}}}).find("axis 2"),
      std::string::npos);
  EXPECT_EQ(inferred({.op = "ArgMax", .attrs = {{"axis", int64_t{1}}}}, {fact({symbol("N"), symbol("C")})}), "{N,1}");
}

}  // namespace
}  // namespace trunnion::ops::test
