#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

TEST(BinaryMath, BroadcastsBothWays) {
  const Tensor a = tensor<float>({2, 1}, {1, 10}), b = tensor<float>({3}, {1, 2, 3});
  const Value y = output({.op = "Add", .inputs = {a, b}});
  EXPECT_EQ(shape(y), (Ints{2, 3}));
  EXPECT_EQ(values<float>(y), (Floats{2, 3, 4, 11, 12, 13}));
  EXPECT_EQ(values<float>(output({.op = "Sub", .inputs = {a, b}})), (Floats{0, -1, -2, 9, 8, 7}));
  EXPECT_EQ(values<float>(output({.op = "Mul", .inputs = {b, a}})), (Floats{1, 2, 3, 10, 20, 30}));
  EXPECT_EQ(values<float>(output({.op = "Div", .inputs = {tensor<float>({}, {6}), b}})), (Floats{6, 3, 2}));
  EXPECT_EQ(shape(output({.op = "Add", .inputs = {tensor<float>({0, 1}, {}), b}})), (Ints{0, 3}));
  EXPECT_NE(failure({.op = "Add", .inputs = {tensor<float>({2}, {1, 2}), b}}).find("{2} and {3}"), std::string::npos);
}

TEST(BinaryMath, IntegersNeverTrap) {
  const Tensor a = tensor<int32_t>({4}, {7, -7, INT32_MIN, 5}), b = tensor<int32_t>({4}, {2, 2, -1, 0});
  EXPECT_EQ(values<int32_t>(output({.op = "Div", .inputs = {a, b}})), (std::vector<int32_t>{3, -3, INT32_MIN, 0}));
  EXPECT_EQ(values<int8_t>(output({.op = "Add", .inputs = {tensor<int8_t>({1}, {127}), tensor<int8_t>({1}, {1})}})),
            (std::vector<int8_t>{-128}));
  EXPECT_EQ(values<uint64_t>(output({.op = "Sub", .inputs = {tensor<uint64_t>({1}, {0}), tensor<uint64_t>({1}, {1})}})),
            (std::vector<uint64_t>{UINT64_MAX}));
}

TEST(BinaryMath, LegacyBroadcast) {
  const Tensor a = tensor<float>({2, 3, 2}, {0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1});
  const std::vector<ir::Attr> at_one = {{"broadcast", int64_t{1}}, {"axis", int64_t{1}}};
  EXPECT_EQ(
      values<float>(output({.op = "Add", .opset = 6, .inputs = {a, tensor<float>({3}, {1, 2, 3})}, .attrs = at_one})),
      (Floats{1, 1, 2, 2, 3, 3, 2, 2, 3, 3, 4, 4}));
  EXPECT_EQ(
      values<float>(output({.op = "Add", .opset = 6, .inputs = {a, tensor<float>({1, 1}, {5})}, .attrs = at_one}))[0],
      5);
  EXPECT_EQ(
      values<float>(output(
          {.op = "Add", .opset = 6, .inputs = {a, tensor<float>({2}, {1, 2})}, .attrs = {{"broadcast", int64_t{1}}}})),
      (Floats{1, 2, 1, 2, 1, 2, 2, 3, 2, 3, 2, 3}));
  failure({.op = "Add", .opset = 6, .inputs = {a, tensor<float>({2}, {1, 2})}});
  failure({.op = "Add", .opset = 6, .inputs = {a, tensor<float>({2}, {1, 2})}, .attrs = at_one});
}

TEST(BinaryMath, ModHasTwoSigns) {
  const Tensor a = tensor<int32_t>({4}, {-7, 7, -7, 4}), b = tensor<int32_t>({4}, {3, -3, -3, 0});
  EXPECT_EQ(values<int32_t>(output({.op = "Mod", .inputs = {a, b}})), (std::vector<int32_t>{2, -2, -1, 0}));
  EXPECT_EQ(values<int32_t>(output({.op = "Mod", .inputs = {a, b}, .attrs = {{"fmod", int64_t{1}}}})),
            (std::vector<int32_t>{-1, 1, -1, 0}));
  const Tensor x = tensor<float>({2}, {-7.5f, 7.5f}), y = tensor<float>({2}, {2, 2});
  EXPECT_EQ(values<float>(output({.op = "Mod", .inputs = {x, y}, .attrs = {{"fmod", int64_t{1}}}})),
            (Floats{-1.5f, 1.5f}));
}

TEST(BinaryMath, BitShift) {
  const Tensor a = tensor<uint8_t>({3}, {16, 4, 255}), b = tensor<uint8_t>({3}, {1, 2, 9});
  EXPECT_EQ(
      values<uint8_t>(output({.op = "BitShift", .inputs = {a, b}, .attrs = {{"direction", std::string("RIGHT")}}})),
      (std::vector<uint8_t>{8, 1, 0}));
  EXPECT_EQ(
      values<uint8_t>(output({.op = "BitShift", .inputs = {a, b}, .attrs = {{"direction", std::string("LEFT")}}})),
      (std::vector<uint8_t>{32, 16, 0}));
  failure({.op = "BitShift", .inputs = {a, b}, .attrs = {{"direction", std::string("UP")}}});
}

// Shifts by a negative amount or by the width give what the sign bit alone would.
TEST(BinaryMath, BitShiftSigned) {
  const Tensor a = tensor<int32_t>({4}, {-8, -8, -8, 8}), b = tensor<int32_t>({4}, {1, 32, -1, 40});
  EXPECT_EQ(values<int32_t>(output(
                {.op = "BitShift", .opset = 28, .inputs = {a, b}, .attrs = {{"direction", std::string("RIGHT")}}})),
            (std::vector<int32_t>{-4, -1, -1, 0}));
  EXPECT_EQ(values<int32_t>(output(
                {.op = "BitShift", .opset = 28, .inputs = {a, b}, .attrs = {{"direction", std::string("LEFT")}}})),
            (std::vector<int32_t>{-16, 0, 0, 0}));
}

TEST(BinaryMath, PReluSlopes) {
  const Tensor x = tensor<float>({1, 2, 2}, {-1, 2, -3, 4});
  EXPECT_EQ(values<float>(output({.op = "PRelu", .inputs = {x, tensor<float>({2, 1}, {.5f, 2})}})),
            (Floats{-.5f, 2, -6, 4}));
  EXPECT_EQ(values<float>(output({.op = "PRelu", .opset = 6, .inputs = {x, tensor<float>({2}, {.5f, 2})}})),
            (Floats{-.5f, 2, -6, 4}));
  EXPECT_EQ(values<float>(output({.op = "PRelu", .opset = 6, .inputs = {x, tensor<float>({1}, {.5f})}})),
            (Floats{-.5f, 2, -1.5f, 4}));
  failure({.op = "PRelu", .inputs = {tensor<float>({1}, {1}), tensor<float>({2}, {1, 2})}});
}

TEST(BinaryMath, ContentsAndShapes) {
  const Dim n = symbol("N");
  const std::vector<ir::Fact> in = {content_fact({n, 7}), content_fact({2, -2})};
  EXPECT_EQ(content({.op = "Add"}, in), "{N + 2,5}");
  EXPECT_EQ(content({.op = "Sub"}, in), "{N - 2,9}");
  EXPECT_EQ(content({.op = "Mul"}, in), "{2*N,-14}");
  EXPECT_EQ(content({.op = "Div"}, in), "{N / 2,-3}");
  EXPECT_EQ(inferred({.op = "Add"}, {fact({n, 1, 3}), fact({4, 1})}), "{N,4,3}");
  EXPECT_EQ(inferred({.op = "Add"}, {ir::Fact::tensor(DType::f32), fact({4, 1})}), "?");
}

}  // namespace
}  // namespace trunnion::ops::test
