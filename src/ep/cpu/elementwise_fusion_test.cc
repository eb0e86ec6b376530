#include <gtest/gtest.h>

#include "ep/cpu/fusion.h"
#include "ir/verify.h"
#include "ops/parsed_graph.h"

namespace trunnion::ep {
namespace {

struct Fused {
  std::unique_ptr<ir::Graph> graph;
  std::string operators;
  const ir::Node* tape = nullptr;  // the last one
  int changes = 0;

  explicit Fused(std::string_view text) : graph(ops::test::parsed(text)) {
    if (!graph) return;
    passes::PassContext context;
    Status s = elementwise_fusion(*graph, context);
    if (s.ok()) s = ops::resolve(*graph);
    if (s.ok()) s = ops::infer(*graph);
    if (s.ok()) s = ir::verify(*graph);
    EXPECT_TRUE(s.ok()) << s.message();
    changes = context.changes;
    for (const ir::Node* n = graph->first(); n; n = n->next()) {
      operators += (operators.empty() ? "" : " ") + n->op_type();
      if (n->op_type() == "FusedElementwise") tape = n;
    }
  }
};

using Ints = std::vector<int64_t>;
using Strings = std::vector<std::string>;

TEST(ElementwiseFusion, AChain) {
  const Fused f(R"(<opset: "" 17>
g(float[N,3] x) => (float[N,3] y) {
  float[3] b = {1, 2, 3}
  float[] two = 2
  float[] zero = 0
  a = Add(x, b)
  t = Tanh(a)
  p = Pow(t, two)
  c = Clip(p, zero)
  y = LeakyRelu<alpha=0.5>(c)
})");
  EXPECT_EQ(f.operators, "FusedElementwise");
  ASSERT_TRUE(f.tape);
  EXPECT_EQ(f.tape->strings("ops"), (Strings{"add", "tanh", "mul", "clip", "leaky_relu"}));
  EXPECT_EQ(f.tape->ints("args"), (Ints{0, 1, 2, 0, 3, 3, 4, 0, 5, 0}));
  EXPECT_EQ(f.tape->floats("numbers")[8], 0.5f);
  EXPECT_EQ(f.tape->output(0)->name(), "y");
  EXPECT_EQ(shape_text(f.tape->output(0)->fact.shape()), "{N,3}");
  EXPECT_EQ(f.graph->find("two"), nullptr);
}

// Results read twice, but within the tree.
TEST(ElementwiseFusion, ATree) {
  const Fused f(R"(<opset: "" 17>
g(float[4] x, float[4] z) => (float[4] y) {
  e = Exp(x)
  s = Sigmoid(e)
  m = Mul(e, s)
  n = Neg(z)
  y = Sub(m, n)
})");
  EXPECT_EQ(f.operators, "FusedElementwise");
  ASSERT_TRUE(f.tape);
  EXPECT_EQ(f.tape->strings("ops"), (Strings{"exp", "sigmoid", "mul", "neg", "sub"}));
  EXPECT_EQ(f.tape->ints("args"), (Ints{0, 0, 2, 0, 2, 3, 1, 0, 4, 5}));
}

TEST(ElementwiseFusion, WhatOthersReadStays) {
  const Fused f(R"(<opset: "" 17>
g(float[4] x) => (float[4] y, float[4] a, float[4] z) {
  a = Abs(x)
  b = Neg(a)
  c = Exp(b)
  d = Sqrt(c)
  y = Log(d)
  z = Softmax(c)
})");
  EXPECT_EQ(f.operators, "Abs FusedElementwise FusedElementwise Softmax");
  EXPECT_EQ(f.changes, 2);
}

// Worked out once, not once for each of its repetitions; nor where shapes are not known to be the same.
TEST(ElementwiseFusion, SmallerOperandsStay) {
  const Fused small(R"(<opset: "" 17>
g(float[8,4] x, float[4] b) => (float[8,4] y) {
  e = Exp(b)
  s = Add(x, e)
  y = Tanh(s)
})");
  EXPECT_EQ(small.operators, "Exp FusedElementwise");
  const Fused unknown(R"(<opset: "" 17>
g(float[N] x, float[M] b) => (float[?] y) {
  e = Exp(b)
  y = Add(x, e)
})");
  EXPECT_EQ(unknown.operators, "Exp Add");
}

TEST(ElementwiseFusion, OtherTypesStay) {
  EXPECT_EQ(Fused(R"(<opset: "" 17>
g(double[4] x) => (double[4] y) {
  e = Exp(x)
  y = Neg(e)
})")
                .operators,
            "Exp Neg");
  EXPECT_EQ(Fused(R"(<opset: "" 17>
g(float[4] x, float[] low) => (float[4] y) {
  e = Exp(x)
  y = Clip(e, low)
})")
                .operators,
            "Exp Clip");
}

// A chain longer than one tape takes falls into several; the time stays linear.
TEST(ElementwiseFusion, LongChains) {
  std::string text = "<opset: \"\" 17>\ng(float[4] x0) => (float[4] out) {\n";
  constexpr int kTimes = 3000;
  for (int i = 0; i < kTimes; ++i) text += "  x" + std::to_string(i + 1) + " = Neg(x" + std::to_string(i) + ")\n";
  const Fused f(text + "  out = Abs(x" + std::to_string(kTimes) + ")\n}");
  EXPECT_EQ(f.changes, 8);  // of 400 nodes each
  EXPECT_EQ(f.operators.find("Neg"), std::string::npos);
}

}  // namespace
}  // namespace trunnion::ep
