// RotaryEmbedding and MRotaryEmbedding of com.microsoft.
#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

OpRun op(const char* name, std::vector<Value> inputs, std::vector<ir::Attr> attrs = {}) {
  return {.op = name, .opset = 1, .inputs = std::move(inputs), .attrs = std::move(attrs), .domain = "com.microsoft"};
}

// Quarter turns: angle i of position p is i p quarters.
const auto kCos = [] { return tensor<float>({4, 2}, {1, 1, 1, 0, 1, -1, 1, 0}); };
const auto kSin = [] { return tensor<float>({4, 2}, {0, 0, 0, 1, 0, 0, 0, -1}); };

TEST(ContribRotary, HalvesPairsAndOffsets) {
  const auto x = tensor<float>({1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const auto ids = tensor<int64_t>({1, 2}, {1, 2}), first = tensor<int64_t>({1}, {1});
  const Floats halves{1, -4, 3, 2, 5, -6, 7, -8};
  EXPECT_EQ(values<float>(output(op("RotaryEmbedding", {x, ids, kCos(), kSin()}))), halves);
  EXPECT_EQ(values<float>(output(op("RotaryEmbedding", {x, first, kCos(), kSin()}))), halves);
  EXPECT_EQ(values<float>(output(op("RotaryEmbedding", {x, ids, kCos(), kSin()}, {{"interleaved", int64_t{1}}}))),
            (Floats{1, 2, -4, 3, 5, 6, -7, -8}));
  EXPECT_EQ(widened(output(
                op("RotaryEmbedding", {half({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}), ids,
                                       half({4, 2}, values<float>(kCos())), half({4, 2}, values<float>(kSin()))}))),
            halves);
}

TEST(ContribRotary, PartOfTheHead) {
  const auto x = tensor<float>({1, 1, 6}, {1, 2, 3, 4, 5, 6}), ids = tensor<int64_t>({1, 1}, {1});
  const auto cos = tensor<float>({2, 1}, {1, 0}), sin = tensor<float>({2, 1}, {0, 1});
  const std::vector<ir::Attr> attrs{{"num_heads", int64_t{2}}, {"rotary_embedding_dim", int64_t{2}}};
  EXPECT_EQ(values<float>(output(op("RotaryEmbedding", {x, ids, cos, sin}, attrs))), (Floats{-2, 1, 3, -5, 4, 6}));
}

TEST(ContribRotary, ThreePositions) {
  // Three angles: one for each position, all of them quarter turns when the position is 1.
  const auto cos = tensor<float>({2, 3}, {1, 1, 1, 0, 0, 0}), sin = tensor<float>({2, 3}, {0, 0, 0, 1, 1, 1});
  const auto x = tensor<float>({1, 1, 1, 6}, {1, 2, 3, 4, 5, 6});
  const std::vector<int64_t> sections{1, 1, 1}, two{2, 1, 0};
  const auto run = [&](std::vector<int64_t> ids, const std::vector<int64_t>& s, int64_t layout) {
    return values<float>(output(op("MRotaryEmbedding", {x, tensor<int64_t>({3, 1, 1}, ids), cos, sin},
                                   {{"mrope_section", s}, {"mrope_layout", layout}, {"num_heads", int64_t{1}}})));
  };
  EXPECT_EQ(run({1, 0, 0}, sections, 0), (Floats{-4, 2, 3, 1, 5, 6}));
  EXPECT_EQ(run({0, 0, 1}, sections, 1), (Floats{1, 2, -6, 4, 5, 3}));
  EXPECT_EQ(run({1, 0, 0}, two, 0), (Floats{-4, -5, 3, 1, 2, 6}));
  EXPECT_EQ(run({1, 0, 0}, two, 1), (Floats{-4, 2, -6, 1, 5, 3}));
}

TEST(ContribRotary, Checks) {
  const auto x = tensor<float>({1, 1, 4}, {1, 2, 3, 4});
  EXPECT_NE(failure(op("RotaryEmbedding", {x, tensor<int64_t>({1, 1}, {4}), kCos(), kSin()})).find("is 4, but"),
            std::string::npos);
  EXPECT_NE(failure(op("RotaryEmbedding", {x, tensor<int64_t>({3}, {0, 0, 0}), kCos(), kSin()})).find("{3}"),
            std::string::npos);
}

}  // namespace
}  // namespace trunnion::ops::test
