#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

OpRun pad(const Tensor& x, Ints pads, const char* mode, Tensor value = {}, Tensor axes = {}) {
  return {.op = "Pad",
          .opset = 25,
          .inputs = {x, tensor<int64_t>({static_cast<int64_t>(pads.size())}, pads), value, axes},
          .attrs = {{"mode", std::string(mode)}}};
}

TEST(Pad, Modes) {
  const Tensor x = tensor<float>({3}, {1, 2, 3});
  EXPECT_EQ(values<float>(output(pad(x, {2, 1}, "constant"))), (Floats{0, 0, 1, 2, 3, 0}));
  EXPECT_EQ(values<float>(output(pad(x, {2, 1}, "constant", tensor<float>({}, {9})))), (Floats{9, 9, 1, 2, 3, 9}));
  EXPECT_EQ(values<float>(output(pad(x, {2, 1}, "reflect"))), (Floats{3, 2, 1, 2, 3, 2}));
  EXPECT_EQ(values<float>(output(pad(x, {2, 1}, "edge"))), (Floats{1, 1, 1, 2, 3, 3}));
  EXPECT_EQ(values<float>(output(pad(x, {2, 1}, "wrap"))), (Floats{2, 3, 1, 2, 3, 1}));
}

TEST(Pad, NegativePadsCropFirst) {
  const Tensor x = tensor<float>({5}, {0, 1, 2, 3, 4});
  EXPECT_EQ(values<float>(output(pad(x, {-2, 1}, "constant"))), (Floats{2, 3, 4, 0}));
  EXPECT_EQ(values<float>(output(pad(x, {-2, 3}, "wrap"))), (Floats{2, 3, 4, 2, 3, 4}));
  EXPECT_EQ(values<float>(output(pad(x, {-2, 3}, "edge"))), (Floats{2, 3, 4, 4, 4, 4}));
  EXPECT_EQ(values<float>(output(pad(x, {2, -3}, "reflect"))), (Floats{0, 1, 0, 1}));
  EXPECT_EQ(shape(output(pad(x, {-2, -3}, "constant"))), (Ints{0}));
  failure(pad(x, {-3, -3}, "constant"));
}

TEST(Pad, TwoAxes) {
  const Tensor x = tensor<int32_t>({2, 2}, {1, 2, 3, 4});
  const Tensor last = tensor<int64_t>({1}, {-1});
  EXPECT_EQ(values<int32_t>(output(pad(x, {1, 0, 0, 1}, "edge"))), (std::vector<int32_t>{1, 2, 2, 1, 2, 2, 3, 4, 4}));
  EXPECT_EQ(values<int32_t>(output(pad(x, {1, 0}, "constant", tensor<int32_t>({1}, {7}), last))),
            (std::vector<int32_t>{7, 1, 2, 7, 3, 4}));
  EXPECT_EQ(
      shape(output(pad(Tensor::allocate(DType::f32, std::vector<int64_t>{0, 2}).value(), {1, 0, 1, 0}, "constant"))),
      (Ints{2, 2}));
  failure(pad(Tensor::allocate(DType::f32, std::vector<int64_t>{0, 2}).value(), {1, 0, 1, 0}, "edge"));
  failure(pad(x, {1, 0}, "constant"));
  failure(pad(x, {1, 0}, "mirror"));
}

TEST(Pad, Attributes) {
  const Tensor x = tensor<float>({1, 1}, {5});
  EXPECT_EQ(values<float>(output(
                {.op = "Pad", .opset = 2, .inputs = {x}, .attrs = {{"pads", Ints{0, 1, 0, 1}}, {"value", 2.f}}})),
            (Floats{2, 5, 2}));
  EXPECT_EQ(values<float>(output({.op = "Pad", .opset = 1, .inputs = {x}, .attrs = {{"paddings", Ints{0, 1, 0, 0}}}})),
            (Floats{0, 5}));
}

TEST(Pad, OtherTypes) {
  using Texts = std::vector<std::string>;
  const Tensor s = strings({3}, {"a", "b", "c"});
  EXPECT_EQ(texts(output(pad(s, {1, 0}, "constant"))), (Texts{"", "a", "b", "c"}));
  EXPECT_EQ(texts(output(pad(s, {1, 0}, "constant", strings({}, {"z"})))), (Texts{"z", "a", "b", "c"}));
  EXPECT_EQ(texts(output(pad(s, {2, 3}, "reflect"))), (Texts{"c", "b", "a", "b", "c", "b", "a", "b"}));
  EXPECT_EQ(texts(output(pad(s, {1, 1}, "wrap"))), (Texts{"c", "a", "b", "c", "a"}));
  EXPECT_EQ(texts(output(pad(s, {-1, 1}, "edge"))), (Texts{"b", "c", "c"}));
  EXPECT_EQ(raw_values<uint8_t>(output(pad(raw<uint8_t>(DType::u4, {3}, {0x21, 0x03}), {1, 0}, "constant",
                                           raw<uint8_t>(DType::u4, {1}, {0x0f})))),
            (std::vector<uint8_t>{0x1f, 0x32}));
}

TEST(Pad, Symbols) {
  EXPECT_EQ(inferred({.op = "Pad"}, {fact({symbol("N"), 3}), content_fact({0, 1, 2, 1})}), "{N + 2,5}");
  EXPECT_EQ(inferred({.op = "Pad"}, {fact({symbol("N"), 3}), fact({4}, DType::i64)}), "{?,?}");
}

}  // namespace
}  // namespace trunnion::ops::test
