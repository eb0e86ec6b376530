#include <numeric>

#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

std::vector<ir::Attr> attrs(const char* mode) { return {{"blocksize", int64_t{2}}, {"mode", std::string(mode)}}; }

// The definition, one element at a time.
TEST(DepthToSpace, BothModesAgainstTheDefinition) {
  const int64_t channels = 3, height = 2, width = 2, b = 2;
  Floats v(static_cast<size_t>(2 * channels * b * b * height * width));
  std::iota(v.begin(), v.end(), 0.f);
  const Tensor x = tensor<float>({2, channels * b * b, height, width}, v);
  for (const bool crd : {false, true}) {
    const char* mode = crd ? "CRD" : "DCR";
    const Value y = output({.op = "DepthToSpace", .inputs = {x}, .attrs = attrs(mode)});
    ASSERT_EQ(shape(y), (Ints{2, channels, height * b, width * b}));
    const auto got = values<float>(y);
    for (int64_t n = 0; n < 2; ++n)
      for (int64_t c = 0; c < channels; ++c)
        for (int64_t r = 0; r < height * b; ++r)
          for (int64_t q = 0; q < width * b; ++q) {
            const int64_t cell = r % b * b + q % b, depth = crd ? c * b * b + cell : cell * channels + c;
            const int64_t from = ((n * channels * b * b + depth) * height + r / b) * width + q / b;
            EXPECT_EQ(got[((n * channels + c) * height * b + r) * width * b + q], v[from]) << mode;
          }
    EXPECT_EQ(values<float>(output({.op = "SpaceToDepth", .opset = 28, .inputs = {y}, .attrs = attrs(mode)})), v)
        << mode;
  }
}

TEST(DepthToSpace, EdgesAndRefusals) {
  EXPECT_EQ(
      shape(output(
          {.op = "DepthToSpace", .inputs = {tensor<float>({0, 4, 1, 1}, {})}, .attrs = {{"blocksize", int64_t{2}}}})),
      (Ints{0, 1, 2, 2}));
  failure(
      {.op = "DepthToSpace", .inputs = {tensor<float>({1, 3, 1, 1}, {1, 2, 3})}, .attrs = {{"blocksize", int64_t{2}}}});
  failure({.op = "SpaceToDepth", .inputs = {tensor<float>({1, 1, 1, 1}, {1})}, .attrs = {{"blocksize", int64_t{2}}}});
  failure({.op = "SpaceToDepth", .inputs = {tensor<float>({1, 1, 1, 1}, {1})}, .attrs = {{"blocksize", int64_t{0}}}});
  EXPECT_EQ(
      inferred({.op = "DepthToSpace", .attrs = {{"blocksize", int64_t{2}}}}, {fact({symbol("N"), 8, symbol("H"), 3})}),
      "{N,2,2*H,6}");
}

}  // namespace
}  // namespace trunnion::ops::test
