// A gate per channel before a 1x1 convolution: what becomes one node, and what stays.
#include <gtest/gtest.h>

#include "ep/cpu/fusion.h"
#include "ops/parsed_graph.h"

namespace trunnion::ep {
namespace {

std::string fused(std::string_view body, int changes, const char* level = "fp32") {
  auto graph = ops::test::parsed(R"(<opset: "" 17, "trunnion" 1>
g(float[2,6,6,24] x, float[2,1,1,24] s, float[2,6,6,16] r) => (float[?,?,?,?] y) {
  float[16,24,1,1] w = random(1, -1, 1)
  float[16,24,3,3] v = random(2, -1, 1)
  float[16] b = random(3, -1, 1)
  )" + std::string(body) + "\n}");
  if (!graph) return "";
  passes::PassContext context;
  auto precision = PrecisionChoice::parse(level, "");
  EXPECT_TRUE(precision.ok());
  context.precision = *precision;
  Status status = gate_fusion(*graph, context);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(context.changes, changes);
  status = ops::resolve(*graph);
  if (status.ok()) status = ops::infer(*graph);
  EXPECT_TRUE(status.ok()) << status.message();
  std::string out;
  for (const ir::Node* n = graph->first(); n; n = n->next()) {
    out += (out.empty() ? "" : " ") + n->op_type() + "(";
    for (const ir::Value* v : n->inputs()) out += v ? std::string(v->name()) : "-";
    out += ")";
  }
  return out;
}

TEST(GateFusion, OneNode) {
  EXPECT_EQ(fused("m = Mul(x, s)\n y = trunnion::NhwcConv(m, w)", 1), "GatedConv(xws)");
  EXPECT_EQ(fused("m = Mul(s, x)\n y = trunnion::NhwcConv<strides=[1,1], pads=[0,0,0,0]>(m, w, b)", 1),
            "GatedConv(xwsb)");
  EXPECT_EQ(fused("m = Mul(x, s)\n y = trunnion::NhwcConv(m, w, _, r)", 1), "GatedConv(xws-r)");
}

TEST(GateFusion, OthersStay) {
  EXPECT_EQ(fused("m = Mul(x, s)\n y = trunnion::NhwcConv(m, v)", 0), "Mul(xs) NhwcConv(mv)");
  EXPECT_EQ(fused("m = Mul(x, s)\n y = trunnion::NhwcConv<strides=[2,2]>(m, w)", 0), "Mul(xs) NhwcConv(mw)");
  EXPECT_EQ(fused("m = Mul(x, x)\n y = trunnion::NhwcConv(m, w)", 0), "Mul(xx) NhwcConv(mw)");
  EXPECT_EQ(fused("m = Mul(x, s)\n c = trunnion::NhwcConv(m, w)\n p = ReduceMax<keepdims=1>(m)\n y = Add(c, p)", 0),
            "Mul(xs) NhwcConv(mw) ReduceMax(m) Add(cp)");
  EXPECT_EQ(fused("m = Mul(x, s)\n y = trunnion::NhwcConv(m, w)", 0, "strict"), "Mul(xs) NhwcConv(mw)");
}

}  // namespace
}  // namespace trunnion::ep
