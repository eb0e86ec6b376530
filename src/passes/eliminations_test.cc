// Identity, Dropout, Cast, no-ops, Slice, Expand, PreShape.
#include "passes/clean.h"
#include "passes/pass_harness.h"

namespace trunnion::passes {
namespace {

using test::expect_pass;
using test::expect_unchanged;

TEST(EliminateIdentity, Goes) {
  expect_pass(eliminate_identity,
              "<opset: \"\" 17> g(float[N] x) => (float[N] y) { a = Identity(x)\n b = Relu(a)\n y = Identity(b) }",
              "<opset: \"\" 17> g(float[N] x) => (float[N] y) { y = Relu(x) }");
}

TEST(EliminateIdentity, StaysWhereOutputsNeedIt) {
  expect_unchanged(eliminate_identity, R"(<opset: "" 17>
g(float[N] x) => (float[N] y, float[1] w2, float[N] z, float[N] z2) {
  float[1] w = {1}
  y = Identity(x)
  w2 = Identity(w)
  z = Relu(x)
  z2 = Identity(z)
})");
}

TEST(EliminateIdentity, UsersOfAnOutputReadTheInput) {
  expect_pass(eliminate_identity,
              "<opset: \"\" 17> g(float[N] x) => (float[N] y, float[N] z) { y = Identity(x)\n z = Relu(y) }",
              "<opset: \"\" 17> g(float[N] x) => (float[N] y, float[N] z) { y = Identity(x)\n z = Relu(x) }");
}

TEST(EliminateIdentity, InBodies) {
  expect_pass(eliminate_identity, R"(<opset: "" 16>
g(bool[] c, float[2] x) => (float[2] y) {
  t = Identity(x)
  y = If<then_branch=a() => (o) { o = Identity(t) }, else_branch=b() => (o) { u = Identity(t)
    o = Neg(u) }>(c)
})",
              R"(<opset: "" 16>
g(bool[] c, float[2] x) => (float[2] y) {
  y = If<then_branch=a[t = x]() => (float[2] o) { o = Identity(t) }, else_branch=b[t = x]() => (float[2] o) { o = Neg(t) }>(c)
})");
}

TEST(EliminateDropout, Versions) {
  expect_pass(eliminate_dropout, R"(<opset: "" 13>
g(float[N] x) => (float[N] y) {
  bool[] no = false
  float[] r = 0.5
  a = Dropout@6<is_test=1>(x)
  b, _ = Dropout@7<ratio=0.3>(a)
  c = Dropout@10(b)
  d = Dropout@12(c, r)
  e = Dropout(d, r, no)
  y = Neg(e)
})",
              "<opset: \"\" 13> g(float[N] x) => (float[N] y) { bool[] no = false\n float[] r = 0.5\n y = Neg(x) }");
}

TEST(CastElimination, OwnType) {
  expect_pass(cast_elimination,
              "<opset: \"\" 17> g(float[N] x, float[2] l) => (float[N] y) { a = Cast<to=1>(x)\n b = CastLike(a, l)\n y "
              "= Neg(b) }",
              "<opset: \"\" 17> g(float[N] x, float[2] l) => (float[N] y) { y = Neg(x) }");
}

TEST(CastElimination, WhatLosesNothingIsSkipped) {
  expect_pass(cast_elimination, R"(<opset: "" 17>
g(float16[N] x, int32[N] i, bool[N] b) => (float16[N] x2, int32[N] i2, float[N] b2, float[N] i3) {
  a = Cast<to=1>(x)
  a2 = Cast<to=10>(a)
  x2 = Neg(a2)
  c = Cast<to=7>(i)
  c2 = Cast<to=6>(c)
  i2 = Neg(c2)
  d = Cast<to=6>(b)
  b2 = Cast<to=1>(d)
  i3 = Cast<to=1>(c)
})",
              R"(<opset: "" 17>
g(float16[N] x, int32[N] i, bool[N] b) => (float16[N] x2, int32[N] i2, float[N] b2, float[N] i3) {
  a = Cast<to=1>(x)
  x2 = Neg(x)
  c = Cast<to=7>(i)
  i2 = Neg(i)
  d = Cast<to=6>(b)
  b2 = Cast<to=1>(b)
  i3 = Cast<to=1>(i)
})");
}

TEST(CastElimination, WhatLosesSomethingStays) {
  expect_unchanged(cast_elimination, R"(<opset: "" 17>
g(float[N] x, int64[N] i) => (float[N] y, int64[N] j, float[N] z) {
  a = Cast<to=10>(x)
  y = Cast<to=1>(a)
  b = Cast<to=1>(i)
  j = Cast<to=7>(b)
  c = Cast<to=6>(x)
  z = Cast<to=1>(c)
})");
}

TEST(PreShape, ShapeOfACast) {
  expect_pass(pre_shape_node_elimination,
              "<opset: \"\" 17> g(float[N,2] x) => (int64[2] y) { a = Cast<to=10>(x)\n y = Shape(a) }",
              "<opset: \"\" 17> g(float[N,2] x) => (int64[2] y) { a = Cast<to=10>(x)\n y = Shape(x) }");
}

TEST(NoopElimination, NeutralConstants) {
  expect_pass(noop_elimination, R"(<opset: "" 17>
g(float[N,3] x, int32[N] i) => (float[N,3] y, int32[N] j) {
  float[] zero = 0
  float[3] ones = {1, 1, 1}
  float[1,1] one = {1}
  int32[] n = 0
  a = Add(x, zero)
  b = Add(zero, a)
  c = Mul(b, ones)
  d = Mul(one, c)
  e = Sub(d, zero)
  f = Div(e, ones)
  h = Pow(f, one)
  y = Neg(h)
  k = Add(i, n)
  j = Neg(k)
})",
              R"(<opset: "" 17>
g(float[N,3] x, int32[N] i) => (float[N,3] y, int32[N] j) {
  float[] zero = 0
  float[3] ones = {1, 1, 1}
  float[1,1] one = {1}
  int32[] n = 0
  y = Neg(x)
  j = Neg(i)
})");
}

TEST(NoopElimination, StaysWhereItWidensOrIsNotNeutral) {
  expect_unchanged(noop_elimination, R"(<opset: "" 17>
g(float[1,3] x, float[3] v) => (a, b, c, d, e, f) {
  float[2,3] zeros = fill(0)
  float[1,3] row = fill(0)
  float[3] mixed = {0, 0, 1}
  float[] zero = 0
  float[] one = 1
  a = Add(x, zeros)
  b = Add(v, row)
  c = Add(v, mixed)
  d = Sub(zero, v)
  e = Div(one, v)
  f = Pow(one, v)
})");
}

TEST(NoopElimination, OperatorsThatHandOn) {
  expect_pass(noop_elimination, R"(<opset: "" 17>
g(float[N,3] x) => (float[N,3] y) {
  int64[2] ones = {1, 1}
  int64[4] none = {0, 0, 0, 0}
  a = Concat<axis=0>(x)
  b = Sum(a)
  c = Max(b)
  d = Tile(c, ones)
  e = Pad(d, none)
  f = Split<axis=1>(e)
  y = Neg(f)
})",
              R"(<opset: "" 17>
g(float[N,3] x) => (float[N,3] y) {
  int64[2] ones = {1, 1}
  int64[4] none = {0, 0, 0, 0}
  y = Neg(x)
})");
}

TEST(NoopElimination, PadsThatCancelAreNotNothing) {
  expect_unchanged(noop_elimination,
                   "<opset: \"\" 17> g(float[3] x) => (float[3] y) { int64[2] p = {1, -1}\n y = Pad(x, p) }");
}

TEST(EliminateSlice, OfEverything) {
  expect_pass(eliminate_slice, R"(<opset: "" 17>
g(float[N,4] x) => (float[N,4] y) {
  int64[1] zero = {0}
  int64[1] end = {9223372036854775807}
  int64[1] axis = {1}
  a = Slice(x, zero, end, axis)
  b = Slice@9<starts=[0], ends=[100], axes=[1]>(a)
  y = Neg(b)
})",
              R"(<opset: "" 17>
g(float[N,4] x) => (float[N,4] y) {
  int64[1] zero = {0}
  int64[1] end = {9223372036854775807}
  int64[1] axis = {1}
  y = Neg(x)
})");
}

TEST(EliminateSlice, ReversalStays) {
  expect_unchanged(eliminate_slice, R"(<opset: "" 17>
g(float[4] x) => (float[4] y, float[3] z) {
  int64[1] start = {3}
  int64[1] one = {1}
  int64[1] end = {-9223372036854775807}
  int64[1] many = {100}
  int64[1] zero = {0}
  int64[1] back = {-1}
  y = Slice(x, start, end, zero, back)
  z = Slice(x, one, many, zero)
})");
}

TEST(ExpandElimination, ToTheSameShape) {
  expect_pass(expand_elimination, R"(<opset: "" 17>
g(float[N,4] x) => (float[N,4] y, float[2,4] z) {
  int64[2] ones = {1, 4}
  int64[2] two = {2, 1}
  float[1,4] w = fill(1)
  a = Expand(x, ones)
  y = Neg(a)
  z = Expand(w, two)
})",
              R"(<opset: "" 17>
g(float[N,4] x) => (float[N,4] y, float[2,4] z) {
  int64[2] ones = {1, 4}
  int64[2] two = {2, 1}
  float[1,4] w = fill(1)
  y = Neg(x)
  z = Expand(w, two)
})");
}

}  // namespace
}  // namespace trunnion::passes
