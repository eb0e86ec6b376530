#include "ir/rewriter.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "ir/verify.h"

namespace trunnion::ir {
namespace {

std::unique_ptr<Graph> parse(std::string_view text) {
  auto g = parse_graph(text);
  EXPECT_TRUE(g.ok()) << g.status().message();
  return std::move(g).value();
}

void expect_graph(const Graph& g, std::string_view text) {
  const auto s = verify(g);
  EXPECT_TRUE(s.ok()) << s.message();
  EXPECT_EQ(print(g), print(*parse(text)));
}

TEST(Rewriter, BypassTakesOverTheOutputName) {
  auto g = parse("<opset: \"\" 17> g(float[N] x) => (float[N] y) { t = Relu(x)\n y = Identity(t)\n z = Neg(t) }");
  Rewriter rw(*g, "P");
  Node* identity = g->first()->next();
  ASSERT_TRUE(Rewriter::can_replace(identity->output(0), g->find("t")));
  rw.begin("r", {identity});
  EXPECT_TRUE(rw.bypass(identity, g->find("t")));
  expect_graph(*g, "<opset: \"\" 17> g(float[N] x) => (float[N] y) { y = Relu(x)\n z = Neg(y) }");
  EXPECT_EQ(g->outputs()[0]->name(), "y");
  EXPECT_EQ(rw.changes(), 1);
}

TEST(Rewriter, OutputsThatCannotMoveStay) {
  // y is an input, y2 the constant, y4 stands beside y3 which is an output already.
  auto g = parse(R"(<opset: "" 17>
g(x) => (y, y2, y3, y4) {
  float[1] w = {1}
  y = Identity(x)
  y2 = Identity(w)
  y3 = Relu(x)
  y4 = Identity(y3)
  a = Add(y, y2)
  b = Add(y4, a)
})");
  Rewriter rw(*g, "P");
  for (Node* n = g->first(); n;) {
    Node* next = n->next();
    if (n->op_type() == "Identity") {
      EXPECT_FALSE(Rewriter::can_replace(n->output(0), n->input(0)));
      EXPECT_FALSE(rw.bypass(n, n->input(0)));
    }
    n = next;
  }
  expect_graph(*g, R"(<opset: "" 17>
g(x) => (y, y2, y3, y4) {
  float[1] w = {1}
  y = Identity(x)
  y2 = Identity(w)
  y3 = Relu(x)
  y4 = Identity(y3)
  a = Add(x, w)
  b = Add(y3, a)
})");
}

TEST(Rewriter, ReplaceReachesBodies) {
  auto g = parse(R"(<opset: "" 17>
g(bool[] c, x) => (y) {
  t = Relu(x)
  u = Identity(t)
  y = If<then_branch=a() => (o) { o = Add(t, u) }, else_branch=b() => (o) { o = Neg(u) }>(c)
})");
  Rewriter rw(*g, "P");
  Node* identity = g->first()->next();
  EXPECT_TRUE(rw.bypass(identity, g->find("t")));
  const auto s = verify(*g);
  EXPECT_TRUE(s.ok()) << s.message();
  const auto bodies = g->last()->bodies();
  ASSERT_EQ(bodies[0]->captures().size(), 1u);
  EXPECT_EQ(bodies[0]->first()->input(0), bodies[0]->first()->input(1));
  EXPECT_EQ(bodies[1]->captures()[0].outer, g->find("t"));
}

TEST(Rewriter, OriginsAreHandedOn) {
  auto g = parse("<opset: \"\" 17> g(x) => (y) { [one] t = Relu(x)\n [two] u = Relu(t)\n [three] y = Neg(u) }");
  Rewriter rw(*g, "P");
  Node* one = g->first();
  Node* two = one->next();
  rw.begin("merge", {one, two});
  Node* n = rw.insert("Abs", "", 17, {one->input(0)}, {"v"}, {}, one, "made");
  EXPECT_TRUE(rw.bypass(two, n->output(0)));
  EXPECT_TRUE(rw.erase_if_unused(one));
  EXPECT_EQ(n->origins, (std::vector<std::string>{"one", "two"}));
  rw.absorb(g->last(), n);
  EXPECT_EQ(g->last()->origins, (std::vector<std::string>{"three", "one", "two"}));
  expect_graph(*g, "<opset: \"\" 17> g(x) => (y) { [made] v = Abs(x)\n [three] y = Neg(v) }");
}

TEST(Rewriter, KnowledgeIsMerged) {
  auto g = parse("<opset: \"\" 17> g(x) => (float[B,3] y) { float[?,3] t = Relu(x)\n y = Identity(t) }");
  Rewriter rw(*g, "P");
  EXPECT_TRUE(rw.bypass(g->last(), g->find("t")));
  EXPECT_EQ(print_type(g->outputs()[0]->fact.type), "float[B,3]");
}

TEST(Rewriter, LogsPassRuleAndNodes) {
  std::string seen;
  const Logger log(make_callback_sink([&](const LogRecord& r) { seen += std::string(r.text) + "\n"; }),
                   Severity::verbose);
  auto g = parse("<opset: \"\" 17> g(x) => (y) { [one] t = Relu(x)\n y = Relu(t) }");
  Rewriter rw(*g, "Name", &log);
  rw.begin("rule", {g->first(), g->last()});
  EXPECT_EQ(seen, "Name: rule: Relu 'one', Relu (output 'y')\n");
}

TEST(Rewriter, UnusedConstantsAreErased) {
  auto g = parse("<opset: \"\" 17> g(x) => (y) { float[1] a = {1}\n float[1] b = {2}\n y = Add(x, b) }");
  Rewriter rw(*g, "P");
  Value* const values[] = {g->find("a"), nullptr, g->find("b"), g->find("a")};
  rw.erase_unused_constants(values);
  EXPECT_EQ(g->find("a"), nullptr);
  EXPECT_NE(g->find("b"), nullptr);
}

}  // namespace
}  // namespace trunnion::ir
