// Every optimization level gives what the plain graph gives: fusions, channels last and folding against no pass at all.
#include <cmath>

#include "session/test_model.h"

namespace trunnion::session::test {
namespace {

std::vector<std::vector<float>> results_at(std::string_view text, OptimizationLevel level,
                                           const std::vector<Value>& inputs) {
  Options o;
  o.optimization_level = level;
  auto s = load(text, o);
  EXPECT_TRUE(s.ok()) << s.status().message();
  if (!s.ok()) return {};
  std::vector<std::vector<float>> out;
  for (int i = 0; i < 2; ++i) {  // the second run reuses the first one's plan
    auto r = run(**s, inputs);
    EXPECT_TRUE(r.ok()) << r.status().message();
    if (!r.ok()) return {};
    for (const auto& v : *r) out.push_back(floats_of(v));
  }
  return out;
}

void same_at_every_level(std::string_view text, const std::vector<Value>& inputs) {
  const auto plain = results_at(text, OptimizationLevel::disable_all, inputs);
  ASSERT_FALSE(plain.empty());
  for (auto level : {OptimizationLevel::basic, OptimizationLevel::extended, OptimizationLevel::all}) {
    const auto got = results_at(text, level, inputs);
    ASSERT_EQ(got.size(), plain.size()) << static_cast<int>(level);
    for (size_t k = 0; k < got.size(); ++k) {
      ASSERT_EQ(got[k].size(), plain[k].size());
      float top = 0;
      for (float v : plain[k]) top = std::max(top, std::fabs(v));
      for (size_t i = 0; i < got[k].size(); ++i)
        ASSERT_NEAR(got[k][i], plain[k][i], 2e-5f * top + 1e-6f)
            << "level " << static_cast<int>(level) << " output " << k << " element " << i;
    }
  }
}

// A picture with values around zero.
Tensor picture(std::vector<int64_t> dims, float step = 0.37f) {
  Tensor t = floats(std::move(dims));
  for (int64_t i = 0; i < t.count(); ++i) t.data<float>()[i] = std::sin(step * static_cast<float>(i));
  return t;
}

TEST(Levels, ConvBatchNormActivationResidual) {
  same_at_every_level(R"(<opset: "" 17>
g(float[N,3,H,W] x) => (float[?,8,?,?] y, float[?,8,1,1] p) {
  float[8,3,3,3] w1 = random(1)
  float[8] s = random(2)
  float[8] b = random(3)
  float[8] m = random(4)
  float[8] v = {1, 2, 3, 4, 5, 6, 7, 8}
  float[8,8,3,3] w2 = random(5)
  float[8] b2 = random(6)
  c1 = Conv<pads=[1,1,1,1], strides=[2,2]>(x, w1)
  n1 = BatchNormalization(c1, s, b, m, v)
  r1 = Relu(n1)
  c2 = Conv<pads=[1,1,1,1]>(r1, w2, b2)
  a = Add(c2, r1)
  y = Relu(a)
  p = GlobalAveragePool(y)
})",
                      {picture({2, 3, 9, 7})});
}

TEST(Levels, GatesPoolingConcatAndResize) {
  same_at_every_level(R"(<opset: "" 17>
g(float[1,4,8,8] x) => (float[?,?,?,?] y) {
  float[6,4,1,1] w1 = random(1)
  float[6,1,3,3] wd = random(2)
  float[3,6,1,1] ws = random(3)
  float[6,3,1,1] we = random(4)
  float[6] be = random(5)
  float[] three = 3
  float[] zero = 0
  float[] six = 6
  float[4] scales = {1, 1, 2, 2}
  float[5,12,2,2] w3 = random(7)
  c = Conv(x, w1)
  sg = Sigmoid(c)
  si = Mul(c, sg)
  d = Conv<pads=[1,1,1,1], group=6>(si, wd)
  t = Add(d, three)
  cl = Clip(t, zero, six)
  mu = Mul(d, cl)
  hs = Div(mu, six)
  gp = GlobalAveragePool(hs)
  e1 = Conv(gp, ws)
  e2 = Relu(e1)
  e3 = Conv(e2, we, be)
  e4 = HardSigmoid(e3)
  se = Mul(hs, e4)
  mp = MaxPool<kernel_shape=[2,2], strides=[2,2]>(se)
  up = Resize<mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor">(mp, _, scales)
  cat = Concat<axis=1>(up, si)
  y = Conv<strides=[2,2]>(cat, w3)
})",
                      {picture({1, 4, 8, 8})});
}

TEST(Levels, TransformerBlock) {
  same_at_every_level(R"(<opset: "" 17>
g(float[B,S,8] x) => (float[B,S,8] y) {
  float[8,16] w1 = random(1)
  float[16] b1 = random(2)
  float[16,8] w2 = random(3)
  float[8] b2 = random(4)
  float[8] scale = random(5)
  float[8] bias = random(6)
  float[] two = 2
  float[] eps = 1e-5
  float[] half = 0.5
  float[] one = 1
  float[] root = 1.4142135
  mean = ReduceMean<axes=[-1]>(x)
  d = Sub(x, mean)
  sq = Pow(d, two)
  var = ReduceMean<axes=[-1]>(sq)
  ve = Add(var, eps)
  sd = Sqrt(ve)
  nm = Div(d, sd)
  sc = Mul(nm, scale)
  ln = Add(sc, bias)
  m1 = MatMul(ln, w1)
  a1 = Add(m1, b1)
  er = Div(a1, root)
  ef = Erf(er)
  ep = Add(ef, one)
  ge = Mul(a1, ep)
  gh = Mul(ge, half)
  m2 = MatMul(gh, w2)
  a2 = Add(b2, m2)
  y = Add(x, a2)
})",
                      {picture({2, 5, 8})});
}

TEST(Levels, TransposedConvPadAndLeakyRelu) {
  same_at_every_level(R"(<opset: "" 17>
g(float[1,3,5,6] x) => (float[?,?,?,?] y) {
  int64[8] pads = {0, 0, 1, 2, 0, 0, 2, 1}
  float[4,3,3,2] w = random(1)
  float[4] b = random(2)
  float[4,2,3,2] wt = random(3)
  float[2] s = random(4)
  float[2] o = random(5)
  float[2] m = random(6)
  float[2] v = {1, 2}
  p = Pad(x, pads)
  c = Conv(p, w, b)
  l = LeakyRelu<alpha=0.1>(c)
  t = ConvTranspose<strides=[3,2], pads=[1,0,0,1], output_padding=[1,1]>(l, wt)
  n = BatchNormalization(t, s, o, m, v)
  y = Tanh(n)
})",
                      {picture({1, 3, 5, 6})});
}

TEST(Levels, ARankOneFactorTakesNoBias) {
  same_at_every_level(R"(<opset: "" 17>
g(float[2,3,4] x) => (float[2,3] y) {
  float[4] w = {1, 2, 3, 4}
  float[3] b = {10, 20, 30}
  t = MatMul(x, w)
  y = Add(t, b)
})",
                      {picture({2, 3, 4})});
}

TEST(Levels, ConstantsOfHigherRankWidenTheResult) {
  constexpr std::string_view kGelu = R"(<opset: "" 17>
g(float[2,3] x) => (float[1,2,3] y) {
  float[1,1,1] half = {0.5}
  float[] one = 1
  float[] root = 1.4142135
  d = Div(x, root)
  e = Erf(d)
  a = Add(e, one)
  m = Mul(x, a)
  y = Mul(m, half)
})";
  same_at_every_level(kGelu, {picture({2, 3})});
  auto s = load(kGelu);
  ASSERT_TRUE(s.ok());
  EXPECT_EQ((*run(**s, {picture({2, 3})}))[0].tensor().shape(), (Shape{1, 2, 3}));
}

TEST(Levels, SliceByInt32BehindAConvolution) {
  same_at_every_level(R"(<opset: "" 17>
g(float[1,2,5,5] x) => (float[?,?,?,?] y) {
  float[4,2,3,3] w = random(1)
  int32[2] starts = {1, 0}
  int32[2] ends = {3, 2}
  int32[2] axes = {1, 3}
  c = Conv(x, w)
  y = Slice(c, starts, ends, axes)
})",
                      {picture({1, 2, 5, 5})});
}

TEST(Levels, DeclaredShapesAreNoProof) {
  same_at_every_level(R"(<opset: "" 17>
g(float[4] x, int64[1] from, int64[1] to) => (float[4] y) {
  s = Slice(x, from, to)
  y = Neg(s)
})",
                      {picture({4}), ints({1}, {1}), ints({1}, {3})});
}

}  // namespace
}  // namespace trunnion::session::test
