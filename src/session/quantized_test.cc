// Models with DequantizeLinear and QuantizeLinear around their operators: from which level on they compute with
// integers, what turns that off, and that the results stay within a step or two of the float ones.
#include <cmath>

#include "session/test_model.h"

namespace trunnion::session::test {
namespace {

constexpr const char* kNet = R"(<opset: "" 17>
g(float[N,4,12,12] x) => (float[N,5] y) {
  float[] sx = 0.008
  uint8[] zx = 128
  float[] s = 0.02
  uint8[] z = 0
  float[] st = 0.03
  uint8[] zt = 110
  int8[8,4,3,3] w1 = random(1, -127, 127)
  float[8] s1 = {0.01, 0.02, 0.01, 0.005, 0.01, 0.003, 0.01, 0.02}
  int32[8] b1 = {100, -200, 300, 0, 5000, -3000, 7, 8}
  float[8] sb = {8e-5, 1.6e-4, 8e-5, 4e-5, 8e-5, 2.4e-5, 8e-5, 1.6e-4}
  int8[8,8,1,1] w2 = random(2, -127, 127)
  float[] s2 = 0.004
  int8[5,8] w3 = random(3, -127, 127)
  q0 = QuantizeLinear(x, sx, zx)
  d0 = DequantizeLinear(q0, sx, zx)
  dw1 = DequantizeLinear<axis=0>(w1, s1)
  db1 = DequantizeLinear<axis=0>(b1, sb)
  dw2 = DequantizeLinear(w2, s2)
  dw3 = DequantizeLinear(w3, s2)
  c1 = Conv<pads=[1,1,1,1]>(d0, dw1, db1)
  r1 = Relu(c1)
  q1 = QuantizeLinear(r1, s, z)
  d1 = DequantizeLinear(q1, s, z)
  m1 = MaxPool<kernel_shape=[2,2], strides=[2,2]>(d1)
  qm = QuantizeLinear(m1, s, z)
  dm = DequantizeLinear(qm, s, z)
  c2 = Conv(dm, dw2)
  q2 = QuantizeLinear(c2, st, zt)
  d2 = DequantizeLinear(q2, st, zt)
  a = Add(d2, dm)
  qa = QuantizeLinear(a, st, zt)
  da = DequantizeLinear(qa, st, zt)
  p = GlobalAveragePool(da)
  qp = QuantizeLinear(p, s, z)
  dp = DequantizeLinear(qp, s, z)
  f = Flatten(dp)
  y = Gemm<transB=1>(f, dw3)
})";

struct Outcome {
  std::vector<float> y;
  int rewrites = 0;
};

Outcome outcome(Options options) {
  auto s = load(kNet, std::move(options));
  EXPECT_TRUE(s.ok()) << s.status().message();
  if (!s.ok()) return {};
  Tensor x = floats({2, 4, 12, 12});
  for (int64_t i = 0; i < x.count(); ++i) x.data<float>()[i] = std::sin(0.37f * static_cast<float>(i));
  auto r = run(**s, {x});
  EXPECT_TRUE(r.ok()) << r.status().message();
  if (!r.ok()) return {};
  Outcome o{floats_of((*r)[0])};
  for (const auto& record : (*s)->pass_records())
    if (record.name == "QDQSelectorActionTransformer") o.rewrites += record.changes;
  return o;
}

Outcome at(OptimizationLevel level, const char* key = nullptr, const char* value = nullptr) {
  Options o;
  o.optimization_level = level;
  if (key) o.config[key] = value;
  return outcome(std::move(o));
}

TEST(Quantized, IntegersFromLevelExtendedOn) {
  const auto plain = at(OptimizationLevel::disable_all);
  EXPECT_EQ(plain.rewrites, 0);
  EXPECT_EQ(at(OptimizationLevel::basic).rewrites, 0);
  for (auto level : {OptimizationLevel::extended, OptimizationLevel::all}) {
    const auto integers = at(level);
    EXPECT_GT(integers.rewrites, 5);
    ASSERT_EQ(integers.y.size(), plain.y.size());
    for (size_t i = 0; i < plain.y.size(); ++i) EXPECT_NEAR(integers.y[i], plain.y[i], 0.02) << i;
  }
}

TEST(Quantized, TwoSwitchesTurnItOff) {
  const auto all = OptimizationLevel::all;
  EXPECT_EQ(at(all, "session.disable_quant_qdq", "1").rewrites, 0);
  EXPECT_GT(at(all, "session.disable_quant_qdq", "0").rewrites, 0);
  EXPECT_EQ(at(all, "optimization.disable_specified_optimizers", "QDQSelectorActionTransformer").rewrites, 0);
  Options wrong;
  wrong.config["session.disable_quant_qdq"] = "yes";
  const auto s = load(kNet, std::move(wrong));
  ASSERT_FALSE(s.ok());
  EXPECT_NE(s.status().message().find("session.disable_quant_qdq"), std::string::npos);
}

}  // namespace
}  // namespace trunnion::session::test
