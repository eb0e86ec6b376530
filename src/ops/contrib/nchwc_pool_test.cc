#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

// What this machine's blocks hold, when nothing in the model tells.
int64_t block() {
  const OpRun r{
      .op = "ReorderInput", .opset = 1, .inputs = {tensor<float>({1, 1, 1, 1}, {0})}, .domain = "com.microsoft.nchwc"};
  return shape(output(r))[1];
}

// One block, a row of two pixels: channel c of pixel p is 10 p + c.
OpRun node(std::string op, std::vector<ir::Attr> attrs = {}) {
  Floats v;
  for (int64_t p = 0; p < 2; ++p)
    for (int64_t c = 0; c < block(); ++c) v.push_back(static_cast<float>(10 * p + c));
  return {.op = std::move(op),
          .opset = 1,
          .inputs = {tensor<float>({1, block(), 1, 2}, v)},
          .attrs = std::move(attrs),
          .domain = "com.microsoft.nchwc"};
}

// Channel c of every pixel.
Floats channel(const OpRun& r, int64_t c) {
  const auto v = values<float>(output(r));
  Floats out;
  for (size_t i = static_cast<size_t>(c); i < v.size(); i += static_cast<size_t>(block())) out.push_back(v[i]);
  return out;
}

TEST(NchwcPool, Windows) {
  const std::vector<ir::Attr> window{{"kernel_shape", Ints{1, 2}}, {"pads", Ints{0, 1, 0, 0}}};
  auto counted = window;
  counted.push_back({"count_include_pad", int64_t{1}});
  EXPECT_EQ(channel(node("MaxPool", window), 1), (Floats{1, 11}));
  EXPECT_EQ(channel(node("AveragePool", window), 1), (Floats{1, 6}));
  EXPECT_EQ(channel(node("AveragePool", counted), 1), (Floats{0.5f, 6}));
}

TEST(NchwcPool, WindowsLargerThanAnyInput) {
  const int64_t large = int64_t{1} << 31;
  const OpRun r = node("MaxPool", {{"kernel_shape", Ints{large, large}},
                                   {"strides", Ints{large, large}},
                                   {"pads", Ints{large - 1, large - 1, 0, 0}}});
  EXPECT_EQ(channel(r, 1), (Floats{1}));
}

TEST(NchwcPool, Global) {
  EXPECT_EQ(channel(node("GlobalAveragePool"), 2), (Floats{7}));
  EXPECT_EQ(channel(node("GlobalMaxPool"), 2), (Floats{12}));
  EXPECT_EQ(shape(output(node("GlobalMaxPool"))), (Ints{1, block(), 1, 1}));
}

TEST(NchwcUpsample, NearestAndLinear) {
  const ir::Attr twice{"scales", Ints{1, 1, 1, 2}}, linear{"mode", std::string("linear")};
  const auto coords = [](const char* mode) { return ir::Attr{"coordinate_transformation_mode", std::string(mode)}; };
  EXPECT_EQ(channel(node("Upsample", {{"scales", Ints{1, 1, 2, 2}}}), 3), (Floats{3, 3, 13, 13, 3, 3, 13, 13}));
  EXPECT_EQ(channel(node("Upsample", {twice, linear}), 0), (Floats{0, 5, 10, 10}));
  EXPECT_EQ(channel(node("Upsample", {twice, linear, coords("half_pixel")}), 0), (Floats{0, 2.5f, 7.5f, 10}));
  const auto corners = channel(node("Upsample", {twice, linear, coords("align_corners")}), 0);
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(corners[i], 10.0 * static_cast<double>(i) / 3, 1e-6);
  EXPECT_NE(failure(node("Upsample", {{"scales", Ints{2, 1, 1, 1}}})).find("scales is [2,1,1,1]"), std::string::npos);
}

}  // namespace
}  // namespace trunnion::ops::test
