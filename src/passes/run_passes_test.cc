// A list of passes with a broken one in it: it is undone and left out, the others work.
#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "ir/rewriter.h"
#include "ops/parsed_graph.h"
#include "passes/pass.h"
#include "passes/pass_harness.h"

namespace trunnion::passes {
namespace {

constexpr std::string_view kGraph = R"(<opset: "" 17>
g(float[4] x) => (float[4] y) {
  a = Neg(x)
  b = Identity(a)
  c = Abs(b)
  y = Neg(c)
})";

// Bypasses Identity.
Status good(ir::Graph& graph, PassContext& context) {
  ir::Rewriter rw(graph, "Good", context.log);
  for (ir::Node* n = graph.first(); n;) {
    ir::Node* next = n->next();
    if (n->op_type() == "Identity") {
      rw.begin("identity", {n});
      rw.bypass(n, n->input(0));
    }
    n = next;
  }
  context.changes += rw.changes();
  return {};
}

// Leaves half a rewrite behind and gives up.
Status fails(ir::Graph& graph, PassContext& context) {
  ir::Rewriter rw(graph, "Fails", context.log);
  rw.begin("half", {graph.first()});
  rw.change_op(graph.first(), "Abs", "", 17);
  return error(Code::engine_error, "a table is full");
}

// Makes a node read what a later one makes.
Status reorders(ir::Graph& graph, PassContext& context) {
  ir::Rewriter rw(graph, "Reorders", context.log);
  if (graph.first() == graph.last()) return {};
  rw.begin("move", {graph.last()});
  rw.move_before(graph.last(), graph.first());
  context.changes += rw.changes();
  return {};
}

// The same, and says nothing of it.
Status reorders_quietly(ir::Graph& graph, PassContext& context) {
  const int before = context.changes;
  TRN_TRY(reorders(graph, context));
  context.changes = before;
  return {};
}

// Types that do not go together: inference refuses the graph.
Status mistypes(ir::Graph& graph, PassContext& context) {
  ir::Rewriter rw(graph, "Mistypes", context.log);
  rw.begin("op", {graph.last()});
  rw.change_op(graph.last(), "NoSuchOperator", "trunnion", 1);
  context.changes += rw.changes();
  return {};
}

struct Ran {
  Status status;
  std::string operators;
  std::vector<PassFault> faults;
  std::vector<PassRecord> records;
};

Ran run(std::vector<Pass> list, bool verify = false) {
  Ran r;
  auto graph = ops::test::parsed(kGraph);
  if (!graph) return r;
  PassContext context;
  RunOptions options;
  options.verify = verify;
  r.status = run_passes_or_undo(graph, list, context, options, r.records, r.faults);
  if (!r.status.ok()) return r;
  for (const ir::Node* n = graph->first(); n; n = n->next())
    r.operators += (r.operators.empty() ? "" : " ") + n->op_type();
  auto before = ops::test::parsed(kGraph);
  const auto inputs = test::seeded_inputs(*before, 3);
  auto want = test::interpret(*before, inputs), got = test::interpret(*graph, inputs);
  EXPECT_TRUE(want.ok() && got.ok());
  if (want.ok() && got.ok()) test::expect_equal(*want, *got, r.operators);
  return r;
}

TEST(RunPasses, NothingToUndo) {
  const Ran r = run({{"Good", good}});
  EXPECT_TRUE(r.status.ok()) << r.status.message();
  EXPECT_EQ(r.operators, "Neg Abs Neg");
  EXPECT_TRUE(r.faults.empty());
}

TEST(RunPasses, AFailedPassIsUndone) {
  const Ran r = run({{"Fails", fails}, {"Good", good}});
  EXPECT_TRUE(r.status.ok()) << r.status.message();
  EXPECT_EQ(r.operators, "Neg Abs Neg");
  ASSERT_EQ(r.faults.size(), 1u);
  EXPECT_EQ(r.faults[0].pass, "Fails");
  EXPECT_NE(r.faults[0].message.find("a table is full"), std::string::npos) << r.faults[0].message;
  ASSERT_EQ(r.records.size(), 1u);
  EXPECT_EQ(r.records[0].name, "Good");
}

TEST(RunPasses, ABrokenGraphIsUndone) {
  for (bool verify : {false, true}) {
    const Ran r = run({{"Good", good}, {"Reorders", reorders}, {"Mistypes", mistypes}}, verify);
    EXPECT_TRUE(r.status.ok()) << r.status.message();
    EXPECT_EQ(r.operators, "Neg Abs Neg");
    ASSERT_EQ(r.faults.size(), 2u);
    // Which of them shows first depends on how much is checked.
    EXPECT_EQ(std::set<std::string>({r.faults[0].pass, r.faults[1].pass}),
              std::set<std::string>({"Reorders", "Mistypes"}));
  }
}

TEST(RunPasses, AFaultThatNobodyOwnsUpToUndoesAll) {
  const Ran r = run({{"Good", good}, {"Reorders", reorders_quietly}});
  EXPECT_TRUE(r.status.ok()) << r.status.message();
  EXPECT_EQ(r.operators, "Neg Identity Abs Neg");
  ASSERT_EQ(r.faults.size(), 1u);
  EXPECT_EQ(r.faults[0].pass, "");
}

TEST(RunPasses, AFaultOfARequiredPassIsAnError) {
  for (const bool with_others : {false, true}) {
    std::vector<Pass> list{{"Fails", fails, true}};
    if (with_others) list.insert(list.begin(), {"Good", good});
    const Ran r = run(list);
    EXPECT_EQ(r.status.code(), Code::engine_error);
    EXPECT_NE(r.status.message().find("pass Fails: a table is full"), std::string::npos) << r.status.message();
    EXPECT_TRUE(r.faults.empty());
  }
  EXPECT_FALSE(run({{"Good", good}, {"Reorders", reorders, true}}).status.ok());
  EXPECT_FALSE(run({{"Reorders", reorders, true}}).status.ok());
}

TEST(RunPasses, ARequiredPassStaysWhereOthersAreLeftOut) {
  const Ran failed = run({{"Fails", fails}, {"Good", good, true}});
  EXPECT_TRUE(failed.status.ok()) << failed.status.message();
  EXPECT_EQ(failed.operators, "Neg Abs Neg");
  ASSERT_EQ(failed.faults.size(), 1u);
  EXPECT_EQ(failed.faults[0].pass, "Fails");

  const Ran quiet = run({{"Good", good, true}, {"Reorders", reorders_quietly}});
  EXPECT_TRUE(quiet.status.ok()) << quiet.status.message();
  EXPECT_EQ(quiet.operators, "Neg Abs Neg");
  ASSERT_EQ(quiet.faults.size(), 1u);
  EXPECT_EQ(quiet.faults[0].pass, "");
}

}  // namespace
}  // namespace trunnion::passes
