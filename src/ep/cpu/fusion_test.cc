// Fusions of the CPU provider: what they count, what they leave alone, and that they stay quick on long graphs.
#include "ep/cpu/fusion.h"

#include <gtest/gtest.h>

#include <chrono>

#include "ops/parsed_graph.h"

namespace trunnion::ep {
namespace {

using Fusion = Status (*)(ir::Graph&, passes::PassContext&);

struct Fused {
  std::unique_ptr<ir::Graph> graph;
  int changes = 0;

  Fused(Fusion fusion, std::string_view text, std::string_view level = "fp32", std::string_view nodes = "")
      : graph(ops::test::parsed(text)) {
    if (!graph) return;
    passes::PassContext context;
    auto precision = PrecisionChoice::parse(level, nodes);
    EXPECT_TRUE(precision.ok());
    context.precision = *precision;
    const Status s = fusion(*graph, context);
    EXPECT_TRUE(s.ok()) << s.message();
    changes = context.changes;
  }
  std::string operators() const {
    std::string out;
    for (const ir::Node* n = graph->first(); n; n = n->next()) out += (out.empty() ? "" : " ") + n->op_type();
    return out;
  }
};

TEST(BatchNormFusion, CountsWhatItDoes) {
  const auto net = [](std::string_view conv) {
    return std::string(R"(<opset: "" 17>
g(float[1,2,8,8] x, float[3] b) => (float[?,?,?,?] y) {
  float[3,2,3,3] w = random(1)
  float[3] scale = {1, 2, 3}
  float[3] shift = {4, 5, 6}
  float[3] mean = {7, 8, 9}
  float[3] var = {1, 1, 1}
  c = )") + std::string(conv) +
           "\n  y = BatchNormalization(c, scale, shift, mean, var)\n}";
  };
  const Fused folded(batch_norm_fusion, net("Conv(x, w)"));
  EXPECT_EQ(folded.operators(), "Conv");
  EXPECT_EQ(folded.changes, 1);
  EXPECT_EQ(folded.graph->first()->inputs().size(), 3u);
  const Fused apart(batch_norm_fusion, net("Conv(x, w, b)"));  // a bias that is fed cannot be folded
  EXPECT_EQ(apart.operators(), "Conv ScaleShift");
  EXPECT_EQ(apart.changes, 1);
}

// Constants per channel beside the normalization go with it; what another node reads stays.
TEST(BatchNormFusion, TakesConstantsAlong) {
  const auto net = [](std::string_view rest) {
    return std::string(R"(<opset: "" 17>
g(float[1,2,8,8] x, float[3,1,1] fed) => (float[?,?,?,?] y) {
  float[3,2,3,3] w = random(1)
  float[3] v = {1, 2, 3}
  float[3,1,1] times = {1, 2, 3}
  float[1,3,1,1] plus = {4, 5, 6}
  float[] two = 2
  float[6] wide = {1, 2, 3, 4, 5, 6}
  c = Conv(x, w)
  )") + std::string(rest) +
           "\n}";
  };
  const auto fused = [&](std::string_view rest) { return Fused(batch_norm_fusion, net(rest)).operators(); };
  EXPECT_EQ(fused("n = BatchNormalization(c, v, v, v, v)\n m = Mul(n, times)\n a = Add(plus, m)\n y = Relu(a)"),
            "Conv Relu");
  EXPECT_EQ(fused("m = Div(c, two)\n a = Sub(m, plus)\n y = Relu(a)"), "Conv Relu");
  EXPECT_EQ(fused("r = Relu(c)\n n = BatchNormalization(r, v, v, v, v)\n m = Mul(n, times)\n y = Add(m, plus)"),
            "Conv Relu ScaleShift");
  EXPECT_EQ(fused("m = Mul(c, times)\n a = Add(m, plus)\n y = Mul(a, m)"), "Conv Add Mul");
  EXPECT_EQ(fused("m = Mul(c, fed)\n y = Add(m, plus)"), "Conv Mul Add");
  EXPECT_EQ(fused("m = Mul(c, wide)\n y = Relu(m)"), "Conv Mul Relu");
  EXPECT_EQ(fused("m = Sub(plus, c)\n y = Relu(m)"), "Conv Sub Relu");
  EXPECT_EQ(fused("r = Relu(c)\n m = Mul(r, times)\n y = Add(m, plus)"), "Conv Relu Mul Add");
  const std::string strict = net("m = Mul(c, times)\n y = Add(m, plus)");
  EXPECT_EQ(Fused(batch_norm_fusion, strict, "strict").operators(), "Conv Mul Add");
}

TEST(PadFusion, CountsWhatItDoes) {
  const auto net = [](std::string_view conv) {
    return std::string(R"(<opset: "" 17>
g(float[1,2,8,8] x) => (float[?,?,?,?] y) {
  float[3,2,3,3] w = random(1)
  int64[8] pads = {0, 0, 1, 1, 0, 0, 1, 2}
  p = Pad(x, pads)
  y = )") + std::string(conv) +
           "\n}";
  };
  const Fused fused(pad_fusion, net("Conv<pads=[1,0,0,0]>(p, w)"));
  EXPECT_EQ(fused.operators(), "Conv");
  EXPECT_EQ(fused.changes, 1);
  EXPECT_EQ(fused.graph->first()->ints("pads"), (std::vector<int64_t>{2, 1, 1, 2}));
  const Fused left(pad_fusion, net("Conv<auto_pad=\"SAME_UPPER\">(p, w)"));
  EXPECT_EQ(left.operators(), "Pad Conv");
  EXPECT_EQ(left.changes, 0);
}

TEST(SwishFusion, EverySpellingOnce) {
  const Fused f(swish_fusion, R"(<opset: "" 17>
g(float[4] x) => (float[4] d) {
  float[] three = {3}
  float[] zero = {0}
  float[] six = {6}
  float[] sixth = {0.16666667}
  s = Sigmoid(x)
  a = Mul(x, s)
  t = Add(a, three)
  u = Clip(t, zero, six)
  v = Mul(u, sixth)
  b = Mul(a, v)
  t2 = Add(b, three)
  u2 = Clip(t2, zero, six)
  p2 = Mul(b, u2)
  c = Mul(p2, sixth)
  h = HardSigmoid<alpha=0.16666667, beta=0.5>(c)
  d = Mul(h, c)
})");
  EXPECT_EQ(f.operators(), "Swish HardSwish HardSwish HardSwish");
  EXPECT_EQ(f.changes, 4);
}

// Of two products the later one takes the other as residual, also when it has moved behind others before.
TEST(ResidualFusion, TheLaterOneTakesTheOther) {
  const Fused f(residual_fusion, R"(<opset: "" 17>
g(float[2,4] x) => (float[2,4] y) {
  float[4,4] w = random(1)
  a = MatMul(x, w)
  b = MatMul(x, w)
  c = MatMul(x, w)
  s = Add(c, a)
  y = Add(b, s)
})");
  // s moves c behind b; then b stands before c and its result exists.
  EXPECT_EQ(f.changes, 2);
  for (const ir::Node* n = f.graph->first(); n; n = n->next()) {
    for (const ir::Value* in : n->inputs()) {
      if (!in || !in->producer()) continue;
      for (const ir::Node* later = n; later; later = later->next()) EXPECT_NE(later, in->producer());
    }
  }
}

TEST(ResidualFusion, SumsOfTwo) {
  const auto net = [](std::string_view sum) {
    return R"(<opset: "" 17>
g(float[2,4] x) => (float[2,4] y) {
  float[4,4] w = random(1)
  a = MatMul(x, w)
  y = )" + std::string(sum) +
           "\n}";
  };
  EXPECT_EQ(Fused(residual_fusion, net("Sum(a, x)")).operators(), "FusedMatMul");
  EXPECT_EQ(Fused(residual_fusion, net("Sum(x, a, x)")).operators(), "MatMul Sum");
}

// Twice the length costs twice as much: walks over the whole graph for every match would take minutes here.
TEST(Fusions, LongGraphs) {
  std::string swish = "<opset: \"\" 17>\ng(float[4] x0) => (float[4] out) {\n", sums = R"(<opset: "" 17>
g(float[2,4] x0) => (float[2,4] out) {
  float[4,4] w = random(1)
)";
  constexpr int kTimes = 20000;
  for (int i = 0; i < kTimes; ++i) {
    const auto n = std::to_string(i), next = std::to_string(i + 1);
    swish += "  s" + n + " = Sigmoid(x" + n + ")\n  x" + next + " = Mul(x" + n + ", s" + n + ")\n";
    sums += "  a" + n + " = MatMul(x" + n + ", w)\n  b" + n + " = MatMul(x0, w)\n  x" + next + " = Add(a" + n + ", b" +
            n + ")\n";
  }
  const std::string end = "  out = Neg(x" + std::to_string(kTimes) + ")\n}";
  const auto seconds = [&](Fusion fusion, const std::string& text) {
    auto graph = ops::test::parsed(text + end);
    if (!graph) return 0.0;
    passes::PassContext context;
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_TRUE(fusion(*graph, context).ok());
    EXPECT_EQ(context.changes, kTimes);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  EXPECT_LT(seconds(swish_fusion, swish), 2.0);
  EXPECT_LT(seconds(residual_fusion, sums), 2.0);
}

}  // namespace
}  // namespace trunnion::ep
