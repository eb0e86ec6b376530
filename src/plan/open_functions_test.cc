// Functions are opened for providers that take their parts, and for those alone.
#include "plan/open_functions.h"

#include <gtest/gtest.h>

#include <set>

#include "ep/cpu/cpu_provider.h"
#include "ops/parsed_graph.h"

namespace trunnion::plan {
namespace {

class Takes final : public ep::Provider {
 public:
  explicit Takes(std::set<std::string> ops) : ops_(std::move(ops)) {}
  const ep::Identity& identity() const override { return identity_; }
  Status claim(const ir::Graph& graph, ep::Claims& claims) override {
    for (const ir::Node* n = graph.first(); n; n = n->next())
      if (ops_.contains(n->op_type())) claims.take(n);
    return {};
  }
  Result<std::unique_ptr<ep::Executable>> compile(const ep::Region&) override { return not_implemented("unused"); }

 private:
  std::set<std::string> ops_;
  ep::Identity identity_{"TakesExecutionProvider", "tests", "CPU"};
};

int nodes_with(std::set<std::string> ops) {
  const auto g = ops::test::parsed(R"(<opset: "" 17>
g(float[2,3] x, int64[2] t) => (float[] y) {
  y = SoftmaxCrossEntropyLoss(x, t)
})");
  std::vector<std::unique_ptr<ep::Provider>> list;
  list.push_back(std::make_unique<Takes>(std::move(ops)));
  list.push_back(ep::make_cpu_provider());
  EXPECT_TRUE(open_functions(*g, list, 1).ok());
  return g->node_count();
}

TEST(OpenFunctions, WhereMostPartsAreTaken) {
  EXPECT_GT(nodes_with({"LogSoftmax", "GatherElements", "Unsqueeze", "Squeeze", "Neg", "ReduceMean"}), 4);
}

TEST(OpenFunctions, NotWhereFewAre) { EXPECT_EQ(nodes_with({"Neg"}), 1); }

TEST(OpenFunctions, NotWhereItIsTakenWhole) {
  EXPECT_EQ(nodes_with({"SoftmaxCrossEntropyLoss", "LogSoftmax", "GatherElements", "Unsqueeze", "Squeeze", "Neg",
                        "ReduceMean"}),
            1);
}

}  // namespace
}  // namespace trunnion::plan
