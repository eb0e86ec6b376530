#include <gtest/gtest.h>

#include "ep/cpu/fusion.h"
#include "ops/parsed_graph.h"

namespace trunnion::ep {
namespace {

// The nodes after the pass, as "domain.Operator".
std::string taken(std::string_view text, int expected_changes, std::unique_ptr<ir::Graph>* keep = nullptr) {
  auto graph = ops::test::parsed(text);
  if (!graph) return "";
  passes::PassContext context;
  const Status s = saved_fusion(*graph, context);
  EXPECT_TRUE(s.ok()) << s.message();
  EXPECT_EQ(context.changes, expected_changes);
  std::string out;
  for (const ir::Node* n = graph->first(); n; n = n->next())
    out += (out.empty() ? "" : " ") + n->domain() + "." + n->op_type();
  if (keep) *keep = std::move(graph);
  return out;
}

TEST(SavedFusion, Convolutions) {
  std::unique_ptr<ir::Graph> graph;
  EXPECT_EQ(taken(R"(<opset: "" 17, "com.microsoft" 1>
g(float[1,2,8,8] x) => (float[?,?,?,?] y) {
  float[3,2,3,3] w = random(1)
  y = com.microsoft::FusedConv<activation="LeakyRelu", activation_params=[0.25]>(x, w)
})",
                  1, &graph),
            "trunnion.FusedConv");
  EXPECT_EQ(graph->first()->attr("activation", ""), "leaky_relu");
  EXPECT_EQ(graph->first()->attr("activation_a", 0.0f), 0.25f);
}

TEST(SavedFusion, Activations) {
  std::unique_ptr<ir::Graph> graph;
  EXPECT_EQ(taken(R"(<opset: "" 17, "com.microsoft" 1>
g(float[4] x, float[4] b) => (float[4] y) {
  q = com.microsoft::QuickGelu(x)
  g = com.microsoft::Gelu(q)
  f = com.microsoft::FastGelu(g)
  y = com.microsoft::FastGelu(f, b)
})",
                  3, &graph),
            ".Swish .Gelu .Gelu com.microsoft.FastGelu");
  EXPECT_EQ(graph->first()->attr("alpha", 0.0f), 1.702f);
}

TEST(SavedFusion, Products) {
  const auto net = [](std::string_view attrs, std::string_view b) {
    return std::string(R"(<opset: "" 17, "com.microsoft" 1>
g(float[2,3,4] a, float)") +
           std::string(b) + R"( b) => (float[?,?,?] y) {
  y = com.microsoft::FusedMatMul<)" +
           std::string(attrs) + ">(a, b)\n}";
  };
  EXPECT_EQ(taken(net("transB=1, alpha=0.5", "[5,4]"), 1), "trunnion.FusedMatMul");
  EXPECT_EQ(taken(net("alpha=0.5", "[2,4,5]"), 1), "trunnion.FusedMatMul");
  EXPECT_EQ(taken(net("transB=1", "[2,5,4]"), 0), "com.microsoft.FusedMatMul");
  EXPECT_EQ(taken(net("transA=1", "[2,3,5]"), 0), "com.microsoft.FusedMatMul");
}

}  // namespace
}  // namespace trunnion::ep
