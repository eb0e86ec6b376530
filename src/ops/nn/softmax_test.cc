#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

Floats softmax(std::vector<double> v) {
  double sum = 0;
  for (double& e : v) sum += e = std::exp(e);
  Floats out;
  for (double e : v) out.push_back(static_cast<float>(e / sum));
  return out;
}
void expect_near(const Floats& a, const Floats& b, float tolerance = 1e-6f) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], tolerance) << i;
}

TEST(Softmax, LastAxisByDefault) {
  const Tensor x = tensor<float>({2, 3}, {1, 2, 3, -1, 0, 4});
  Floats want = softmax({1, 2, 3});
  const Floats second = softmax({-1, 0, 4});
  want.insert(want.end(), second.begin(), second.end());
  expect_near(values<float>(output({.op = "Softmax", .opset = 13, .inputs = {x}})), want);
  const auto log = values<float>(output({.op = "LogSoftmax", .opset = 13, .inputs = {x}}));
  for (size_t i = 0; i < log.size(); ++i) EXPECT_NEAR(log[i], std::log(want[i]), 1e-5);
  const auto f64 = values<double>(output({.op = "Softmax", .inputs = {tensor<double>({3}, {1, 2, 3})}}));
  expect_near(Floats(f64.begin(), f64.end()), softmax({1, 2, 3}));
}

TEST(Softmax, OldVersionsTakeAMatrix) {
  const Tensor x = tensor<float>({1, 2, 2}, {1, 2, 3, 4});
  expect_near(values<float>(output({.op = "Softmax", .opset = 11, .inputs = {x}})), softmax({1, 2, 3, 4}));
  expect_near(values<float>(output({.op = "Softmax", .opset = 1, .inputs = {x}, .attrs = {{"axis", int64_t{0}}}})),
              softmax({1, 2, 3, 4}));
  const auto y = values<float>(output({.op = "Softmax", .opset = 13, .inputs = {x}, .attrs = {{"axis", int64_t{1}}}}));
  expect_near({y[0], y[2]}, softmax({1, 3}));
  expect_near({y[1], y[3]}, softmax({2, 4}));
}

TEST(Softmax, Edges) {
  EXPECT_EQ(shape(output({.op = "Softmax", .inputs = {tensor<float>({2, 0}, {})}})), (Ints{2, 0}));
  EXPECT_EQ(values<float>(output({.op = "Softmax", .inputs = {tensor<float>({}, {7})}})), Floats{1});
  EXPECT_TRUE(std::isnan(values<float>(output({.op = "Softmax", .inputs = {tensor<float>({2}, {NAN, 1})}}))[0]));
  EXPECT_NE(failure({.op = "Softmax", .inputs = {tensor<float>({2}, {0, 1})}, .attrs = {{"axis", int64_t{1}}}})
                .find("axis 1 is out of range"),
            std::string::npos);
  expect_near(widened(output({.op = "Softmax", .inputs = {half({3}, {1, 2, 3})}})), softmax({1, 2, 3}), 1e-3f);
  expect_near(widened(output({.op = "LogSoftmax", .inputs = {bfloat({2}, {0, 0})}})), {-0.6931f, -0.6931f}, 4e-3f);
}

TEST(Softmax, Hardmax) {
  const Tensor x = tensor<float>({2, 3}, {1, 5, 5, 9, 2, 3});
  EXPECT_EQ(values<float>(output({.op = "Hardmax", .inputs = {x}})), (Floats{0, 1, 0, 1, 0, 0}));
  EXPECT_EQ(values<float>(output({.op = "Hardmax", .inputs = {x}, .attrs = {{"axis", int64_t{0}}}})),
            (Floats{0, 1, 1, 1, 0, 0}));
  EXPECT_EQ(values<float>(output({.op = "Hardmax", .opset = 11, .inputs = {x}, .attrs = {{"axis", int64_t{0}}}})),
            (Floats{0, 0, 0, 1, 0, 0}));
  EXPECT_EQ(widened(output({.op = "Hardmax", .inputs = {half({2}, {1, 2})}})), (Floats{0, 1}));
  EXPECT_EQ(shape(output({.op = "Hardmax", .inputs = {tensor<float>({0, 3}, {})}})), (Ints{0, 3}));
}

}  // namespace
}  // namespace trunnion::ops::test
