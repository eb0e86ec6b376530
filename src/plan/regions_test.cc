// Regions of a compiling provider: one node in their place, and what happens to those that cannot be.
#include "plan/regions.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "ep/cpu/cpu_provider.h"
#include "ops/parsed_graph.h"
#include "plan/placement.h"

namespace trunnion::plan {
namespace {

using ops::test::parsed;

// Takes all nodes of some operators as one region; fails to compile any that has a Neg in it.
class Greedy final : public ep::Provider {
 public:
  explicit Greedy(std::vector<std::string> takes) : takes_(std::move(takes)) {}
  const ep::Identity& identity() const override { return identity_; }
  Status claim(const ir::Graph& graph, ep::Claims& claims) override {
    ep::Region region;
    for (const ir::Node* n = graph.first(); n; n = n->next()) {
      claims.refuse(n, "not wanted");
      if (std::find(takes_.begin(), takes_.end(), n->op_type()) != takes_.end()) region.nodes.push_back(n);
    }
    if (!region.nodes.empty()) claims.take_together(std::move(region));
    return {};
  }
  Result<std::unique_ptr<ep::Executable>> compile(const ep::Region&) override { return not_implemented("unused"); }
  std::vector<Result<ep::Fused>> compile_regions(const ir::Graph&, std::span<const ep::Region> regions) override {
    std::vector<Result<ep::Fused>> out;
    for (const ep::Region& r : regions) {
      bool neg = false;
      for (const ir::Node* n : r.nodes) neg |= n->op_type() == "Neg";
      if (neg)
        out.emplace_back(error(Code::fail, "no Neg"));
      else
        out.emplace_back(ep::Fused{"Greedy_0"});
    }
    return out;
  }

 private:
  std::vector<std::string> takes_;
  ep::Identity identity_{"GreedyExecutionProvider", "tests", "CPU"};
};

Result<Placement> place_with(ir::Graph& graph, std::vector<std::string> takes) {
  std::vector<std::unique_ptr<ep::Provider>> list;
  list.push_back(std::make_unique<Greedy>(std::move(takes)));
  list.push_back(ep::make_cpu_provider());
  return place(graph, list);
}

TEST(Regions, OneNodeStandsForThem) {
  const auto g = parsed(R"(<opset: "" 17>
g(float[2] x) => (float[2] y, float[2] z) {
  a = Relu(x)
  y = Abs(a)
  b = Neg(y)
  z = Add(b, a)
})");
  const auto placed = place_with(*g, {"Relu", "Abs"});
  ASSERT_TRUE(placed.ok()) << placed.status().message();
  EXPECT_EQ(placed->count(0), 2);
  EXPECT_EQ(placed->nodes[0].region, placed->nodes[1].region);
  EXPECT_EQ(placed->nodes[2].region, -1);
  ASSERT_EQ(g->node_count(), 3);
  const ir::Node* one = g->first();
  EXPECT_EQ(one->op_type(), "Greedy_0");
  EXPECT_EQ(one->domain(), "GreedyExecutionProvider");
  ASSERT_EQ(one->outputs().size(), 2u);
  EXPECT_EQ(one->output(0)->name(), "a");  // read by Add, outside
  EXPECT_EQ(one->output(1)->name(), "y");  // an output of the graph
  EXPECT_EQ(one->output(1)->fact.dtype(), DType::f32);
  EXPECT_EQ(g->outputs()[0], one->output(1));
}

TEST(Regions, NodesBetweenThatNeedOneMoveBehind) {
  const auto g = parsed(R"(<opset: "" 17>
g(float[2] x) => (float[2] y, float[2] z) {
  a = Relu(x)
  z = Neg(a)
  y = Abs(a)
})");
  const auto placed = place_with(*g, {"Relu", "Abs"});
  ASSERT_TRUE(placed.ok()) << placed.status().message();
  ASSERT_EQ(g->node_count(), 2);
  EXPECT_EQ(g->first()->op_type(), "Greedy_0");
  EXPECT_EQ(g->last()->op_type(), "Neg");
}

TEST(Regions, OneThatNeedsItselfIsRefused) {
  const auto g = parsed(R"(<opset: "" 17>
g(float[2] x) => (float[2] y) {
  a = Relu(x)
  b = Neg(a)
  y = Relu(b)
})");
  const auto placed = place_with(*g, {"Relu"});
  ASSERT_TRUE(placed.ok()) << placed.status().message();
  EXPECT_EQ(placed->count(0), 0);
  EXPECT_NE(placed->nodes[0].refused[0].reason.find("cannot run as one"), std::string::npos)
      << placed->nodes[0].refused[0].reason;
  EXPECT_EQ(g->node_count(), 3);
}

TEST(Regions, WhatCannotBeCompiledGoesToTheNextAndTheRestStays) {
  const auto g = parsed(R"(<opset: "" 17>
g(float[2] x) => (float[2] y) {
  a = Relu(x)
  y = Neg(a)
})");
  const auto placed = place_with(*g, {"Relu", "Neg"});
  ASSERT_TRUE(placed.ok()) << placed.status().message();
  EXPECT_EQ(placed->count(0), 1);
  EXPECT_EQ(placed->count(1), 1);
  ASSERT_EQ(placed->nodes[1].refused.size(), 1u);
  EXPECT_EQ(placed->nodes[1].refused[0].reason, "no Neg");
  EXPECT_EQ(g->node_count(), 2);
}

TEST(Regions, WhatComputesNothingIsNotTriedAlone) {
  const auto g = parsed(R"(<opset: "" 17>
g(float[2] x) => (float[2] y) {
  a = Neg(x)
  y = Identity(a)
})");
  const auto placed = place_with(*g, {"Neg", "Identity"});
  ASSERT_TRUE(placed.ok()) << placed.status().message();
  EXPECT_EQ(placed->count(0), 0);
  ASSERT_EQ(placed->nodes[1].refused.size(), 1u);
  EXPECT_EQ(placed->nodes[1].refused[0].reason,
            "the group that it was in does not compile, and alone it computes nothing");
}

TEST(Regions, BodiesGoWithTheirNode) {
  const auto g = parsed(R"(<opset: "" 17>
g(float[2] x, bool[] flag) => (float[2] y) {
  t = Neg(x)
  y = If<then_branch=a() => (o) { o = Relu(t) }, else_branch=b() => (p) { p = Abs(t) }>(flag)
})");
  const auto placed = place_with(*g, {"If"});
  ASSERT_TRUE(placed.ok()) << placed.status().message();
  EXPECT_EQ(placed->count(0), 3);
  ASSERT_EQ(g->node_count(), 2);
  ASSERT_EQ(g->last()->inputs().size(), 2u);  // what the bodies capture is an input
  EXPECT_EQ(g->last()->input(1)->name(), "t");
}

}  // namespace
}  // namespace trunnion::plan
