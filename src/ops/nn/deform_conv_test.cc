#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

OpRun deform(std::vector<Value> inputs, std::vector<ir::Attr> attrs = {}) {
  return {.op = "DeformConv", .opset = 22, .inputs = std::move(inputs), .attrs = std::move(attrs)};
}
Tensor image() { return tensor<float>({1, 1, 3, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8}); }
Tensor ones() { return tensor<float>({1, 1, 2, 2}, {1, 1, 1, 1}); }
Floats zeros(size_t n) { return Floats(n, 0.0f); }

TEST(DeformConv, WithoutOffsetsItIsAConvolution) {
  EXPECT_EQ(values<float>(output(deform({image(), ones(), tensor<float>({1, 8, 2, 2}, zeros(32))}))),
            (Floats{8, 12, 20, 24}));
  EXPECT_EQ(
      values<float>(output(deform({image(), ones(), tensor<float>({1, 8, 2, 2}, zeros(32)), tensor<float>({1}, {100})},
                                  {{"pads", Ints{1, 1, 0, 0}}, {"strides", Ints{2, 2}}}))),
      (Floats{100, 103, 109, 124}));
}

TEST(DeformConv, TapsAreReadAtTheirOffsets) {
  Floats offset = zeros(32);
  offset[0] = 0.5f;  // tap 0, first coordinate, pixel 0: between 0 and 3
  offset[4] = 1;     // its second coordinate: a column further
  EXPECT_EQ(values<float>(output(deform({image(), ones(), tensor<float>({1, 8, 2, 2}, offset)}))),
            (Floats{8 + 2.5f, 12, 20, 24}));
  offset[0] = -1.5f;  // outside
  EXPECT_EQ(values<float>(output(deform({image(), ones(), tensor<float>({1, 8, 2, 2}, offset)})))[0], 8);
  offset[0] = std::nanf("");
  EXPECT_EQ(values<float>(output(deform({image(), ones(), tensor<float>({1, 8, 2, 2}, offset)})))[0], 8);
}

TEST(DeformConv, MaskWeighsTaps) {
  Floats mask(16, 1.0f);
  mask[4 * 3] = 0.5f;  // tap 3 of pixel 0
  EXPECT_EQ(values<float>(output(deform({image(), ones(), tensor<float>({1, 8, 2, 2}, zeros(32)), Tensor{},
                                         tensor<float>({1, 4, 2, 2}, mask)}))),
            (Floats{6, 12, 20, 24}));
}

TEST(DeformConv, GroupsOfOffsetsAndOfChannels) {
  const Tensor x = tensor<float>({1, 2, 1, 3}, {1, 2, 4, 10, 20, 40}), w = tensor<float>({2, 1, 1, 1}, {1, 2});
  Floats offset = zeros(12);
  for (int i = 0; i < 3; ++i) offset[9 + static_cast<size_t>(i)] = 1;  // second group: the next column
  EXPECT_EQ(values<float>(output(deform({x, w, tensor<float>({1, 4, 1, 3}, offset)},
                                        {{"group", int64_t{2}}, {"offset_group", int64_t{2}}}))),
            (Floats{1, 2, 4, 40, 80, 0}));
}

TEST(DeformConv, OneAndThreeDimensionsAndOtherTypes) {
  EXPECT_EQ(values<double>(output(deform({tensor<double>({1, 1, 3}, {1, 2, 4}), tensor<double>({1, 1, 2}, {1, 10}),
                                          tensor<double>({1, 2, 2}, {0, 0, 0.25, 0})}))),
            (std::vector<double>{1 + 25, 2 + 40}));
  EXPECT_EQ(values<float>(output(deform({tensor<float>({1, 1, 1, 1, 2}, {3, 5}), tensor<float>({1, 1, 1, 1, 1}, {2}),
                                         tensor<float>({1, 3, 1, 1, 2}, {0, 0, 0, 0, 0.5f, 0})}))),
            (Floats{8, 10}));
  EXPECT_EQ(widened(output(deform({half({1, 1, 3}, {1, 2, 4}), half({1, 1, 1}, {1}), half({1, 1, 3}, {0.5f, 0, 0})}))),
            (Floats{1.5f, 2, 4}));
}

TEST(DeformConv, Refusals) {
  EXPECT_NE(failure(deform({image(), ones(), tensor<float>({1, 6, 2, 2}, zeros(24))})).find("needs 8"),
            std::string::npos);
  EXPECT_NE(failure(deform({image(), ones(), tensor<float>({1, 8, 2, 1}, zeros(16))})).find("needs 2"),
            std::string::npos);
  EXPECT_NE(failure(deform({image(), ones(), tensor<float>({1, 8, 2, 2}, zeros(32))}, {{"offset_group", int64_t{2}}}))
                .find("offset_group = 2"),
            std::string::npos);
}

}  // namespace
}  // namespace trunnion::ops::test
