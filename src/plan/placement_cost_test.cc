// Placement by cost: islands that lose by copies go to the CPU, with the times; crossings are counted.
#include "plan/placement_cost.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "ep/cpu/cpu_provider.h"
#include "ep/null/null_provider.h"
#include "ops/parsed_graph.h"
#include "plan/placement.h"

namespace trunnion::plan {
namespace {

using ops::test::parsed;

// Takes runs of neighbours of some operators, each run as a region of its own.
class Picky final : public ep::Provider {
 public:
  Picky(std::vector<std::string> takes, bool own_memory, bool singles = false)
      : takes_(std::move(takes)), singles_(singles), identity_{"PickyExecutionProvider", "tests", "GPU", own_memory} {}
  const ep::Identity& identity() const override { return identity_; }
  Status claim(const ir::Graph& graph, ep::Claims& claims) override {
    ep::Region region;
    const auto close = [&] {
      if (!region.nodes.empty()) claims.take_together(std::move(region));
      region = {};
    };
    for (const ir::Node* n = graph.first(); n; n = n->next()) {
      claims.refuse(n, n->op_type() + " is not wanted");
      if (std::find(takes_.begin(), takes_.end(), n->op_type()) == takes_.end())
        close();
      else if (singles_)
        claims.take(n);
      else
        region.nodes.push_back(n);
    }
    close();
    return {};
  }
  Result<std::unique_ptr<ep::Executable>> compile(const ep::Region&) override { return not_implemented("unused"); }
  std::vector<Result<ep::Fused>> compile_regions(const ir::Graph&, std::span<const ep::Region> regions) override {
    std::vector<Result<ep::Fused>> out;
    for (size_t k = 0; k < regions.size(); ++k) out.emplace_back(ep::Fused{fmt::format("Picky_{}", k)});
    return out;
  }

 private:
  std::vector<std::string> takes_;
  bool singles_;
  ep::Identity identity_;
};

// A product of 2 * 64 * 256 * 256 operations on its own, Abs in the middle, then one addition of 64 KB.
constexpr const char* kModel = R"(<opset: "" 17>
g(float[64, 256] x, float[256, 256] w) => (float[64, 256] z) {
  [product] m = MatMul(x, w)
  [odd] a = Abs(m)
  [island] z = Add(a, m)
})";

struct Placed {
  std::unique_ptr<ir::Graph> graph;
  Placement placement;
};

Placed place_picky(const char* text, std::vector<std::string> takes, const PlacementOptions& options,
                   bool own_memory = true, bool singles = false) {
  Placed p;
  p.graph = parsed(text);
  std::vector<std::unique_ptr<ep::Provider>> list;
  list.push_back(std::make_unique<Picky>(std::move(takes), own_memory, singles));
  list.push_back(ep::make_cpu_provider());
  auto placed = place(*p.graph, list, options);
  EXPECT_TRUE(placed.ok()) << placed.status().message();
  if (placed.ok()) p.placement = std::move(*placed);
  return p;
}

// The provider multiplies a hundred times faster; a copy takes 10 us and 1 us more for every 10 kB.
PlacementOptions by_cost() {
  PlacementOptions how;
  how.values = true;
  how.cpu = 1;
  how.costs = {{10000, 1000, 1, 5, 10, 10}, {10, 10, 1, 0, 0, 10}};
  return how;
}

TEST(PlacementCost, AnIslandThatLosesIsRefusedWithItsTimes) {
  const auto p = place_picky(kModel, {"MatMul", "Add"}, by_cost()).placement;
  EXPECT_EQ(p.count(0), 1);
  EXPECT_EQ(p.nodes[0].provider, 0);  // 8.4e6 operations: 839 us on the CPU
  EXPECT_EQ(p.nodes[2].provider, 1);
  ASSERT_EQ(p.nodes[2].refused.size(), 1u);
  // Three tensors of 64 KB at 10 GB/s on the CPU are 20.7 us with the node's own; on the provider 6.2 us.
  EXPECT_EQ(p.nodes[2].refused[0].reason, "island of 1 node: saves 14.5 us, copies cost 33.1 us (2 values, 131 kB)");
  ASSERT_EQ(p.verdicts.size(), 2u);
  EXPECT_TRUE(p.verdicts[0].kept);
  EXPECT_EQ(p.verdicts[0].first, "MatMul 'product'");
  EXPECT_NEAR(p.verdicts[0].there_us, 1 + 8.388608e6 / 1e4, 1e-3);
  EXPECT_FALSE(p.verdicts[1].kept);
  EXPECT_NEAR(p.verdicts[1].copies_us, 2 * (10 + 65536 / 1e4), 1e-3);  // m is on the provider already
  EXPECT_EQ(p.nodes[1].refused[0].reason, "Abs is not wanted");
}

TEST(PlacementCost, TheOrderAloneTakesIt) {
  PlacementOptions how = by_cost();
  how.costs.clear();
  const auto p = place_picky(kModel, {"MatMul", "Add"}, how).placement;
  EXPECT_EQ(p.count(0), 2);
  EXPECT_TRUE(p.verdicts.empty());
}

TEST(PlacementCost, NodesThatAreTakenOneByOneAreIslandsToo) {
  const auto p = place_picky(kModel, {"MatMul", "Add"}, by_cost(), true, true).placement;
  // The skip connection joins both: one island of two nodes, which gains by the product.
  EXPECT_EQ(p.count(0), 2);
  ASSERT_EQ(p.verdicts.size(), 1u);
  EXPECT_EQ(p.verdicts[0].nodes, 2);
  EXPECT_EQ(p.verdicts[0].copies, 5);  // x, w, a in; m out for Abs, z out
  const auto q = place_picky(kModel, {"Add"}, by_cost(), true, true).placement;
  EXPECT_EQ(q.count(0), 0);
  EXPECT_NE(q.nodes[2].refused[0].reason.find("copies cost"), std::string::npos);
}

TEST(PlacementCost, WhatTheCpuCannotRunStays) {
  const auto g = parsed(R"(<opset: "" 17>
g(float[2] x) => (float[2] y) {
  y = Neg(x)
})");
  std::vector<std::unique_ptr<ep::Provider>> list;
  list.push_back(std::make_unique<Picky>(std::vector<std::string>{"Neg"}, true));
  list.push_back(ep::make_null_provider());  // stands for a CPU without that kernel
  const auto placed = place(*g, list, by_cost());
  ASSERT_TRUE(placed.ok()) << placed.status().message();
  EXPECT_EQ(placed->count(0), 1);
  EXPECT_TRUE(placed->verdicts.empty());
}

TEST(PlacementCost, CrossingsAreCountedOnceForEachReader) {
  PlacementOptions how;
  how.values = true;
  how.cpu = 1;
  const auto p = place_picky(kModel, {"MatMul", "Add"}, how).placement;
  std::vector<std::string> seen;
  for (const Crossing& c : p.crossings)
    seen.push_back(fmt::format("{} {}>{}{}", p.values[static_cast<size_t>(c.value)].name, c.from, c.to,
                               c.copied ? " copied" : ""));
  EXPECT_EQ(seen, (std::vector<std::string>{"x -1>0 copied", "w -1>0 copied", "m 0>1 copied", "a 1>0 copied",
                                            "z 0>-1 copied"}));
  const auto shared = place_picky(kModel, {"MatMul", "Add"}, how, false).placement;
  EXPECT_EQ(shared.crossings.size(), 5u);
  EXPECT_TRUE(std::ranges::none_of(shared.crossings, &Crossing::copied));
}

TEST(PlacementCost, FreeDimensionsAreTakenAsOneAndSaidSo) {
  const auto p = place_picky(R"(<opset: "" 17>
g(float[N, 4] x) => (float[N, 4] y) {
  y = Neg(x)
})",
                             {"Neg"}, by_cost());
  EXPECT_EQ(p.placement.nodes[0].refused[0].reason,
            "island of 1 node: loses 5 us, copies cost 20 us (2 values, 32 B, free dimensions taken as 1)");
}

TEST(PlacementCost, WhatIsGivenReplacesWhatIsAssumed) {
  const std::vector<std::string> names{"A", "B"};
  std::vector<Costs> costs(2);
  ASSERT_TRUE(read_costs("B:gflops=5,copy_us=0;", names, costs).ok());
  EXPECT_EQ(costs[1].gflops, 5);
  const auto text = [&](const char* t) { return read_costs(t, names, costs).message(); };
  EXPECT_EQ(text("C:gflops=1"), "session.placement_costs: there is no provider 'C', only A, B");
  EXPECT_NE(text("A:gflop=1").find("(did you mean 'gflops'?)"), std::string::npos) << text("A:gflop=1");
  EXPECT_EQ(text("A:gflops=0"), "session.placement_costs: gflops of A is '0', it is to be a number > 0");
  EXPECT_EQ(text("A:copy_us=x"), "session.placement_costs: copy_us of A is 'x', it is to be a number >= 0");
}

TEST(PlacementCost, TextsOfTimesAndSizes) {
  EXPECT_EQ(time_text(3), "3 us");
  EXPECT_EQ(time_text(1234), "1.23 ms");
  EXPECT_EQ(time_text(2.5e6), "2.5 s");
  EXPECT_EQ(size_text(999), "999 B");
  EXPECT_EQ(size_text(1.2e6), "1.2 MB");
}

}  // namespace
}  // namespace trunnion::plan
