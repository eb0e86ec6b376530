// ReshapeFusion, ReshapeElimination, TransposeElimination.
#include "passes/clean.h"
#include "passes/pass_harness.h"

namespace trunnion::passes {
namespace {

using test::expect_pass;
using test::expect_unchanged;

TEST(ReshapeFusion, ComputedTargetsBecomeConstant) {
  expect_pass(reshape_fusion, R"(<opset: "" 17>
g(float[N,12] x) => (float[N,3,4] y) {
  int64[] zero = 0
  int64[1] at = {0}
  int64[1] three = {3}
  int64[1] four = {4}
  s = Shape(x)
  n = Gather(s, zero)
  n1 = Unsqueeze(n, at)
  t = Concat<axis=0>(n1, three, four)
  y = Reshape(x, t)
})",
              R"(<opset: "" 17>
g(float[N,12] x) => (float[N,3,4] y) {
  int64[] zero = 0
  int64[1] at = {0}
  int64[1] three = {3}
  int64[1] four = {4}
  int64[3] y_shape = {-1, 3, 4}
  s = Shape(x)
  n = Gather(s, zero)
  n1 = Unsqueeze(n, at)
  t = Concat<axis=0>(n1, three, four)
  y = Reshape(x, y_shape)
})");
}

TEST(ReshapeFusion, SeveralSymbolsAreCopied) {
  expect_pass(reshape_fusion, R"(<opset: "" 17>
g(float[B,S,8] x) => (float[B,S,2,4] y) {
  int64[2] heads = {2, 4}
  s = Shape<end=2>(x)
  t = Concat<axis=0>(s, heads)
  y = Reshape<allowzero=1>(x, t)
})",
              R"(<opset: "" 17>
g(float[B,S,8] x) => (float[B,S,2,4] y) {
  int64[2] heads = {2, 4}
  int64[4] y_shape = {0, 0, 2, 4}
  s = Shape<end=2>(x)
  t = Concat<axis=0>(s, heads)
  y = Reshape(x, y_shape)
})");
}

TEST(ReshapeFusion, WhatMovesTwoSymbolsStays) {
  expect_unchanged(reshape_fusion, R"(<opset: "" 17>
g(float[B,S,8] x) => (float[S,B,8] y) {
  int64[3] order = {1, 0, 2}
  s = Shape(x)
  t = Gather(s, order)
  y = Reshape(x, t)
})");
}

TEST(ReshapeElimination, ComesBack) {
  expect_pass(reshape_elimination, R"(<opset: "" 17>
g(float[N,4] x) => (float[N,4] y) {
  int64[1] one = {1}
  int64[2] s = {-1, 4}
  a = Unsqueeze(x, one)
  b = Squeeze(a, one)
  c = Reshape(b, s)
  d = Flatten(c)
  y = Relu(d)
})",
              R"(<opset: "" 17>
g(float[N,4] x) => (float[N,4] y) {
  int64[1] one = {1}
  int64[2] s = {-1, 4}
  a = Unsqueeze(x, one)
  y = Relu(x)
})");
}

TEST(ReshapeElimination, TheLastReshapeDoes) {
  expect_pass(reshape_elimination, R"(<opset: "" 17>
g(float[2,3,4] x) => (float[4,6] y, float[2,12] z) {
  int64[2] s = {4, -1}
  int64[2] t = {-1, 1}
  a = Flatten<axis=2>(x)
  y = Reshape(a, s)
  b = Reshape(x, t)
  int64[3] back = {2, 4, 3}
  c = Reshape(b, back)
  z = Flatten(c)
})",
              R"(<opset: "" 17>
g(float[2,3,4] x) => (float[4,6] y, float[2,12] z) {
  int64[2] s = {4, -1}
  int64[2] t = {-1, 1}
  int64[3] back = {2, 4, 3}
  a = Flatten<axis=2>(x)
  y = Reshape(x, s)
  b = Reshape(x, t)
  c = Reshape(x, back)
  z = Flatten<axis=1>(x)
})");
}

TEST(ReshapeElimination, CopiedDimensionsMustBeTheSame) {
  expect_pass(reshape_elimination, R"(<opset: "" 17>
g(float[N,2,6] x) => (float[N,12] y, float[6,2,N] z) {
  int64[2] s = {0, -1}
  int64[3] keep = {0, 3, 4}
  int64[3] other = {6, 2, -1}
  int64[3] copy = {0, 2, -1}
  a = Reshape(x, keep)
  y = Reshape(a, s)
  b = Reshape(x, other)
  z = Reshape(b, copy)
})",
              R"(<opset: "" 17>
g(float[N,2,6] x) => (float[N,12] y, float[6,2,N] z) {
  int64[2] s = {0, -1}
  int64[3] keep = {0, 3, 4}
  int64[3] other = {6, 2, -1}
  int64[3] copy = {0, 2, -1}
  a = Reshape(x, keep)
  y = Reshape(x, s)
  z = Reshape(x, other)
})");
}

TEST(ReshapeElimination, AZeroThatCopiesAnotherDimensionStays) {
  expect_unchanged(reshape_elimination, R"(<opset: "" 17>
g(float[2,6] x) => (float[3,2,2] y) {
  int64[2] s = {3, 4}
  int64[3] t = {0, 2, 2}
  a = Reshape(x, s)
  y = Reshape(a, t)
})");
}

TEST(ReshapeElimination, AxesMerge) {
  expect_pass(reshape_elimination, R"(<opset: "" 17>
g(float[3,4] x, float[1,3,1,4] w) => (float[1,3,1,4,1] y, float[3,4] z) {
  int64[1] a0 = {1}
  int64[2] a1 = {0, -1}
  int64[1] b0 = {0}
  a = Unsqueeze(x, a0)
  y = Unsqueeze(a, a1)
  b = Squeeze(w, b0)
  z = Squeeze(b, a0)
})",
              R"(<opset: "" 17>
g(float[3,4] x, float[1,3,1,4] w) => (float[1,3,1,4,1] y, float[3,4] z) {
  int64[1] a0 = {1}
  int64[2] a1 = {0, -1}
  int64[1] b0 = {0}
  int64[3] y_axes = {0, 2, 4}
  int64[2] z_axes = {0, 2}
  a = Unsqueeze(x, a0)
  y = Unsqueeze(x, y_axes)
  b = Squeeze(w, b0)
  z = Squeeze(w, z_axes)
})");
}

TEST(ReshapeElimination, AxesAsAttributes) {
  expect_pass(reshape_elimination, R"(<opset: "" 11>
g(float[3] x) => (float[1,1,3] y) {
  a = Unsqueeze<axes=[0]>(x)
  y = Unsqueeze<axes=[0]>(a)
})",
              R"(<opset: "" 11>
g(float[3] x) => (float[1,1,3] y) {
  a = Unsqueeze<axes=[0]>(x)
  y = Unsqueeze<axes=[0, 1]>(x)
})");
}

TEST(TransposeOptimizer, ElementwiseNodesBetweenTransposes) {
  expect_pass(transpose_optimizer, R"(<opset: "" 17>
g(float[1,2,3,4] x) => (float[1,2,3,4] y) {
  float[2] bias = {1, 2}
  float[] low = 0
  a = Transpose<perm=[0, 2, 3, 1]>(x)
  b = Add(a, bias)
  c = Clip(b, low)
  d = Mul(b, c)
  y = Transpose<perm=[0, 3, 1, 2]>(d)
})",
              R"(<opset: "" 17>
g(float[1,2,3,4] x) => (float[1,2,3,4] y) {
  float[2] bias = {1, 2}
  float[] low = 0
  float[1,2,1,1] bias_1 = {1, 2}
  a = Transpose<perm=[0, 2, 3, 1]>(x)
  b = Add(x, bias_1)
  c = Clip(b, low)
  d = Mul(b, c)
  y = Transpose<perm=[0, 1, 2, 3]>(d)
})");
}

TEST(TransposeOptimizer, OneLeavesForTwo) {
  expect_pass(transpose_optimizer, R"(<opset: "" 17>
g(float[2,3] x, float[2,3] z) => (float[3,2] y, float[2,3] w) {
  a = Transpose<perm=[1, 0]>(x)
  b = Transpose<perm=[1, 0]>(z)
  y = Add(a, b)
  c = Relu(y)
  w = Transpose<perm=[1, 0]>(c)
})",
              R"(<opset: "" 17>
g(float[2,3] x, float[2,3] z) => (float[3,2] y, float[2,3] w) {
  a = Transpose<perm=[1, 0]>(x)
  b = Transpose<perm=[1, 0]>(z)
  y_replaced = Add(x, z)
  y = Transpose<perm=[1, 0]>(y_replaced)
  c = Relu(y_replaced)
  w = Transpose<perm=[0, 1]>(c)
})");
}

TEST(TransposeOptimizer, WhatSavesNothingStays) {
  expect_unchanged(transpose_optimizer, R"(<opset: "" 17>
g(float[2,3] x, float[3,2] z) => (float[3,2] y, float[3,2] v, float[2,3] u) {
  a = Transpose<perm=[1, 0]>(x)
  y = Relu(a)
  b = Transpose<perm=[1, 0]>(x)
  c = Add(b, z)
  v = Neg(c)
  float[3,2] w = {1, 2, 3, 4, 5, 6}
  d = Transpose<perm=[1, 0]>(x)
  e = Add(d, w)
  u = Transpose<perm=[1, 0]>(e)
})");
}

TEST(TransposeElimination, PairsMergeOrCancel) {
  expect_pass(transpose_elimination, R"(<opset: "" 17>
g(float[2,3,4] x) => (float[2,3,4] y, float[3,4,2] z, float[4,3,2] w) {
  a = Transpose<perm=[0, 2, 1]>(x)
  b = Transpose<perm=[0, 2, 1]>(a)
  y = Relu(b)
  c = Transpose<perm=[1, 0, 2]>(x)
  z = Transpose<perm=[0, 2, 1]>(c)
  d = Transpose(x)
  e = Transpose(d)
  w = Transpose(e)
})",
              R"(<opset: "" 17>
g(float[2,3,4] x) => (float[2,3,4] y, float[3,4,2] z, float[4,3,2] w) {
  a = Transpose<perm=[0, 2, 1]>(x)
  y = Relu(x)
  c = Transpose<perm=[1, 0, 2]>(x)
  z = Transpose<perm=[1, 2, 0]>(x)
  d = Transpose(x)
  e = Transpose<perm=[0, 1, 2]>(x)
  w = Transpose<perm=[2, 1, 0]>(x)
})");
}

TEST(TransposeElimination, ScalarsAndVectors) {
  expect_pass(transpose_elimination,
              "<opset: \"\" 17> g(float[] x, float[N] v) => (float[] y, float[N] z) { a = Transpose(x)\n y = Neg(a)\n "
              "b = Transpose(v)\n z = Neg(b) }",
              "<opset: \"\" 17> g(float[] x, float[N] v) => (float[] y, float[N] z) { y = Neg(x)\n z = Neg(v) }");
}

}  // namespace
}  // namespace trunnion::passes
