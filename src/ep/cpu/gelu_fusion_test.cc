#include <gtest/gtest.h>

#include "ep/cpu/fusion.h"
#include "ir/verify.h"
#include "ops/parsed_graph.h"

namespace trunnion::ep {
namespace {

// The nodes after the pass; `how` gets attribute approximate of the Gelu.
std::string fused(std::string_view lines, std::string* how = nullptr) {
  auto graph = ops::test::parsed(std::string(R"(<opset: "" 17>
g(float[N,8] x) => (float[N,8] y) {
  float[] half = 0.5
  float[] one = 1
  float[] two = 2
  float[] cube = 3
  float[] root = 1.4142135
  float[] inner = 0.7978846
  float[] cubic = 0.044715
)") + std::string(lines) + "\n}");
  if (!graph) return "";
  passes::PassContext context;
  Status s = gelu_fusion(*graph, context);
  if (s.ok()) s = ops::resolve(*graph);
  if (s.ok()) s = ops::infer(*graph);
  if (s.ok()) s = ir::verify(*graph);
  EXPECT_TRUE(s.ok()) << s.message();
  std::string out;
  for (const ir::Node* n = graph->first(); n; n = n->next()) {
    out += (out.empty() ? "" : " ") + n->op_type();
    if (how && n->op_type() == "Gelu") *how = n->attr("approximate", "none");
  }
  return out;
}

TEST(GeluFusion, ByTheErrorFunction) {
  std::string how;
  EXPECT_EQ(fused("d = Div(x, root)\n e = Erf(d)\n a = Add(one, e)\n m = Mul(a, x)\n y = Mul(half, m)", &how), "Gelu");
  EXPECT_EQ(how, "none");
  EXPECT_EQ(fused("h = Mul(x, half)\n d = Div(x, root)\n e = Erf(d)\n a = Add(e, one)\n y = Mul(h, a)"), "Gelu");
}

TEST(GeluFusion, ByTheTangent) {
  std::string how;
  const std::string rest = "\n c = Mul(p, cubic)\n s = Add(x, c)\n t = Mul(s, inner)\n u = Tanh(t)\n a = Add(u, one)\n";
  EXPECT_EQ(fused("p = Pow(x, cube)" + rest + " h = Mul(x, half)\n y = Mul(h, a)", &how), "Gelu");
  EXPECT_EQ(how, "tanh");
  EXPECT_EQ(fused("q = Mul(x, x)\n p = Mul(q, x)" + rest + " m = Mul(x, a)\n y = Mul(m, half)"), "Gelu");
  EXPECT_EQ(fused("q = Pow(x, two)\n p = Mul(x, q)" + rest + " m = Mul(half, a)\n y = Mul(x, m)"), "Gelu");
}

TEST(GeluFusion, OthersStay) {
  const std::string whole = "Pow Mul Add Mul Tanh Add Mul Mul";
  const std::string rest = " c = Mul(p, cubic)\n s = Add(x, c)\n t = Mul(s, inner)\n u = Tanh(t)\n a = Add(u, one)\n";
  EXPECT_EQ(fused("p = Pow(x, two)\n" + rest + " h = Mul(x, half)\n y = Mul(h, a)"), whole);  // the square of x
  EXPECT_EQ(fused("p = Pow(x, cube)\n" + rest + " h = Mul(x, cubic)\n y = Mul(h, a)"), whole);
  EXPECT_EQ(fused("p = Pow(x, cube)\n" + rest + " h = Mul(p, half)\n y = Mul(h, a)"), whole);
}

}  // namespace
}  // namespace trunnion::ep
