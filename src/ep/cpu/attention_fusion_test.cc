#include <gtest/gtest.h>

#include "ep/cpu/fusion.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "ops/parsed_graph.h"

namespace trunnion::ep {
namespace {

struct Fused {
  std::unique_ptr<ir::Graph> graph;
  std::string operators;
  const ir::Node* attention = nullptr;

  explicit Fused(const std::string& text) : graph(ops::test::parsed(text)) {
    if (!graph) return;
    passes::PassContext context;
    Status s = attention_fusion(*graph, context);
    if (s.ok()) s = ops::resolve(*graph);
    if (s.ok()) s = ops::infer(*graph);
    if (s.ok()) s = ir::verify(*graph);
    EXPECT_TRUE(s.ok()) << s.message();
    for (const ir::Node* n = graph->first(); n; n = n->next()) {
      operators += (operators.empty() ? "" : " ") + n->op_type();
      if (n->op_type() == "FusedAttention") attention = n;
    }
    EXPECT_EQ(context.changes, attention ? 1 : 0);
  }
  std::string input(int i) const {
    const ir::Value* v = attention ? attention->input(i) : nullptr;
    return v ? v->name() : "";
  }
};

using Ints = std::vector<int64_t>;

// Scores of [B,12,S,S] by `scores`, which reads `raw`.
std::string net(std::string_view scores, std::string_view inputs = "") {
  return std::string(R"(<opset: "" 17>
g(float[B,S,12,64] q, float[B,S,12,64] k, float[B,S,12,64] v)") +
         std::string(inputs) + R"() => (float[?,?,?,?] y) {
  float[] eight = 8
  float[] eighth = 0.125
  float[] low = -10000
  tq = Transpose<perm=[0,2,1,3]>(q)
  tk = Transpose<perm=[0,2,3,1]>(k)
  tv = Transpose<perm=[0,2,1,3]>(v)
  raw = MatMul(tq, tk)
  )" + std::string(scores) +
         R"(
  p = Softmax<axis=-1>(s)
  o = MatMul(p, tv)
  y = Transpose<perm=[0,2,1,3]>(o)
})";
}

TEST(AttentionFusion, TakesTheTransposesAlong) {
  const Fused f(net("d = Div(raw, eight)\n  s = Add(d, mask)", ", float[B,1,1,S] mask"));
  EXPECT_EQ(f.operators, "FusedAttention");
  ASSERT_TRUE(f.attention);
  EXPECT_EQ(f.attention->ints("q_perm"), (Ints{0, 2, 1, 3}));
  EXPECT_EQ(f.attention->ints("k_perm"), (Ints{0, 2, 3, 1}));
  EXPECT_EQ(f.attention->ints("v_perm"), (Ints{0, 2, 1, 3}));
  EXPECT_EQ(f.attention->ints("y_perm"), (Ints{0, 2, 1, 3}));
  EXPECT_EQ(f.attention->attr("scale", 0.0f), 0.125f);
  EXPECT_EQ(f.input(0) + f.input(1) + f.input(2) + f.input(3), "qkvmask");
  EXPECT_EQ(f.attention->output(0)->name(), "y");
  EXPECT_EQ(shape_text(f.attention->output(0)->fact.shape()), "{B,S,12,64}");
}

TEST(AttentionFusion, Masks) {
  const std::string mask = ", float[S,S] mask, float[12,S,S] place, bool[B,1,1,S] keep";
  EXPECT_EQ(Fused(net("s = Add(mask, raw)", mask)).operators, "FusedAttention");
  const Fused two(net("a = Add(raw, mask)\n  s = Add(place, a)", mask));
  EXPECT_EQ(two.operators, "FusedAttention");
  EXPECT_EQ(two.attention->inputs().size(), 5u);
  const Fused kept(net("s = Where(keep, raw, low)", mask));
  EXPECT_EQ(kept.operators, "FusedAttention");
  EXPECT_EQ(kept.input(5), "keep");
  EXPECT_EQ(kept.attention->attr("select_value", 0.0f), -10000.0f);
  EXPECT_EQ(kept.attention->attr("select_inverted", 1), 0);
  const Fused dropped(net("a = Add(raw, mask)\n  s = Where(keep, low, a)", mask));
  EXPECT_EQ(dropped.operators, "FusedAttention");
  EXPECT_EQ(dropped.attention->attr("select_inverted", 0), 1);
  EXPECT_EQ(dropped.attention->attr("select_first", 1), 0);
  const Fused first(net("a = Where(keep, raw, low)\n  s = Add(a, mask)", mask));
  EXPECT_EQ(first.operators, "FusedAttention");
  EXPECT_EQ(first.attention->attr("select_first", 0), 1);
}

TEST(AttentionFusion, ScalesWhereverTheyStand) {
  const std::string head = R"(<opset: "" 13>
g(float[3,5,8] q, float[3,8,7] k, float[3,7,4] v) => (float[3,5,4] y) {
  float[1] two = {2}
  float[] three = 3
  sq = Mul(q, two)
  sk = Mul(three, k)
  raw = MatMul(sq, sk)
  s = Div(raw, two)
)";
  const Fused f(head + "  p = Softmax<axis=2>(s)\n  y = MatMul(p, v)\n}");
  EXPECT_EQ(f.operators, "FusedAttention");
  ASSERT_TRUE(f.attention);
  EXPECT_EQ(f.attention->attr("scale", 0.0f), 3.0f);
  EXPECT_TRUE(f.attention->ints("q_perm").empty());
  EXPECT_EQ(Fused(head + "  p = Softmax<axis=1>(s)\n  y = MatMul(p, v)\n}").operators,
            "Mul Mul MatMul Div Softmax MatMul");
}

// A scale of projected queries, before their heads are split.
TEST(AttentionFusion, ScaleBeforeTheReshape) {
  const Fused f(R"(<opset: "" 17>
g(float[B,S,24] x, float[B,3,8,L] k, float[B,3,L,8] v) => (float[?,?,?,?] y) {
  float[] half = 0.5
  int64[4] heads = {0, 0, 3, 8}
  h = Mul(x, half)
  r = Reshape(h, heads)
  q = Transpose<perm=[0,2,1,3]>(r)
  s = MatMul(q, k)
  p = Softmax(s)
  y = MatMul(p, v)
})");
  EXPECT_EQ(f.operators, "Reshape FusedAttention");
  ASSERT_TRUE(f.attention);
  EXPECT_EQ(f.attention->attr("scale", 0.0f), 0.5f);
}

TEST(AttentionFusion, LeavesAloneWhatOthersRead) {
  const std::string scores = "d = Div(raw, eight)\n  s = Add(d, mask)";
  const std::string text = net(scores, ", float[B,1,1,S] mask");
  const auto with = [&](std::string_view line) {
    std::string t = text;
    t.insert(t.rfind('}'), std::string(line) + "\n");
    t.replace(t.find("(float[?,?,?,?] y)"), 18, "(float[?,?,?,?] y, float[?,?,?,?] z)");
    return Fused(t).operators;
  };
  const std::string whole = "Transpose Transpose Transpose MatMul Div Add Softmax MatMul Transpose";
  EXPECT_EQ(with("  z = Neg(p)"), whole + " Neg");
  EXPECT_EQ(with("  z = Neg(d)"), whole + " Neg");
  EXPECT_EQ(with("  z = Neg(tq)"), "Transpose FusedAttention Neg");  // read from q all the same
  EXPECT_EQ(with("  z = Neg(o)"), "FusedAttention Transpose Neg");
}

TEST(AttentionFusion, LeavesAloneWhatIsNot) {
  const std::string mask = ", float[S,S] mask, float[B,12,S,S] other, float[2,B,12,S,S] five, float[T,S] rows";
  const std::string whole = "Transpose Transpose Transpose MatMul";
  const auto rest = [&](std::string_view scores) {
    const Fused f(net(scores, mask));
    return f.operators.substr(0, whole.size()) == whole && !f.attention;
  };
  EXPECT_TRUE(rest("a = Add(raw, mask)\n  s = Mul(a, eighth)"));  // the mask would have to be scaled
  EXPECT_TRUE(rest("s = Mul(raw, other)"));
  EXPECT_TRUE(rest("s = Sub(raw, mask)"));
  EXPECT_TRUE(rest("s = Add(raw, rows)"));  // T may be other than S: the scores would repeat
}

// Q, K and V from one product: heads 0 to 2, 3 to 5 and 6 to 8 of it.
TEST(AttentionFusion, OneValueWithAllThree) {
  const auto expect = [](const Fused& f) {
    EXPECT_EQ(f.operators, "Reshape FusedAttention");
    ASSERT_TRUE(f.attention);
    EXPECT_EQ(f.attention->attr("heads", 0), 3);
    EXPECT_EQ(f.attention->attr("q_first", -1), 0);
    EXPECT_EQ(f.attention->attr("k_first", -1), 3);
    EXPECT_EQ(f.attention->attr("v_first", -1), 6);
    EXPECT_EQ(f.attention->ints("q_perm"), (Ints{0, 2, 1, 3}));
    EXPECT_EQ(f.attention->ints("k_perm"), (Ints{0, 2, 3, 1}));
    EXPECT_EQ(shape_text(f.attention->output(0)->fact.shape()), "{B,S,3,8}");
    EXPECT_EQ(shape_text(f.attention->input(2)->fact.shape()), "{B,S,9,8}");
  };
  const std::string end = R"(
  s = MatMul(q, tk)
  p = Softmax(s)
  o = MatMul(p, v)
  y = Transpose<perm=[0,2,1,3]>(o)
})";
  expect(Fused(R"(<opset: "" 17>
g(float[B,S,72] x) => (float[?,?,?,?] y) {
  int64[4] heads = {0, 0, 3, 8}
  a, b, c = Split<axis=-1>(x)
  ra = Reshape(a, heads)
  rb = Reshape(b, heads)
  rc = Reshape(c, heads)
  q = Transpose<perm=[0,2,1,3]>(ra)
  tk = Transpose<perm=[0,2,3,1]>(rb)
  v = Transpose<perm=[0,2,1,3]>(rc))" +
               end));
  expect(Fused(R"(<opset: "" 17>
g(float[B,S,72] x) => (float[?,?,?,?] y) {
  int64[5] heads = {0, 0, 3, 3, 8}
  int64[] zero = 0
  int64[] one = 1
  int64[] two = 2
  r = Reshape(x, heads)
  t = Transpose<perm=[2,0,3,1,4]>(r)
  q = Gather(t, zero)
  k = Gather(t, one)
  v = Gather(t, two)
  tk = Transpose<perm=[0,1,3,2]>(k))" +
               end));
  expect(Fused(R"(<opset: "" 17>
g(float[B,S,72] x) => (float[?,?,?,?] y) {
  int64[5] heads = {0, 0, 3, 3, 8}
  int64[1] axes = {0}
  r = Reshape(x, heads)
  t = Transpose<perm=[2,0,3,1,4]>(r)
  a, b, c = Split<axis=0>(t)
  q = Squeeze(a, axes)
  k = Squeeze(b, axes)
  v = Squeeze(c, axes)
  tk = Transpose<perm=[0,1,3,2]>(k))" +
               end));
}

}  // namespace
}  // namespace trunnion::ep
