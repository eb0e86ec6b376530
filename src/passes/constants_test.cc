// ConstantNodes, CapturedConstants, ConstantFolding, ConstantIf, ConstantSharing, common subexpressions, dead code.
#include "ir/text.h"
#include "passes/clean.h"
#include "passes/pass_harness.h"

namespace trunnion::passes {
namespace {

using test::expect_pass;
using test::expect_unchanged;

TEST(ConstantNodes, OfAllForms) {
  expect_pass(constant_nodes, R"(<opset: "" 17>
g(float[2] x) => (y, z) {
  a = Constant<value=float[2] {1, 2}>()
  b = Constant<value_float=3.0>()
  c = Constant<value_ints=[1, 2]>()
  d = Constant<value_strings=["p", "q"]>()
  z = Constant<value_int=5>()
  t = Add(x, a)
  y = Mul(t, b)
  e = Identity(c)
  f = Identity(d)
})",
              R"(<opset: "" 17>
g(float[2] x) => (y, z) {
  float[2] a = {1, 2}
  float[] b = 3
  int64[2] c = {1, 2}
  string[2] d = {"p", "q"}
  z = Constant<value_int=5>()
  t = Add(x, a)
  y = Mul(t, b)
  e = Identity(c)
  f = Identity(d)
})");
}

TEST(CapturedConstants, BodiesGetTheirOwn) {
  expect_pass(captured_constants, R"(<opset: "" 16>
g(bool[] c, float[2] x) => (float[2] y) {
  float[2] w = {1, 2}
  y = If<then_branch=a() => (o) { o = Add(x, w) }, else_branch=b() => (o) {
      o = If<then_branch=i() => (p) { p = Mul(x, w) }, else_branch=j() => (p) { p = Neg(x) }>(c) }>(c)
})",
              R"(<opset: "" 16>
g(bool[] c, float[2] x) => (float[2] y) {
  float[2] w = {1, 2}
  y = If<then_branch=a() => (float[2] o) { float[2] w = {1, 2}
    o = Add(x, w) }, else_branch=b[x, c]() => (float[2] o) {
      float[2] w = {1, 2}
      o = If<then_branch=i() => (float[2] p) { float[2] w = {1, 2}
        p = Mul(x, w) }, else_branch=j() => (float[2] p) { p = Neg(x) }>(c) }>(c)
})");
}

TEST(ConstantFolding, NodesOfConstants) {
  expect_pass(constant_folding, R"(<opset: "" 17>
g(float[2] x) => (float[2] y) {
  float[2] a = {1, 2}
  float[2] b = {3, 4}
  s = Add(a, b)
  p, q = Split(s)
  t = Mul(x, s)
  u = Add(t, p)
  y = Sub(u, q)
})",
              R"(<opset: "" 17>
g(float[2] x) => (float[2] y) {
  float[2] s = {4, 6}
  float[1] p = {4}
  float[1] q = {6}
  t = Mul(x, s)
  u = Add(t, p)
  y = Sub(u, q)
})");
}

TEST(ConstantFolding, KnownShapes) {
  expect_pass(constant_folding, R"(<opset: "" 17>
g(float[2,N,3] x) => (float[6,M] y) {
  int64[] zero = 0
  int64[] two = 2
  int64[1] at = {0}
  int64[1] rest = {-1}
  s = Shape(x)
  a = Gather(s, zero)
  b = Gather(s, two)
  c = Mul(a, b)
  d = Unsqueeze(c, at)
  t = Concat<axis=0>(d, rest)
  y = Reshape(x, t)
})",
              R"(<opset: "" 17>
g(float[2,N,3] x) => (float[6,N] y) {
  int64[2] t = {6, -1}
  s = Shape(x)
  y = Reshape(x, t)
})");
}

TEST(ConstantFolding, OutputsOfTheGraphBecomeCopies) {
  expect_pass(constant_folding, R"(<opset: "" 17>
g(float[2] x) => (int64[1] s, float[2] y, float[2] z) {
  float[2] a = {1, 2}
  s = Shape(x)
  y = Neg(a)
  z = Add(x, y)
})",
              R"(<opset: "" 17>
g(float[2] x) => (int64[1] s, float[2] y, float[2] z) {
  int64[1] s_1 = {2}
  float[2] y_1 = {-1, -2}
  s = Identity(s_1)
  y = Identity(y_1)
  z = Add(x, y_1)
})");
}

TEST(ConstantFolding, RandomAndQuantizedStay) {
  expect_unchanged(constant_folding, R"(<opset: "" 17>
g(float[4] x) => (float[4] y) {
  int8[4] w = {1, 2, 3, 4}
  float[] scale = 0.5
  d = DequantizeLinear(w, scale)
  y = Add(x, d)
})");
  // Not run: two runs would differ.
  const auto g = test::load(
      "<opset: \"\" 17> g(float[4] x) => (float[4] y) { r = RandomNormal<shape=[4]>()\n float[4] w = {1, 1, 1, 1}\n s "
      "= RandomUniformLike(w)\n t = Add(r, s)\n y = Add(x, t) }");
  PassContext context;
  ASSERT_TRUE(constant_folding(*g, context).ok());
  EXPECT_EQ(context.changes, 0);
}

TEST(ConstantFolding, WhatFailsIsLeftToTheRun) {
  // The index is out of range.
  const auto g = test::load(
      "<opset: \"\" 17> g(float[1] x) => (float[1] y) { float[2] w = {1, 2}\n int64[1] i = {7}\n a = GatherElements(w, "
      "i)\n y = Add(x, a) }");
  PassContext context;
  ASSERT_TRUE(constant_folding(*g, context).ok());
  EXPECT_EQ(context.changes, 0);
}

TEST(ConstantFolding, InBodies) {
  expect_pass(constant_folding, R"(<opset: "" 16>
g(bool[] c, float[2] x) => (float[2] y) {
  y = If<then_branch=a() => (o) { float[2] w = {1, 2}
    v = Neg(w)
    o = Add(x, v) }, else_branch=b() => (o) { o = Neg(x) }>(c)
})",
              R"(<opset: "" 16>
g(bool[] c, float[2] x) => (float[2] y) {
  y = If<then_branch=a() => (float[2] o) { float[2] v = {-1, -2}
    o = Add(x, v) }, else_branch=b() => (float[2] o) { o = Neg(x) }>(c)
})");
}

TEST(ConstantFolding, GrowthIsLimited) {
  PassContext context;
  context.fold_limit_bytes = 64;
  constexpr std::string_view kGrows = R"(<opset: "" 17>
g(float[20] x) => (float[20] y) {
  int64[1] s = {20}
  w = ConstantOfShape(s)
  y = Add(x, w)
})";
  const Pass list[] = {{"pass", constant_folding}};
  EXPECT_EQ(test::check(list, kGrows, context).changes, 0);
  context.fold_limit_bytes = 80;
  EXPECT_EQ(test::check(list, kGrows, context).changes, 1);
  context.fold_growth_bytes = 32;  // 80 bytes from 8 is more than this and the 8 of the model
  EXPECT_EQ(test::check(list, kGrows, context).changes, 0);
  context.fold_growth_bytes = 64;
  EXPECT_EQ(test::check(list, kGrows, context).changes, 1);
}

TEST(ConstantFolding, TwiceTheInputIsNoGrowth) {
  PassContext context;
  context.fold_limit_bytes = 8;
  const Pass list[] = {{"pass", constant_folding}};
  EXPECT_EQ(test::check(list,
                        "<opset: \"\" 17> g(float[20] x) => (float[20] y) { float16[20] h = fill(1.5)\n w = "
                        "Cast<to=1>(h)\n y = Add(x, w) }",
                        context)
                .changes,
            1);
  EXPECT_EQ(test::check(list,
                        "<opset: \"\" 17> g(float[20] x) => (float[20] y) { int8[20] h = fill(2)\n w = Cast<to=1>(h)\n "
                        "y = Add(x, w) }",
                        context)
                .changes,
            0);
}

TEST(ConstantFolding, WeightsMayGrow) {
  PassContext context;
  context.fold_limit_bytes = 16;
  constexpr std::string_view kWeights = R"(<opset: "" 17>
g(float[2,6] x) => (float[2,4] y) {
  int64[1] s = {24}
  int64[2] t = {6, 4}
  w = ConstantOfShape<value=float[1] {0.5}>(s)
  v = Reshape(w, t)
  y = MatMul(x, v)
})";
  const Pass list[] = {{"pass", constant_folding}};
  const auto folded = test::check(list, kWeights, context);
  EXPECT_EQ(folded.changes, 2);
  EXPECT_EQ(folded.text.find("ConstantOfShape"), std::string::npos);
  context.fold_weights_bytes = 95;
  EXPECT_EQ(test::check(list, kWeights, context).changes, 0);
}

TEST(ConstantFolding, WeightsThatTheModelDequantizes) {
  PassContext context;
  context.fold_limit_bytes = 16;
  const Pass list[] = {{"pass", constant_folding}};
  const auto folded = test::check(list, R"(<opset: "" 17>
g(float[2,8] x, int64[2] i) => (float[2,4] y, float[2,4] z) {
  int8[8,4] q = random(3)
  float[1,4] s = {1, 2, 3, 4}
  f = Cast<to=1>(q)
  w = Mul(f, s)
  y = MatMul(x, w)
  table = Cast<to=1>(q)
  z = Gather(table, i)
})",
                                  context);
  EXPECT_EQ(folded.changes, 3) << folded.text;
  // A table that the file does not hold.
  EXPECT_EQ(test::check(list, R"(<opset: "" 17>
g(int64[2] i) => (float[2,4] z) {
  int64[2] s = {60, 4}
  table = ConstantOfShape(s)
  z = Gather(table, i)
})",
                        context)
                .changes,
            0);
}

TEST(ConstantFolding, AHugeConstantThatIsCutStays) {
  const auto g = test::load(R"(<opset: "" 17>
g(float[2] x) => (float[2] y) {
  int64[1] s = {134217728}
  int64[1] b = {0}
  int64[1] e = {2}
  w = ConstantOfShape(s)
  p = Slice(w, b, e)
  y = Add(x, p)
})");
  PassContext context;
  ASSERT_TRUE(constant_folding(*g, context).ok());
  EXPECT_EQ(context.changes, 0);
}

TEST(ConstantIf, TheBranchTakenIsInlined) {
  expect_pass(constant_if, R"(<opset: "" 16>
g(float[2] x, bool[] d) => (float[2] y, float[2] z, float[2] v) {
  bool[] c = true
  t = Neg(x)
  y, z, v = If<then_branch=a() => (o, p, q) { float[2] w = {1, 2}
      o = Add(t, w)
      p = Identity(t)
      q = If<then_branch=i() => (r) { r = Add(o, t) }, else_branch=j() => (r) { r = Neg(o) }>(d) },
    else_branch=b() => (o, p, q) { o = Neg(x)
      p = Neg(o)
      q = Neg(p) }>(c)
})",
              R"(<opset: "" 16>
g(float[2] x, bool[] d) => (float[2] y, float[2] z, float[2] v) {
  bool[] c = true
  float[2] w = {1, 2}
  t = Neg(x)
  y = Add(t, w)
  z = Identity(t)
  v = If<then_branch=i[o = y, t]() => (float[2] r) { r = Add(o, t) }, else_branch=j[o = y]() => (float[2] r) { r = Neg(o) }>(d)
})");
}

TEST(ConstantIf, ResultsThatAreNotMadeInTheBranch) {
  expect_pass(constant_if, R"(<opset: "" 16>
g(float[2] x) => (float[2] y, float[2] z, float[2] u) {
  bool[1] c = {false}
  y, z, u = If<then_branch=a() => (o, p, q) { o = Neg(x)
      p = Neg(o)
      q = Neg(p) },
    else_branch=b() => (o, p, p) { o = Identity(x)
      p = Abs(o) }>(c)
})",
              R"(<opset: "" 16>
g(float[2] x) => (float[2] y, float[2] z, float[2] u) {
  bool[1] c = {false}
  y = Identity(x)
  z = Abs(y)
  u = Identity(z)
})");
}

TEST(ConstantSharing, EqualElementsAreOne) {
  expect_pass(constant_sharing, R"(<opset: "" 17>
g(float[2] x) => (float[2] y) {
  float[2] a = {1, 2}
  float[2] b = {1, 2}
  float[1,2] c = {1, 2}
  int32[2] d = {1, 2}
  t = Add(x, a)
  u = Add(t, b)
  y = Add(u, a)
  v = Add(u, c)
  w = Neg(d)
})",
              R"(<opset: "" 17>
g(float[2] x) => (float[2] y) {
  float[2] a = {1, 2}
  float[1,2] c = {1, 2}
  int32[2] d = {1, 2}
  t = Add(x, a)
  u = Add(t, a)
  y = Add(u, a)
  v = Add(u, c)
  w = Neg(d)
})");
}

TEST(CommonSubexpressions, EqualNodesAreOne) {
  expect_pass(common_subexpression_elimination, R"(<opset: "" 17>
g(float[2] x) => (float[2] y, float[2] z) {
  [a] a = Neg(x)
  [b] b = Neg(x)
  c = LeakyRelu<alpha=0.5>(a)
  d = LeakyRelu<alpha=0.5>(b)
  e = LeakyRelu<alpha=0.25>(a)
  y = Add(c, d)
  z = Add(e, d)
})",
              R"(<opset: "" 17>
g(float[2] x) => (float[2] y, float[2] z) {
  [a] a = Neg(x)
  c = LeakyRelu<alpha=0.5>(a)
  e = LeakyRelu<alpha=0.25>(a)
  y = Add(c, c)
  z = Add(e, c)
})");
}

TEST(CommonSubexpressions, OutputsKeepTheirNames) {
  expect_pass(common_subexpression_elimination, R"(<opset: "" 17>
g(float[2] x) => (float[2] y, float[2] z, float[2] w) {
  a = Neg(x)
  y = Neg(x)
  z = Abs(a)
  w = Abs(y)
})",
              R"(<opset: "" 17>
g(float[2] x) => (float[2] y, float[2] z, float[2] w) {
  y = Neg(x)
  z = Abs(y)
  w = Abs(y)
})");
}

TEST(CommonSubexpressions, RandomStays) {
  const auto g = test::load(
      "<opset: \"\" 17> g(float[4] x) => (float[4] y) { a = RandomNormalLike(x)\n b = RandomNormalLike(x)\n y = Add(a, "
      "b) }");
  PassContext context;
  ASSERT_TRUE(common_subexpression_elimination(*g, context).ok());
  EXPECT_EQ(context.changes, 0);
}

TEST(DeadCode, NodesConstantsAndCaptures) {
  expect_pass(dead_code_elimination, R"(<opset: "" 16>
g(bool[] c, float[2] x, float[2] never) => (float[2] y) {
  float[2] w = {1, 2}
  float[2] unused = {3, 4}
  a = Neg(x)
  b = Add(a, w)
  d = Abs(b)
  t = Relu(x)
  y = If<then_branch=p[t, e = a]() => (o) { o = Neg(t)
      f = Neg(e) }, else_branch=q() => (o) { o = Abs(t) }>(c)
})",
              R"(<opset: "" 16>
g(bool[] c, float[2] x, float[2] never) => (float[2] y) {
  t = Relu(x)
  y = If<then_branch=p() => (float[2] o) { o = Neg(t) }, else_branch=q() => (float[2] o) { o = Abs(t) }>(c)
})");
}

TEST(DeadCode, ResultsOfBodies) {
  expect_pass(dead_code_elimination, R"(<opset: "" 16>
g(bool[] c, int64[] n, float[2] x) => (float[2] y, float[2] z) {
  u = Exp(x)
  _, y = If<then_branch=p() => (r, o) { o = Neg(x)
      r = Neg(u) }, else_branch=q() => (r, o) { o = Abs(x)
      r = Neg(x) }>(c)
  z, s = Loop<body=b(int64[] i, bool[] k, float[2] v) => (k2, w, t) { k2 = Identity(k)
      w = Add(v, x)
      t = Mul(v, u) }>(n, c, x)
})",
              R"(<opset: "" 16>
g(bool[] c, int64[] n, float[2] x) => (float[2] y, float[2] z) {
  y = If<then_branch=p() => (float[2] o) { o = Neg(x) }, else_branch=q() => (float[2] o) { o = Abs(x) }>(c)
  z = Loop<body=b(int64[] i, bool[] k, float[2] v) => (bool[] k2, float[2] w) { k2 = Identity(k)
      w = Add(v, x) }>(n, c, x)
})");
}

TEST(DeadCode, OptionalOutputs) {
  expect_pass(dead_code_elimination,
              "<opset: \"\" 17> g(float[1,1,4] x) => (float[1,1,3] y) { y, i = MaxPool<kernel_shape=[2]>(x) }",
              "<opset: \"\" 17> g(float[1,1,4] x) => (float[1,1,3] y) { y = MaxPool<kernel_shape=[2]>(x) }");
  expect_unchanged(dead_code_elimination, "<opset: \"\" 17> g(float[4] x) => (float[2] b) { a, b = Split(x) }");
}

}  // namespace
}  // namespace trunnion::passes
