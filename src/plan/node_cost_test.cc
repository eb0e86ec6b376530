// Operations and bytes of nodes, worked out by hand.
#include "plan/node_cost.h"

#include <gtest/gtest.h>

#include "ops/parsed_graph.h"

namespace trunnion::plan {
namespace {

NodeCost cost_of(std::string_view text) {
  const auto g = ops::test::parsed(text);
  if (!g) return {};
  NodeCost all{0, 0};
  for (const ir::Node* n = g->first(); n; n = n->next()) {
    const NodeCost c = node_cost(*n);
    all.flops = all.flops + c.flops;
    all.bytes = all.bytes + c.bytes;
    all.arithmetic = c.arithmetic;
  }
  return all;
}

std::string flops(std::string_view text) { return cost_of(text).flops.text(); }

TEST(NodeCost, Products) {
  const NodeCost c =
      cost_of(R"(<opset: "" 17> g(float[5,7] a, float[7,11] b) => (float[5,11] y) { y = MatMul(a, b) })");
  EXPECT_EQ(c.flops.text(), std::to_string(2 * 5 * 7 * 11));
  EXPECT_EQ(c.bytes.text(), std::to_string(4 * (5 * 7 + 7 * 11 + 5 * 11)));
  EXPECT_EQ(c.arithmetic, "float32");
  EXPECT_EQ(flops(R"(<opset: "" 17> g(float[7,5] a, float[7,11] b) => (float[5,11] y) { y = Gemm<transA=1>(a, b) })"),
            std::to_string(2 * 5 * 7 * 11));
  EXPECT_EQ(flops(R"(<opset: "" 17> g(float[3,5,7] a, float[7,11] b) => (y) { y = MatMul(a, b) })"),
            std::to_string(2 * 3 * 5 * 7 * 11));
  EXPECT_EQ(flops(R"(<opset: "" 17> g(float[N,7] a, float[7,11] b) => (y) { y = MatMul(a, b) })"), "154*N");
  EXPECT_EQ(cost_of(R"(<opset: "" 17> g(double[2,2] a) => (y) { y = MatMul(a, a) })").arithmetic, "float64");
  EXPECT_EQ(cost_of(R"(<opset: "" 17> g(uint8[5,7] a, int8[7,11] b) => (y) { y = MatMulInteger(a, b) })").arithmetic,
            "int8");
}

TEST(NodeCost, Convolutions) {
  EXPECT_EQ(flops(R"(<opset: "" 17> g(float[2,8,10,10] x, float[16,4,3,3] w) => (y) {
  y = Conv<group=2, pads=[1,1,1,1]>(x, w)
})"),
            std::to_string(2 * (2 * 16 * 10 * 10) * (4 * 9)));
  EXPECT_EQ(flops(R"(<opset: "" 17> g(float[1,8,10,10] x, float[8,16,2,2] w) => (y) {
  y = ConvTranspose<strides=[2,2]>(x, w)
})"),
            std::to_string(2 * (8 * 10 * 10) * (16 * 4)));
}

TEST(NodeCost, RecurrentLayers) {
  // Four gates of hidden size 6, input size 5, 7 steps, 3 rows.
  EXPECT_EQ(flops(R"(<opset: "" 17> g(float[7,3,5] x, float[1,24,5] w, float[1,24,6] r) => (y) {
  y = LSTM<hidden_size=6>(x, w, r)
})"),
            std::to_string(2 * 7 * 3 * 24 * (5 + 6)));
}

TEST(NodeCost, Attention) {
  EXPECT_EQ(flops(R"(<opset: "" 23> g(float[2,4,16,8] q, float[2,4,20,8] k, float[2,4,20,8] v) => (y) {
  y = Attention(q, k, v)
})"),
            std::to_string(2 * 2 * (2 * 4 * 16 * 20 * 8)));
}

TEST(NodeCost, EinsumMultipliesEveryIndex) {
  EXPECT_EQ(
      flops(R"(<opset: "" 17> g(float[2,3,5] a, float[2,5,7] b) => (y) { y = Einsum<equation="bij,bjk->bik">(a, b) })"),
      std::to_string(2 * 2 * 3 * 5 * 7));
}

TEST(NodeCost, OnlyBytesElsewhere) {
  const NodeCost add = cost_of(R"(<opset: "" 17> g(float[4,8] a, float[8] b) => (y) { y = Add(a, b) })");
  EXPECT_EQ(add.flops.text(), "0");
  EXPECT_EQ(add.bytes.text(), std::to_string(4 * (32 + 8 + 32)));
  const NodeCost rows = cost_of(R"(<opset: "" 17> g(float[1000,8] a, int64[3] i) => (y) { y = Gather(a, i) })");
  EXPECT_EQ(rows.bytes.text(), std::to_string(3 * 8 * 4 + 3 * 8 + 3 * 8 * 4));
  EXPECT_EQ(cost_of(R"(<opset: "" 17> g(float[4,8] a) => (y) { y = Flatten(a) })").bytes.text(), "0");
}

TEST(NodeCost, UnknownShapesAreUnknown) {
  const NodeCost c = cost_of(R"(<opset: "" 17> g(float a, float b) => (y) { y = MatMul(a, b) })");
  EXPECT_TRUE(c.flops.is_unknown() || c.flops.text() == "2") << c.flops.text();
}

}  // namespace
}  // namespace trunnion::plan
