// Every rewrite of the CPU provider against the plain graph: random models for each, on every instruction set that the
// CPU has. A pass that is new in the pipeline has to stand in this file.
#include <cmath>
#include <functional>
#include <map>
#include <random>

#include "base/cpu_info.h"
#include "ep/cpu/cpu_provider.h"
#include "kernels/gemm_bf16.h"
#include "kernels/gemm_split_emulated.h"
#include "session/test_model.h"

namespace trunnion::session::test {
namespace {

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  int64_t between(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(engine_); }
  bool maybe() { return between(0, 1) != 0; }
  template <class T>
  T one_of(std::initializer_list<T> choices) {
    return choices.begin()[between(0, static_cast<int64_t>(choices.size()) - 1)];
  }
  Tensor floats(std::vector<int64_t> dims, float most = 2) {
    auto t = Tensor::allocate(DType::f32, dims);
    EXPECT_TRUE(t.ok());
    std::uniform_real_distribution<float> any(-most, most);
    for (int64_t i = 0; i < t->count(); ++i) t->data<float>()[i] = any(engine_);
    return *t;
  }
  Tensor booleans(std::vector<int64_t> dims) {
    auto t = Tensor::allocate(DType::boolean, dims);
    EXPECT_TRUE(t.ok());
    for (int64_t i = 0; i < t->count(); ++i) t->data<bool>()[i] = between(0, 3) != 0;
    return *t;
  }

 private:
  std::mt19937 engine_;
};

struct Model {
  std::string text;
  std::vector<Value> inputs;
};
using Maker = std::function<Model(Random&)>;

// "{name}" in the text becomes the text or number given for it.
std::string filled(std::string text, const std::map<std::string, std::string>& with) {
  for (const auto& [name, value] : with)
    for (size_t at; (at = text.find("{" + name + "}")) != std::string::npos;) text.replace(at, name.size() + 2, value);
  return text;
}
std::string n(int64_t v) { return std::to_string(v); }

// A convolution, what `rest` makes of its result c, and b and r to go with it.
Model convolution(Random& r, const std::string& rest) {
  const int64_t in = r.between(1, 20), out = r.between(1, 40), side = r.between(5, 18), k = r.one_of<int64_t>({1, 3});
  return {filled(R"(<opset: "" 17>
g(float[N,{in},H,W] x) => (float[?,?,?,?] y) {
  float[{out},{in},{k},{k}] w = random(1, -0.5, 0.5)
  float[{out}] b = random(2)
  float[{out}] scale = random(3)
  float[{out}] shift = random(4)
  float[{out}] mean = random(5)
  float[{out}] var = random(6, 0.5, 2)
  float[{out},1,1] times = random(7)
  float[1,{out},1,1] plus = random(8)
  float[] zero = 0
  float[] three = 3
  float[] six = 6
  int64[8] pads = {0, 0, {pad}, {pad}, 0, 0, {pad}, {pad}}
  {rest}
})",
                 {{"rest", rest}, {"in", n(in)}, {"out", n(out)}, {"k", n(k)}, {"pad", n(k / 2)}}),
          {r.floats({r.between(1, 3), in, side, side + r.between(0, 3)})}};
}

Model pad(Random& r) { return convolution(r, "p = Pad(x, pads)\n  y = Conv(p, w, b)"); }
Model batch_norm(Random& r) {
  const auto rest = r.one_of<const char*>(
      {"c = Conv(x, w, b)\n  y = BatchNormalization(c, scale, shift, mean, var)",
       "c = Conv(x, w)\n  s = Softplus(c)\n  y = BatchNormalization(s, scale, shift, mean, var)",
       "c = Conv(x, w)\n  n = BatchNormalization(c, scale, shift, mean, var)\n  m = Mul(n, times)\n  a = Add(plus, m)\n"
       "  y = Relu(a)",
       "c = Conv(x, w)\n  s = Softplus(c)\n  n = BatchNormalization(s, scale, shift, mean, var)\n  m = Mul(times, n)\n"
       "  a = Sub(m, plus)\n  d = Div(a, three)\n  y = Relu(d)",
       "c = Conv(x, w, b)\n  a = Add(c, plus)\n  y = Mul(a, times)"});
  return convolution(r, rest);
}
Model swish(Random& r) {
  return convolution(r, r.maybe()
                            ? "c = Conv(x, w)\n  s = Sigmoid(c)\n  y = Mul(s, c)"
                            : "c = Conv(x, w)\n  a = Add(c, three)\n  l = Clip(a, zero, six)\n  m = Mul(c, l)\n  y = "
                              "Div(m, six)");
}
Model activation(Random& r) {
  const auto last = r.one_of<const char*>({"Relu(c)", "Sigmoid(c)", "Tanh(c)", "LeakyRelu<alpha=0.1>(c)",
                                           "HardSwish(c)", "HardSigmoid(c)", "Clip(c, zero, six)"});
  return convolution(r, std::string("c = Conv(x, w, b)\n  y = ") + last);
}
Model residual(Random& r) {
  return convolution(r, r.maybe() ? "c = Conv(x, w, b)\n  d = Conv(x, w)\n  s = Sum(c, d)\n  y = Relu(s)"
                                  : "c = Conv(x, w, b)\n  d = Conv(x, w)\n  t = Tanh(d)\n  y = Add(c, t)");
}
// Groups of channels change places between a convolution and a depthwise one.
Model shuffle(Random& r) {
  const int64_t groups = r.between(2, 5), members = r.between(1, 20), channels = groups * members,
                side = r.between(5, 20), kernel = r.one_of<int64_t>({3, 5});
  return {filled(R"(<opset: "" 17>
g(float[N,{c},{h},{w}] x) => (float[?,?,?,?] y) {
  float[{c},{m},1,1] w = random(1, -0.5, 0.5)
  float[{c},1,{k},{k}] d = random(2, -0.5, 0.5)
  int64[5] apart = {0, {g}, {m}, {h}, {w}}
  int64[4] joined = {0, {c}, {h}, {w}}
  a = Conv<group={g}>(x, w)
  b = Reshape(a, apart)
  s = Transpose<perm=[0,2,1,3,4]>(b)
  e = Reshape(s, joined)
  f = Conv<group={c}, pads=[{p},{p},{p},{p}], strides=[{s},{s}]>(e, d)
  y = Sigmoid(f)
})",
                 {{"c", n(channels)},
                  {"m", n(members)},
                  {"g", n(groups)},
                  {"h", n(side)},
                  {"w", n(side + 1)},
                  {"k", n(kernel)},
                  {"p", n(kernel / 2)},
                  {"s", n(r.between(1, 2))}}),
          {r.floats({r.between(1, 2), channels, side, side + 1})}};
}
Model layout(Random& r) {
  if (r.maybe()) return shuffle(r);
  return convolution(r,
                     "c = Conv(x, w, b)\n  a = Relu(c)\n  p = MaxPool<kernel_shape=[2,2], strides=[2,2]>(a)\n  q = "
                     "Concat<axis=1>(p, p)\n  y = GlobalAveragePool(q)");
}
// Squeeze and excite: a gate per channel before a 1x1 convolution.
Model gate(Random& r) {
  const int64_t channels = r.between(1, 40), out = r.between(8, 40), side = r.between(1, 12);
  return {filled(R"(<opset: "" 17>
g(float[N,{c},H,W] x) => (float[?,?,?,?] y) {
  float[{c},1,3,3] d = random(1, -0.5, 0.5)
  float[{c},{c},1,1] e = random(2, -0.5, 0.5)
  float[{o},{c},1,1] w = random(3, -0.5, 0.5)
  float[{o}] b = random(4)
  a = Conv<group={c}, pads=[1,1,1,1]>(x, d)
  p = GlobalAveragePool(a)
  h = Conv(p, e)
  s = Sigmoid(h)
  m = Mul({first}, {second})
  c = Conv(m, w{bias})
  y = {last}
})",
                 {{"c", n(channels)},
                  {"o", n(out)},
                  {"first", side % 2 ? "a" : "s"},
                  {"second", side % 2 ? "s" : "a"},
                  {"bias", r.maybe() ? ", b" : ""},
                  {"last", r.maybe() ? "Relu(c)" : "Add(c, c)"}}),
          {r.floats({r.between(1, 3), channels, side, side + 1})}};
}
Model winograd(Random& r) {
  const int64_t in = r.between(1, 3) * 16, out = r.between(1, 3) * 32, side = r.between(12, 30);
  return {filled(R"(<opset: "" 17>
g(float[1,{in},{h},{w}] x) => (float[?,?,?,?] y) {
  float[{out},{in},3,3] w = random(1, -0.1, 0.1)
  float[{out}] b = random(2)
  c = Conv<pads=[1,1,1,1]>(x, w, b)
  y = Relu(c)
})",
                 {{"in", n(in)}, {"out", n(out)}, {"h", n(side)}, {"w", n(side + 1)}}),
          {r.floats({1, in, side, side + 1})}};
}

// A product with rows of x, and what `rest` makes of its result c.
Model product(Random& r, const std::string& rest, int64_t width = 0) {
  const int64_t in = r.between(1, 70), out = width ? width : r.between(1, 70);
  return {filled(R"(<opset: "" 17, "com.microsoft" 1>
g(float[B,S,{in}] x) => (float[?,?,?] y) {
  float[{in},{out}] w = random(1, -0.5, 0.5)
  float[{out}] b = random(2)
  float[{out}] scale = random(3)
  float[] two = 2
  float[] half = 0.5
  float[] one = 1
  float[] cube = 3
  float[] root = 1.4142135
  float[] inner = 0.7978846
  float[] cubic = 0.044715
  float[] eps = 1e-5
  {rest}
})",
                 {{"rest", rest}, {"in", n(in)}, {"out", n(out)}}),
          {r.floats({r.between(1, 3), r.between(1, 40), in})}};
}

Model bias(Random& r) { return product(r, "c = MatMul(x, w)\n  y = Add(b, c)"); }
Model gelu(Random& r) {
  if (r.maybe())
    return product(r,
                   "c = MatMul(x, w)\n  a = Div(c, root)\n  e = Erf(a)\n  f = Add(e, one)\n  g = Mul(c, f)\n  y = "
                   "Mul(g, half)");
  return product(r,
                 "c = MatMul(x, w)\n  p = Pow(c, cube)\n  q = Mul(p, cubic)\n  s = Add(c, q)\n  t = Mul(s, inner)\n  "
                 "u = Tanh(t)\n  f = Add(u, one)\n  h = Mul(c, half)\n  y = Mul(h, f)");
}
// Constant weights, in products and convolutions.
Model rounded(Random& r) { return r.maybe() ? gelu(r) : residual(r); }
Model layer_norm(Random& r) {
  return product(r,
                 "c = MatMul(x, w)\n  m = ReduceMean<axes=[-1]>(c)\n  d = Sub(c, m)\n  q = Pow(d, two)\n  v = "
                 "ReduceMean<axes=[-1]>(q)\n  e = Add(v, eps)\n  s = Sqrt(e)\n  f = Div(d, s)\n  g = Mul(f, scale)\n  "
                 "y = Add(g, b)",
                 r.between(2, 70));
}
Model saved(Random& r) {
  return product(r, r.maybe() ? "c = com.microsoft::FusedMatMul<alpha=0.5>(x, w)\n  y = com.microsoft::QuickGelu(c)"
                              : "c = MatMul(x, w)\n  y = com.microsoft::Gelu(c)");
}
Model saved_layout(Random& r) {
  const int64_t side = r.between(3, 9);
  return {filled(R"(<opset: "" 17, "com.microsoft.nchwc" 1>
g(float[1,20,{side},8] x) => (float[?,?,?,?] y) {
  float[24,24,1,1] w = random(1, -0.2, 0.2)
  a = com.microsoft.nchwc::ReorderInput(x)
  b = com.microsoft.nchwc::Conv<activation="Relu">(a, w)
  c = Sigmoid(b)
  y = com.microsoft.nchwc::ReorderOutput<channels=20>(c)
})",
                 {{"side", n(side)}}),
          {r.floats({1, 20, side, 8})}};
}

// Scores in one of the spellings, masks among them; heads split off by Reshape or given as they are.
Model attention(Random& r) {
  const int64_t batch = r.between(1, 2), heads = r.between(1, 4), size = r.between(1, 40), queries = r.between(1, 140),
                keys = r.between(1, 140);
  const bool flat = r.maybe();
  const auto scores =
      r.one_of<const char*>({"s = Div(raw, root)", "d = Mul(raw, half)\n  s = Add(d, mask)", "s = Add(mask, raw)",
                             "d = Div(raw, root)\n  a = Add(d, mask)\n  s = Add(a, place)", "s = Where(keep, raw, low)",
                             "d = Div(raw, root)\n  w = Where(keep, low, d)\n  s = Add(w, mask)",
                             "d = Div(raw, root)\n  w = Add(d, place)\n  s = Where(keep, w, low)"});
  Model m;
  m.text = filled(flat ? R"(<opset: "" 17>
g(float[B,Q,{width}] q, float[B,K,{width}] k, float[B,K,{width}] v, float[B,1,1,K] mask, float[{heads},Q,K] place, bool[1,1,Q,K] keep) => (float[?,?,?] y) {
  float[] root = 1.7
  float[] half = 0.5
  float[] low = -10000
  int64[4] split = {0, 0, {heads}, {size}}
  int64[3] join = {0, 0, {width}}
  qh = Mul(q, half)
  rq = Reshape(qh, split)
  rk = Reshape(k, split)
  rv = Reshape(v, split)
  tq = Transpose<perm=[0,2,1,3]>(rq)
  tk = Transpose<perm=[0,2,3,1]>(rk)
  tv = Transpose<perm=[0,2,1,3]>(rv)
  raw = MatMul(tq, tk)
  {scores}
  p = Softmax<axis=-1>(s)
  o = MatMul(p, tv)
  t = Transpose<perm=[0,2,1,3]>(o)
  y = Reshape(t, join)
})"
                       : R"(<opset: "" 17>
g(float[B,{heads},Q,{size}] q, float[B,{heads},K,{size}] k, float[B,{heads},K,{size}] v, float[B,1,1,K] mask, float[{heads},Q,K] place, bool[1,1,Q,K] keep) => (float[?,?,?,?] y) {
  float[] root = 1.7
  float[] half = 0.5
  float[] low = -10000
  tk = Transpose<perm=[0,1,3,2]>(k)
  sk = Mul(tk, half)
  raw = MatMul(q, sk)
  {scores}
  p = Softmax<axis=3>(s)
  y = MatMul(p, v)
})",
                  {{"scores", scores}, {"heads", n(heads)}, {"size", n(size)}, {"width", n(heads * size)}});
  for (const int64_t rows : {queries, keys, keys})
    m.inputs.push_back(flat ? r.floats({batch, rows, heads * size}) : r.floats({batch, heads, rows, size}));
  m.inputs.push_back(r.floats({batch, 1, 1, keys}));
  m.inputs.push_back(r.floats({heads, queries, keys}));
  m.inputs.push_back(r.booleans({1, 1, queries, keys}));
  return m;
}

// A tree of element-wise operators: every step takes two of what there is, the last one all that is left.
Model elementwise(Random& r) {
  const int64_t batch = r.between(1, 4), channels = r.between(1, 9), width = r.between(1, 300);
  std::string steps;
  std::string last = "x";
  const int64_t count = r.between(2, 12);
  for (int64_t i = 0; i < count; ++i) {
    const std::string name = i + 1 == count ? "y" : "t" + n(i);
    const std::string other = r.one_of<const char*>({"x", "row", "channel", "number", "z"});
    const std::string op = r.one_of<const char*>({"Add", "Sub", "Mul", "Max", "Min", "", ""});
    if (op.empty()) {
      steps += "  " + name + " = " +
               r.one_of<const char*>({"Tanh", "Sigmoid", "Relu", "Neg", "Abs", "Erf", "Softplus", "Elu", "HardSwish"}) +
               "(" + last + ")\n";
    } else {
      steps += "  " + name + " = " + op +
               (r.maybe() ? "(" + last + ", " + other + ")\n" : "(" + other + ", " + last + ")\n");
    }
    last = name;
  }
  return {filled(R"(<opset: "" 17>
g(float[N,{c},{w}] x, float[N,{c},{w}] z) => (float[?,?,?] y) {
  float[{w}] row = random(1)
  float[{c},1] channel = random(2)
  float[] number = 0.75
{steps}})",
                 {{"steps", steps}, {"c", n(channels)}, {"w", n(width)}}),
          {r.floats({batch, channels, width}), r.floats({batch, channels, width})}};
}

Model quantized(Random& r) {
  const int64_t side = r.between(4, 12);
  return {filled(R"(<opset: "" 17>
g(float[N,4,{h},{h}] x) => (float[?,?,?,?] y) {
  float[] sx = 0.02
  uint8[] zx = 128
  float[] s = 0.05
  uint8[] z = 0
  int8[8,4,3,3] w = random(1, -127, 127)
  float[] sw = 0.005
  q = QuantizeLinear(x, sx, zx)
  d = DequantizeLinear(q, sx, zx)
  dw = DequantizeLinear(w, sw)
  c = Conv(d, dw)
  a = Relu(c)
  q1 = QuantizeLinear(a, s, z)
  y = DequantizeLinear(q1, s, z)
})",
                 {{"h", n(side)}}),
          {r.floats({r.between(1, 3), 4, side, side})}};
}

struct Case {
  const char* pass;
  Maker make;
  float tolerance = 2e-5f;  // of the largest result
  const char* level = "fp32";
  bool (*possible)() = nullptr;  // whether the pass finds anything on this CPU
};

// What the passes do to bits: most compute the same sums in another order or leave out a rounding.
const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"PadFusion", pad},
      {"BatchNormFusion", batch_norm},
      {"SwishFusion", swish},
      {"GeluFusion", gelu},
      {"LayerNormFusion", layer_norm},
      {"AttentionFusion", attention},
      {"MatMulBiasFusion", bias},
      {"ActivationFusion", activation},
      {"ResidualFusion", residual},
      {"ActivationFusionAfterResidual", residual},
      {"SavedFusion", saved},
      {"SavedLayout", saved_layout},
      {"ChannelsLast", layout},
      {"GateFusion", gate},
      {"ElementwiseFusion", elementwise, 0},  // the same bits
      {"StrictMath", gelu, 2e-5f, "strict"},
      {"WinogradChoice", winograd, 2e-5f, "fast"},
      {"Bf16Choice", rounded, 2e-2f, "bf16", kernels::bf16_gemm_pays},
      {"QDQSelectorActionTransformer", quantized, 0.011f},  // a step of the quantizer: the largest result is 255 steps
  };
  return all;
}

std::unique_ptr<Session> loaded(const Model& m, OptimizationLevel level, const char* precision) {
  Options o;
  o.optimization_level = level;
  o.config["precision"] = precision;
  auto s = load(m.text, std::move(o));
  EXPECT_TRUE(s.ok()) << s.status().message() << "\n" << m.text;
  return s.ok() ? std::move(s).value() : nullptr;
}

int changes_of(const Session& s, std::string_view pass) {
  int changes = 0;
  for (const auto& record : s.pass_records())
    if (record.name == pass) changes += record.changes;
  return changes;
}

class Fusions : public testing::TestWithParam<Rung> {
 protected:
  void SetUp() override {
    if (GetParam() > cpu_info().rung) GTEST_SKIP() << "the CPU has no " << rung_name(GetParam());
    force_rung_for_test(GetParam());
  }
  void TearDown() override { clear_forced_rung_for_test(); }
};

TEST_P(Fusions, GiveWhatThePlainGraphGives) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.pass);
    Random random(17);
    int changes = 0;
    for (int round = 0; round < 12; ++round) {
      const Model m = c.make(random);
      auto plain = loaded(m, OptimizationLevel::disable_all, "fp32"),
           fused = loaded(m, OptimizationLevel::all, c.level);
      if (!plain || !fused) return;
      changes += changes_of(*fused, c.pass);
      const auto want = run(*plain, m.inputs), got = run(*fused, m.inputs);
      ASSERT_TRUE(want.ok()) << want.status().message() << "\n" << m.text;
      ASSERT_TRUE(got.ok()) << got.status().message() << "\n" << m.text;
      for (size_t k = 0; k < want->size(); ++k) {
        const auto a = floats_of((*want)[k]), b = floats_of((*got)[k]);
        ASSERT_EQ((*want)[k].tensor().shape(), (*got)[k].tensor().shape());
        float top = 0;
        for (float v : a) top = std::max(top, std::fabs(v));
        for (size_t i = 0; i < a.size(); ++i)
          ASSERT_NEAR(a[i], b[i], c.tolerance * std::max(top, 1e-3f)) << "element " << i << "\n" << m.text;
      }
    }
    if (!c.possible || c.possible()) {
      EXPECT_GT(changes, 0) << "the pass never found anything to do";
    }
  }
}

// Products on planes of bfloat16, which no CPU takes by itself yet.
TEST(Planes, OnAnEmulatedTileUnit) {
  kernels::set_split_unit_for_test(&kernels::kEmulated);
  Random random(3);
  const Model m{R"(<opset: "" 17>
g(float[N,70,8,9] x) => (float[?,?,?,?] y, float[?,?] z) {
  float[40,70,3,3] w = random(1, -0.2, 0.2)
  float[40] b = random(2)
  float[100,40] v = random(3)
  int64[1] zero = {0}
  int64[1] hundred = {100}
  int64[1] one = {1}
  c = Conv<strides=[2,2], pads=[1,1,1,1]>(x, w, b)
  y = Relu(c)
  f = Flatten(y)
  s = Slice(f, zero, hundred, one)
  z = MatMul(s, v)
})",
                {random.floats({20, 70, 8, 9})}};
  auto plain = loaded(m, OptimizationLevel::disable_all, "fp32");
  ASSERT_TRUE(plain);
  const auto want = run(*plain, m.inputs);
  ASSERT_TRUE(want.ok());
  for (const auto& [level, tolerance] :
       {std::pair("fp32", 2e-6f), std::pair("fast", 4e-5f), std::pair("bf16", 2e-2f)}) {
    auto fused = loaded(m, OptimizationLevel::all, level);
    ASSERT_TRUE(fused);
    EXPECT_EQ(changes_of(*fused, "Bf16Choice"), 2) << level;
    const auto got = run(*fused, m.inputs);
    ASSERT_TRUE(got.ok()) << got.status().message();
    for (size_t k = 0; k < 2; ++k) {
      const auto a = floats_of((*want)[k]), b = floats_of((*got)[k]);
      float top = 0;
      for (float v : a) top = std::max(top, std::fabs(v));
      for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], tolerance * top) << level << " element " << i;
    }
  }
  kernels::set_split_unit_for_test(nullptr);
}

INSTANTIATE_TEST_SUITE_P(Rungs, Fusions, testing::Values(Rung::baseline, Rung::avx2, Rung::avx512),
                         [](const auto& info) { return std::string(rung_name(info.param)); });

TEST(FusionsList, IsWhole) {
  for (const auto& pass : ep::cpu_pipeline(ep::Level::all))
    EXPECT_TRUE(std::ranges::any_of(cases(), [&](const Case& c) { return std::string_view(c.pass) == pass.name; }))
        << pass.name << " has no case in fusions_test.cc";
}

}  // namespace
}  // namespace trunnion::session::test
