// LpNormalization, MeanVarianceNormalization and LRN.
#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

void near(const Floats& a, const std::vector<double>& b, double tolerance = 1e-5) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], tolerance) << i;
}

TEST(LpNormalization, AxesAndNorms) {
  const Tensor x = tensor<float>({2, 2}, {3, -4, 0, 0});
  near(values<float>(output({.op = "LpNormalization", .inputs = {x}})), {.6, -.8, 0, 0});
  near(values<float>(output({.op = "LpNormalization", .inputs = {x}, .attrs = {{"p", int64_t{1}}}})),
       {3 / 7., -4 / 7., 0, 0});
  near(values<float>(output({.op = "LpNormalization", .inputs = {x}, .attrs = {{"axis", int64_t{0}}}})), {1, -1, 0, 0});
  EXPECT_EQ(values<double>(output({.op = "LpNormalization", .inputs = {tensor<double>({2}, {3, 4})}})),
            (std::vector<double>{.6, .8}));
  near(widened(output({.op = "LpNormalization", .inputs = {half({2}, {3, 4})}})), {.6, .8}, 1e-3);
  EXPECT_NE(failure({.op = "LpNormalization", .inputs = {x}, .attrs = {{"p", int64_t{3}}}}).find("p is 3"),
            std::string::npos);
}

// Many lines side by side, among them some whose squares are beyond the range of a float.
TEST(LpNormalization, ColumnsOfAnySize) {
  Floats x(2 * 10);
  std::vector<double> wanted(x.size());
  const float sizes[] = {1, 1e-23f, 1e-40f, 0, 1e20f, 3e38f, 2, 1e-18f, 1e15f, 5};
  for (int64_t p : {1, 2}) {
    for (size_t groups : {1, 10}) {  // one size, and all of them together
      for (size_t first = 0; first < 10; ++first) {
        for (size_t c = 0; c < 10; ++c) {
          const float size = sizes[(first + (groups == 1 ? 0 : c)) % 10];
          x[c] = size, x[10 + c] = -size;
          wanted[c] = size == 0 ? 0 : p == 1 ? 0.5 : std::sqrt(0.5);
          wanted[10 + c] = -wanted[c];
        }
        near(values<float>(output({.op = "LpNormalization",
                                   .inputs = {tensor<float>({2, 10}, x)},
                                   .attrs = {{"axis", int64_t{0}}, {"p", p}}})),
             wanted);
      }
    }
  }
}

TEST(MeanVarianceNormalization, Axes) {
  const Tensor x = tensor<float>({2, 2, 1, 1}, {1, 10, 3, 30});
  near(values<float>(output({.op = "MeanVarianceNormalization", .inputs = {x}})), {-1, -1, 1, 1});
  near(values<float>(output({.op = "MeanVarianceNormalization", .inputs = {x}, .attrs = {{"axes", Ints{1}}}})),
       {-1, 1, -1, 1});
  EXPECT_NE(
      failure({.op = "MeanVarianceNormalization", .inputs = {tensor<float>({2, 2}, {1, 2, 3, 4})}}).find("axis 2"),
      std::string::npos);
}

TEST(Lrn, Windows) {
  const Tensor x = tensor<float>({1, 4, 1}, {1, 2, 3, 4});
  const auto y = values<float>(
      output({.op = "LRN", .inputs = {x}, .attrs = {{"size", int64_t{2}}, {"alpha", 2.0f}, {"beta", 1.0f}}}));
  near(y, {1 / 6., 2 / 14., 3 / 26., 4 / 17.});
  const auto z = values<float>(
      output({.op = "LRN", .inputs = {x}, .attrs = {{"size", int64_t{3}}, {"alpha", 3.0f}, {"bias", 2.0f}}}));
  near(z, {1 / std::pow(7, .75), 2 / std::pow(16, .75), 3 / std::pow(31, .75), 4 / std::pow(27, .75)});
}

}  // namespace
}  // namespace trunnion::ops::test
