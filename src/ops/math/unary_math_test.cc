#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

TEST(UnaryMath, FloatsOfTheTable) {
  const Tensor x = tensor<float>({5}, {-1.5f, -0.5f, 0.f, 0.5f, 2.5f});
  EXPECT_EQ(values<float>(output({.op = "Abs", .inputs = {x}})), (Floats{1.5f, .5f, 0, .5f, 2.5f}));
  EXPECT_EQ(values<float>(output({.op = "Neg", .inputs = {x}})), (Floats{1.5f, .5f, 0, -.5f, -2.5f}));
  EXPECT_EQ(values<float>(output({.op = "Sign", .inputs = {x}})), (Floats{-1, -1, 0, 1, 1}));
  EXPECT_EQ(values<float>(output({.op = "Floor", .inputs = {x}})), (Floats{-2, -1, 0, 0, 2}));
  EXPECT_EQ(values<float>(output({.op = "Ceil", .inputs = {x}})), (Floats{-1, 0, 0, 1, 3}));
  EXPECT_EQ(values<float>(output({.op = "Round", .opset = 22, .inputs = {x}})), (Floats{-2, 0, 0, 0, 2}));
}

// Every row computes what its name says.
TEST(UnaryMath, AgreesWithTheCLibrary) {
  struct Case {
    const char* op;
    double (*fn)(double);
    std::vector<float> x;
  };
  const Case cases[] = {
      {"Sqrt", [](double v) { return std::sqrt(v); }, {0, 4, 2}},
      {"Reciprocal", [](double v) { return 1 / v; }, {4, -2, .5f}},
      {"Exp", [](double v) { return std::exp(v); }, {0, 1, -3}},
      {"Log", [](double v) { return std::log(v); }, {1, 10, .25f}},
      {"Sin", [](double v) { return std::sin(v); }, {0, 1, -3}},
      {"Cos", [](double v) { return std::cos(v); }, {0, 1, -3}},
      {"Tan", [](double v) { return std::tan(v); }, {0, 1, -3}},
      {"Asin", [](double v) { return std::asin(v); }, {0, 1, -.5f}},
      {"Acos", [](double v) { return std::acos(v); }, {0, 1, -.5f}},
      {"Atan", [](double v) { return std::atan(v); }, {0, 1, -5}},
      {"Sinh", [](double v) { return std::sinh(v); }, {0, 1, -3}},
      {"Cosh", [](double v) { return std::cosh(v); }, {0, 1, -3}},
      {"Asinh", [](double v) { return std::asinh(v); }, {0, 1, -3}},
      {"Acosh", [](double v) { return std::acosh(v); }, {1, 2, 30}},
      {"Atanh", [](double v) { return std::atanh(v); }, {0, .5f, -.9f}},
      {"Erf", [](double v) { return std::erf(v); }, {0, .5f, -2}},
  };
  for (const Case& c : cases) {
    const auto y = values<float>(output({.op = c.op, .inputs = {tensor<float>({3}, c.x)}}));
    for (int i = 0; i < 3; ++i)
      EXPECT_NEAR(y[i], c.fn(c.x[i]), 1e-6 * (1 + std::fabs(c.fn(c.x[i])))) << c.op << " " << c.x[i];
  }
}

TEST(UnaryMath, IntegersWrapAround) {
  EXPECT_EQ(values<int8_t>(output({.op = "Abs", .inputs = {tensor<int8_t>({3}, {-128, -1, 5})}})),
            (std::vector<int8_t>{-128, 1, 5}));
  EXPECT_EQ(values<int64_t>(output({.op = "Neg", .inputs = {tensor<int64_t>({2}, {INT64_MIN, 7})}})),
            (Ints{INT64_MIN, -7}));
  EXPECT_EQ(values<uint8_t>(output({.op = "Sign", .inputs = {tensor<uint8_t>({2}, {0, 200})}})),
            (std::vector<uint8_t>{0, 1}));
  EXPECT_EQ(values<int16_t>(output({.op = "BitwiseNot", .inputs = {tensor<int16_t>({2}, {0, -2})}})),
            (std::vector<int16_t>{-1, 1}));
}

TEST(UnaryMath, SixteenBitFloats) {
  EXPECT_EQ(widened(output({.op = "Sqrt", .inputs = {half({2}, {4, 9})}})), (Floats{2, 3}));
  EXPECT_EQ(widened(output({.op = "Neg", .inputs = {bfloat({2}, {4, -9})}})), (Floats{-4, 9}));
}

TEST(UnaryMath, TestsGiveBooleans) {
  const Tensor x = tensor<float>({4}, {NAN, INFINITY, -INFINITY, 1});
  EXPECT_EQ(values<bool>(output({.op = "IsNaN", .inputs = {x}})), (std::vector<bool>{true, false, false, false}));
  EXPECT_EQ(values<bool>(output({.op = "IsInf", .inputs = {x}})), (std::vector<bool>{false, true, true, false}));
  EXPECT_EQ(values<bool>(output({.op = "IsInf", .inputs = {x}, .attrs = {{"detect_negative", int64_t{0}}}})),
            (std::vector<bool>{false, true, false, false}));
  EXPECT_EQ(values<bool>(output({.op = "Not", .inputs = {tensor<bool>({2}, {true, false})}})),
            (std::vector<bool>{false, true}));
}

TEST(UnaryMath, ShapesAndContents) {
  EXPECT_EQ(shape(output({.op = "Exp", .inputs = {tensor<float>({0, 3}, {})}})), (Ints{0, 3}));
  EXPECT_EQ(shape(output({.op = "Exp", .inputs = {tensor<float>({}, {1})}})), (Ints{}));
  EXPECT_EQ(content({.op = "Neg"}, {content_fact({3, symbol("N")})}), "{-3,-N}");
  EXPECT_EQ(content({.op = "Sign"}, {content_fact({3})}), "none");
  EXPECT_EQ(inferred({.op = "Exp"}, {fact({symbol("N"), 3})}), "{N,3}");
}

TEST(Erf, IntegersGiveTheIntegerPart) {
  const OpRun run{.op = "Erf", .opset = 9, .inputs = {tensor<int32_t>({4}, {-7, -1, 0, 6})}};
  EXPECT_EQ(values<int32_t>(output(run)), (std::vector<int32_t>{-1, 0, 0, 1}));
}

}  // namespace
}  // namespace trunnion::ops::test
