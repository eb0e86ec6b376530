// Graph, its clone and splice, function inlining and the verifier.
#include "ir/graph.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "ir/inline.h"
#include "ir/names.h"
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

constexpr std::string_view kNested = R"(<opset: "" 17>
g(bool[] c, float[2] x) => (y, x) {
  float[2] w = {1, 2}
  t = Add(x, w)
  y = If<then_branch=a() => (o) { float[2] k = {3, 4}
    o = Add(t, k) }, else_branch=b() => (o) { u = Neg(t)
    o = If<then_branch=i() => (p) { p = Mul(u, w) }, else_branch=j() => (p) { p = Neg(u) }>(c) }>(c)
})";

TEST(Graph, NamesAreUnique) {
  Graph g;
  Value* a = g.add_input("x", {});
  Value* b = g.add_constant("x", *Tensor::allocate(DType::f32, std::vector<int64_t>{1}));
  Value* c = g.add_constant("", *Tensor::allocate(DType::f32, std::vector<int64_t>{1}));
  EXPECT_EQ(a->name(), "x");
  EXPECT_EQ(b->name(), "x_1");
  EXPECT_FALSE(c->name().empty());
  g.rename(b, "x");  // taken
  EXPECT_EQ(b->name(), "x_2");
  EXPECT_EQ(g.find("x_1"), nullptr);
  g.erase(b);
  EXPECT_EQ(g.find("x_2"), nullptr);
  EXPECT_TRUE(verify(g).ok());
}

TEST(Graph, UsersCountEveryUse) {
  auto g = parse("g(x) => (y) { y = Add(x, x)\n z = Neg(x) }");
  Value* x = g->find("x");
  EXPECT_EQ(x->users().size(), 3u);
  EXPECT_FALSE(x->unused());
  g->erase(g->last());
  EXPECT_EQ(x->users().size(), 2u);
  g->set_input(g->first(), 1, nullptr);
  EXPECT_EQ(x->users().size(), 1u);
  g->resize_inputs(g->first(), 1);
  EXPECT_EQ(g->first()->inputs().size(), 1u);
  EXPECT_EQ(g->find("y")->output_uses(), 1);
  EXPECT_TRUE(verify(*g).ok());
}

TEST(Graph, OutputsCanBeDroppedAndRemoved) {
  auto g = parse("g(x) => (b) { a, b, c = Split(x) }");
  Node* n = g->first();
  g->drop_output(n, 0);
  EXPECT_EQ(n->output(0), nullptr);
  EXPECT_EQ(n->outputs().size(), 3u);
  const Value* again = g->restore_output(n, 0, "b");
  EXPECT_EQ(n->output(0), again);
  EXPECT_EQ(again->name(), "b_1");
  EXPECT_TRUE(verify(*g).ok());
  g->remove_output_of(n, 0);
  ASSERT_EQ(n->outputs().size(), 2u);
  EXPECT_EQ(n->output(0)->name(), "b");
  EXPECT_EQ(n->output(0)->producer_index(), 0);
  EXPECT_EQ(n->output(1)->producer_index(), 1);
  g->add_output(g->find("c"));
  g->remove_output(0);
  EXPECT_EQ(g->find("b")->output_uses(), 0);
  EXPECT_EQ(g->outputs()[0]->name(), "c");
  EXPECT_TRUE(verify(*g).ok());
}

TEST(Graph, CloneIsEqualAndIndependent) {
  const auto g = parse(kNested);
  const auto copy = g->clone();
  EXPECT_TRUE(verify(*copy).ok()) << verify(*copy).message();
  EXPECT_EQ(print(*copy), print(*g));
  EXPECT_EQ(copy->find("w")->constant().raw(), g->find("w")->constant().raw());  // elements are shared
  copy->move_before(copy->last(), copy->first());
  EXPECT_TRUE(verify(*g).ok());
}

TEST(Graph, SplicePutsABodyInPlace) {
  auto g = parse("<opset: \"\" 17> g(float[2] x) => (y) { t = Neg(x)\n y = Call(t) }");
  auto body = parse(R"(<opset: "" 17>
f(a) => (r, a) {
  float[2] w = {5, 6}
  [inner] t = Add(a, w)
  r = Relu(t)
})");
  Node* call = g->last();
  const auto results = g->splice(std::move(body), call->inputs(), call);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0]->name(), "r");
  EXPECT_EQ(results[1], g->find("t"));  // an input that is an output stands for the argument
  g->set_input(call, 0, results[0]);
  expect_graph(*g, R"(<opset: "" 17>
g(float[2] x) => (y) {
  float[2] w = {5, 6}
  t = Neg(x)
  [inner] t_1 = Add(t, w)
  r = Relu(t_1)
  y = Call(r)
})");
}

TEST(Graph, SpliceMovesBodiesWithCaptures) {
  auto g = parse("<opset: \"\" 17> g(bool[] c, float[2] x) => (y) { y = Call(c, x) }");
  auto body = parse(R"(<opset: "" 17>
f(c, a) => (r) {
  u = Neg(a)
  r = If<then_branch=i() => (p) { p = Add(u, a) }, else_branch=j() => (p) { p = Neg(u) }>(c)
})");
  Node* call = g->last();
  const auto results = g->splice(std::move(body), call->inputs(), call);
  g->replace_uses(call->output(0), results[0]);
  g->erase(call);
  ASSERT_TRUE(verify(*g).ok()) << verify(*g).message();
  EXPECT_EQ(g->last()->bodies()[0]->captures()[0].outer, g->find("u"));
  EXPECT_EQ(g->last()->bodies()[0]->captures()[1].outer, g->find("x"));
}

Model model_with(std::string_view text, std::vector<std::pair<std::string, std::string_view>> functions) {
  Model m;
  m.graph = parse(text);
  for (auto& [name, body] : functions) {
    Function f;
    f.domain = "local";
    f.name = name;
    f.body = std::shared_ptr<Graph>(parse(body));
    m.functions.push_back(std::move(f));
  }
  return m;
}

TEST(Inline, CallsBecomeBodies) {
  Model m = model_with(
      "<opset: \"\" 17, local 1> g(x) => (y) { [call] y = local::Outer<slope=0.5>(x) }",
      {{"Outer", "<opset: \"\" 17, local 1> f(a) => (b) { t = local::Inner(a)\n b = LeakyRelu<alpha=ref(slope)>(t) }"},
       {"Inner", "<opset: \"\" 17> f(a) => (b) { b = Neg(a) }"}});
  m.functions[0].attribute_names = {"slope"};
  const auto s = inline_functions(m);
  ASSERT_TRUE(s.ok()) << s.message();
  expect_graph(*m.graph, "<opset: \"\" 17> g(x) => (y) { b = Neg(x)\n y = LeakyRelu<alpha=0.5>(b) }");
  for (Node* n = m.graph->first(); n; n = n->next()) EXPECT_EQ(n->origins, std::vector<std::string>{"call"});
}

TEST(Inline, RecursionAndGrowthAreErrors) {
  Model cycle = model_with("<opset: local 1> g(x) => (y) { y = local::A(x) }",
                           {{"A", "<opset: local 1> f(a) => (b) { b = local::B(a) }"},
                            {"B", "<opset: local 1> f(a) => (b) { b = local::A(a) }"}});
  EXPECT_NE(inline_functions(cycle).message().find("calls itself"), std::string::npos);

  std::vector<std::pair<std::string, std::string_view>> doubling;
  std::vector<std::string> texts(40);
  for (int i = 0; i < 40; ++i) {
    texts[i] = fmt::format("<opset: \"\" 17, local 1> f(a) => (b) {{ t = {0}(a)\n b = {0}(t) }}",
                           i ? fmt::format("local::F{}", i - 1) : "Neg");
    doubling.emplace_back(fmt::format("F{}", i), texts[i]);
  }
  Model bomb = model_with("<opset: local 1> g(x) => (y) { y = local::F39(x) }", doubling);
  EXPECT_NE(inline_functions(bomb, {.nodes = 1000}).message().find("more than 1000 nodes"), std::string::npos);
}

TEST(Inline, ArgumentsMustFit) {
  Model m = model_with("<opset: local 1> g(x) => (y) { y = local::F(x, x) }",
                       {{"F", "<opset: \"\" 17> f(a) => (b) { b = Neg(a) }"}});
  EXPECT_NE(inline_functions(m).message().find("has 2 inputs"), std::string::npos);
}

TEST(Names, BodiesGetNamesOfTheirOwn) {
  auto g = parse(R"(<opset: "" 17>
g(bool[] c, float[2] x) => (y) {
  float[2] w = {1, 2}
  y = If<then_branch=a[x_1 = x]() => (y) { float[2] w = {3, 4}
      float[2] w_in1 = {5, 6}
      t = Add(x_1, w)
      y = Add(t, w_in1) }, else_branch=b[x]() => (t) { t = If<then_branch=i[x]() => (t_2) { t_2 = Neg(x) }, else_branch=j[c]() => (t) { t = Identity(c) }>(c) }>(c)
})");
  separate_names(*g);
  ASSERT_TRUE(verify(*g).ok()) << verify(*g).message();
  expect_graph(*g, R"(<opset: "" 17>
g(bool[] c, float[2] x) => (y) {
  float[2] w = {1, 2}
  y = If<then_branch=a[x_1 = x]() => (y_in1) { float[2] w_in1_1 = {3, 4}
      float[2] w_in1 = {5, 6}
      t = Add(x_1, w_in1_1)
      y_in1 = Add(t, w_in1) }, else_branch=b[x, c]() => (t) { t = If<then_branch=i[x]() => (t_2) { t_2 = Neg(x) }, else_branch=j[c]() => (t_in1) { t_in1 = Identity(c) }>(c) }>(c)
})");
}

TEST(Verify, FindsBrokenOrder) {
  auto g = parse("g(x) => (y) { t = Neg(x)\n y = Relu(t) }");
  EXPECT_TRUE(verify(*g).ok());
  g->move_before(g->last(), g->first());
  EXPECT_NE(verify(*g).message().find("reads 't' before it is made"), std::string::npos);
}

TEST(Verify, LooksIntoBodies) {
  auto g = parse(kNested);
  ASSERT_TRUE(verify(*g).ok());
  Graph* body = g->last()->bodies()[1];
  body->move_before(body->last(), body->first());
  EXPECT_NE(verify(*g).message().find("before it is made"), std::string::npos);
}

}  // namespace
}  // namespace trunnion::ir
