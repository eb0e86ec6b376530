// Placement: the first provider that takes a node gets it, and every refusal keeps its reason.
#include "plan/placement.h"

#include <gtest/gtest.h>

#include "ep/cpu/cpu_provider.h"
#include "ep/null/null_provider.h"
#include "ops/parsed_graph.h"

namespace trunnion::plan {
namespace {

using ops::test::parsed;

std::vector<std::unique_ptr<ep::Provider>> null_and_cpu() {
  std::vector<std::unique_ptr<ep::Provider>> list;
  list.push_back(ep::make_null_provider());
  list.push_back(ep::make_cpu_provider());
  return list;
}

TEST(Placement, EveryRefusalKeepsItsReason) {
  const auto g = parsed(R"(<opset: "" 17>
g(float[2] x, bool[] flag) => (float[2] y) {
  [negate] t = Neg(x)
  [choose] y = If<then_branch=a() => (o) { [inner] o = Relu(t) }, else_branch=b() => (p) { p = Abs(t) }>(flag)
})");
  const auto placed = place(*g, null_and_cpu());
  ASSERT_TRUE(placed.ok()) << placed.status().message();
  EXPECT_EQ(placed->providers, (std::vector<std::string>{"NullExecutionProvider", "CPUExecutionProvider"}));
  ASSERT_EQ(placed->nodes.size(), 4u);  // bodies after their owner
  EXPECT_EQ(placed->count(0), 0);
  EXPECT_EQ(placed->count(1), 4);
  for (const auto& node : placed->nodes) {
    ASSERT_EQ(node.refused.size(), 1u);
    EXPECT_EQ(node.refused[0].provider, "NullExecutionProvider");
    EXPECT_NE(node.refused[0].reason.find(node.op_type), std::string::npos) << node.refused[0].reason;
  }
  EXPECT_EQ(placed->nodes[0].name, "negate");
  EXPECT_EQ(placed->nodes[2].name, "inner");
}

TEST(Placement, ANodeThatNobodyTakesIsAnErrorWithEveryReason) {
  const auto g = parsed(R"(<opset: "" 17>
g(float[2] x) => (float[2] y) {
  [negate] y = Neg(x)
})");
  std::vector<std::unique_ptr<ep::Provider>> list;
  list.push_back(ep::make_null_provider());
  list.push_back(ep::make_null_provider());
  const auto placed = place(*g, list);
  EXPECT_EQ(placed.status().code(), Code::not_implemented);
  EXPECT_NE(placed.status().message().find("negate"), std::string::npos);
  EXPECT_NE(placed.status().message().find("no provider can run it (NullExecutionProvider: "), std::string::npos)
      << placed.status().message();
}

TEST(Placement, ANullProviderCompilesNothing) {
  const auto g = parsed(R"(<opset: "" 17>
g(float[2] x) => (float[2] y) {
  y = Neg(x)
})");
  const auto provider = ep::make_null_provider();
  EXPECT_EQ(provider->identity().name, "NullExecutionProvider");
  EXPECT_TRUE(provider->pipeline(ep::Level::all).empty());
  EXPECT_EQ(provider->compile(ep::Region{{g->first()}}).status().code(), Code::not_implemented);
}

}  // namespace
}  // namespace trunnion::plan
