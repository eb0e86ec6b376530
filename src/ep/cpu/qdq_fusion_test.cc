// Groups of DequantizeLinear, operator and QuantizeLinear: what becomes of them, and that the integer operators give
// the codes of the float ones, but for one where a rounding ties.
#include <gtest/gtest.h>

#include <cmath>
#include <unordered_map>

#include "ep/cpu/fusion.h"
#include "ir/verify.h"
#include "ops/parsed_graph.h"

namespace trunnion::ep {
namespace {

std::string operators(const ir::Graph& g) {
  std::string out;
  for (const ir::Node* n = g.first(); n; n = n->next()) out += (out.empty() ? "" : " ") + n->op_type();
  return out;
}

// Output 0, as numbers.
std::vector<float> evaluate(const ir::Graph& g) {
  std::unordered_map<const ir::Value*, Value> values;
  for (const ir::Value* v : g.inputs()) {
    auto t = Tensor::allocate(v->fact.dtype(), *v->fact.concrete());
    const size_t size = size_of(v->fact.dtype());
    for (int64_t i = 0; i < t->count(); ++i) {
      const double wave = std::sin(0.7 * static_cast<double>(i)) * 120;
      if (t->dtype() == DType::f32)
        t->data<float>()[i] = static_cast<float>(wave / 40);
      else if (t->dtype() == DType::boolean)
        t->data<bool>()[i] = wave > 0;
      else
        t->data<uint8_t>()[static_cast<size_t>(i) * size] =
            static_cast<uint8_t>(t->dtype() == DType::i8 ? wave : wave + 128);
    }
    values[v] = Value(*t);
  }
  g.for_each_value([&](ir::Value* v) {
    if (v->is_constant()) values[v] = Value(v->constant());
  });
  for (const ir::Node* n = g.first(); n; n = n->next()) {
    std::vector<const Value*> in;
    for (const ir::Value* v : n->inputs()) in.push_back(v ? &values.at(v) : nullptr);
    auto out = ops::evaluate(*n, in);
    EXPECT_TRUE(out.ok()) << n->label() << ": " << out.status().message();
    if (!out.ok()) return {};
    for (size_t i = 0; i < n->outputs().size(); ++i)
      if (n->outputs()[i]) values[n->outputs()[i]] = (*out)[i];
  }
  std::vector<float> numbers;
  const Tensor& t = values.at(g.outputs()[0]).tensor();
  for (int64_t i = 0; i < t.count(); ++i)
    numbers.push_back(t.dtype() == DType::f32   ? t.data<float>()[i]
                      : t.dtype() == DType::i64 ? static_cast<float>(t.data<int64_t>()[i])
                      : t.dtype() == DType::i8  ? t.data<int8_t>()[i]
                                                : t.data<uint8_t>()[i]);
  return numbers;
}

// u8 x with scale 0.05 and zero point 120 is `d`; sy and zy are for results.
std::string net(std::string_view body, std::string_view x = "[1,4,6,6]", std::string_view y = "uint8",
                std::string_view inputs = "", int opset = 17) {
  return "<opset: \"\" " + std::to_string(opset) + ", \"com.microsoft\" 1>\ng(uint8" + std::string(x) + " x" +
         std::string(inputs) + ") => (" + std::string(y) + R"( y) {
  float[] sx = 0.05
  uint8[] zx = 120
  float[] sy = 0.07
  uint8[] zy = 100
  uint8[] low = 0
  d = DequantizeLinear(x, sx, zx)
)" + std::string(body) +
         "\n}";
}

std::unique_ptr<ir::Graph> fused(const std::string& text) {
  auto graph = ops::test::parsed(text);
  if (!graph) return nullptr;
  passes::PassContext context;
  Status s = qdq_fusion(*graph, context);
  EXPECT_TRUE(s.ok()) << s.message();
  const int changes = context.changes;
  s = ops::resolve(*graph);
  EXPECT_TRUE(s.ok()) << s.message();
  s = ops::infer(*graph);
  EXPECT_TRUE(s.ok()) << s.message();
  s = ir::verify(*graph);
  EXPECT_TRUE(s.ok()) << s.message();
  s = qdq_fusion(*graph, context);
  EXPECT_TRUE(s.ok()) << s.message();
  EXPECT_EQ(context.changes, changes) << "the second time";
  return graph;
}

// The operators afterwards, and results that differ by `step` at most.
void expect_group(const std::string& text, std::string_view after, float step = 1) {
  const auto before = ops::test::parsed(text);
  const auto graph = fused(text);
  if (!before || !graph) return;
  EXPECT_EQ(operators(*graph), after) << text << ir::print(*graph);
  EXPECT_EQ(graph->outputs()[0]->name(), "y");
  const auto a = evaluate(*before), b = evaluate(*graph);
  ASSERT_EQ(a.size(), b.size()) << text;
  int apart = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_LE(std::fabs(a[i] - b[i]), step) << text << " element " << i << ": " << a[i] << " and " << b[i];
    apart += a[i] != b[i];
  }
  // Codes differ at ties only; step is less where the result is f32.
  EXPECT_LE(step < 1 ? 0 : apart, 1 + static_cast<int>(a.size()) / 10) << text;
}

constexpr std::string_view kWeights = R"(
  int8[3,4,3,3] w = random(3, -90, 90)
  float[3] sw = {0.01, 0.02, 0.005}
  int8[3] zw = {0, 0, 0}
  dw = DequantizeLinear<axis=0>(w, sw, zw)
)";

std::string conv(std::string_view rest) { return net(std::string(kWeights) + std::string(rest)); }

TEST(QdqFusion, Conv) {
  expect_group(conv("c = Conv<pads=[1,1,1,1]>(d, dw)\n y = QuantizeLinear(c, sy, zy)"), "QLinearConv");
  expect_group(conv("c = Conv<strides=[2,2]>(d, dw)\n r = Relu(c)\n y = QuantizeLinear(r, sy, low)"), "QLinearConv");
  // A zero point that is not the end of the range: what Relu cuts is cut from the codes.
  expect_group(conv("c = Conv(d, dw)\n r = Relu(c)\n y = QuantizeLinear(r, sy, zy)"), "QLinearConv Clip");
  expect_group(
      conv("float[] a = -0.5\n float[] b = 2\n c = Conv(d, dw)\n r = Clip(c, a, b)\n y = QuantizeLinear(r, sy, zy)"),
      "QLinearConv Clip");
  expect_group(conv("int32[3] b = {500, -900, 100000}\n float[3] sb = {0.0005, 0.001, 0.00025}\n"
                    "db = DequantizeLinear<axis=0>(b, sb)\n c = Conv(d, dw, db)\n y = QuantizeLinear(c, sy, zy)"),
               "QLinearConv");
  // A bias that is not quantized, or otherwise, becomes what the sums are.
  expect_group(conv("float[3] b = {0.5, -1, 2}\n c = Conv(d, dw, b)\n y = QuantizeLinear(c, sy, zy)"), "QLinearConv");
  expect_group(
      conv("int32[3] b = {50, -9, 100}\n float[] sb = 0.01\n int32[] zb = 3\n db = DequantizeLinear(b, sb, zb)\n"
           "c = Conv(d, dw, db)\n y = QuantizeLinear(c, sy, zy)"),
      "QLinearConv");
  expect_group(
      conv("c = Conv(d, dw)\n t = Transpose<perm=[0,2,3,1]>(c)\n r = Relu(t)\n y = QuantizeLinear(r, sy, low)"),
      "QLinearConv Transpose");
}

TEST(QdqFusion, WhatStaysFloat) {
  const std::string kept = "DequantizeLinear DequantizeLinear Conv ";
  const auto unchanged = [](const std::string& text, const std::string& nodes) {
    const auto graph = fused(text);
    EXPECT_EQ(graph ? operators(*graph) : "", nodes);
  };
  // Another reader of the float result, scales along another axis, 16-bit results, scales that are fed.
  unchanged(conv("c = Conv(d, dw)\n q = QuantizeLinear(c, sy, zy)\n e = Abs(c)\n f = QuantizeLinear(e, sy, zy)\n"
                 "y = BitwiseXor@18(q, f)"),
            kept + "QuantizeLinear Abs QuantizeLinear BitwiseXor");
  unchanged(
      net("int8[4,4,1,1] w = random(3, -90, 90)\n float[4] sw = {1, 2, 3, 4}\n dw = DequantizeLinear<axis=1>(w, sw)\n"
          "c = Conv(d, dw)\n y = QuantizeLinear(c, sy, zy)"),
      kept + "QuantizeLinear");
  const std::string wide = net("float[] s = 0.001\n uint16[] z = 0\n a = Add(d, d)\n y = QuantizeLinear@21(a, s, z)",
                               "[1,4]", "uint16", "", 21);
  unchanged(wide, "DequantizeLinear Add QuantizeLinear");
  unchanged(net("a = Add(d, d)\n y = QuantizeLinear(a, s, zy)", "[1,4]", "uint8", ", float[] s"),
            "DequantizeLinear Add QuantizeLinear");
  // The weights' bias is too large for 32 bits.
  unchanged(conv("float[3] b = {1e9, 0, 0}\n c = Conv(d, dw, b)\n y = QuantizeLinear(c, sy, zy)"),
            kept + "QuantizeLinear");
}

TEST(QdqFusion, Products) {
  const auto product = [](std::string_view rest, std::string_view y = "uint8") {
    return net(R"(
  int8[36,5] w = random(3, -90, 90)
  float[5] sw = {0.01, 0.02, 0.005, 0.01, 0.01}
  dw = DequantizeLinear<axis=1>(w, sw)
  float[5] row = {1, 2, 3, -4, 5}
)" + std::string(rest),
               "[7,36]", y);
  };
  expect_group(product("m = MatMul(d, dw)\n y = QuantizeLinear(m, sy, zy)"), "QLinearMatMul");
  expect_group(product("y = MatMul(d, dw)", "float"), "MatMulIntegerToFloat", 1e-4f);
  expect_group(product("m = MatMul(d, dw)\n y = Add(row, m)", "float"), "MatMulIntegerToFloat", 1e-4f);
  expect_group(product("y = Gemm(d, dw)", "float"), "QGemm", 1e-4f);
  expect_group(product("g = Gemm(d, dw, row)\n y = QuantizeLinear(g, sy, zy)"), "QGemm");
  expect_group(net("int8[5,36] w = random(3, -90, 90)\n float[] sw = 0.01\n dw = DequantizeLinear(w, sw)\n"
                   "int32[5] b = {1000, -500, 40, 0, 9}\n float[] sb = 0.001\n db = DequantizeLinear(b, sb)\n"
                   "g = Gemm<transB=1, alpha=2.0>(d, dw, db)\n y = QuantizeLinear(g, sy, zy)",
                   "[7,36]"),
               "QGemm");
  expect_group(product("m = Gemm<beta=0.5>(d, dw, row)\n y = QuantizeLinear(m, sy, zy)"),
               "DequantizeLinear DequantizeLinear Gemm QuantizeLinear");
}

TEST(QdqFusion, OfOneType) {
  const std::string e = "float[] se = 0.03\n uint8[4,1,1] v = random(9, 0, 255)\n e = DequantizeLinear(v, se)\n";
  const std::string end = "\n y = QuantizeLinear(a, sy, zy)";
  const auto alone = [&](std::string_view op) { return net("a = " + std::string(op) + end); };
  expect_group(net(e + "a = Add(d, e)" + end), "QLinearAdd");
  expect_group(net(e + "a = Mul(e, d)" + end), "QLinearMul");
  expect_group(alone("Add(d, d)"), "QLinearAdd");
  expect_group(alone("Sum(d, d)"), "QLinearAdd");
  expect_group(alone("Sum(d, d, d)"), "DequantizeLinear Sum QuantizeLinear");
  expect_group(alone("Sigmoid(d)"), "QLinearSigmoid");
  expect_group(alone("LeakyRelu<alpha=0.2>(d)"), "QLinearLeakyRelu");
  expect_group(alone("AveragePool<kernel_shape=[3,2], pads=[1,0,1,1]>(d)"), "QLinearAveragePool");
  expect_group(alone("AveragePool<kernel_shape=[3,2], ceil_mode=1, count_include_pad=1>(d)"),
               "DequantizeLinear AveragePool QuantizeLinear");
  expect_group(alone("GlobalAveragePool(d)"), "QLinearGlobalAveragePool");
  expect_group(net("float[] s = 0.00390625\n a = Softmax<axis=1>(d)\n y = QuantizeLinear(a, s, low)"),
               "QLinearSoftmax");
  expect_group(net("float[] s = 0.00390625\n a = Softmax@11(d)\n y = QuantizeLinear(a, s, low)"), "QLinearSoftmax");
  expect_group(net("float[] s2 = 0.1\n uint8[1,2,6,6] v = random(4, 0, 255)\n e = DequantizeLinear(v, s2)\n"
                   "a = Concat<axis=1>(d, e, d)" +
                   end),
               "QLinearConcat");
  expect_group(net(e + "a = Where(c, d, e)" + end, "[1,4,6,6]", "uint8", ", bool[6] c"), "QLinearWhere");
  // Types that differ.
  expect_group(net("int8[] z = 3\n a = Add(d, d)\n y = QuantizeLinear(a, sy, z)", "[1,4,6,6]", "int8"),
               "DequantizeLinear Add QuantizeLinear", 0);
}

TEST(QdqFusion, MovesOnCodes) {
  const auto moved = [](std::string_view op, std::string_view after) {
    expect_group(net("a = " + std::string(op) + "\n y = QuantizeLinear(a, sx, zx)"), after, 0);
  };
  moved("MaxPool<kernel_shape=[2,2]>(d)", "MaxPool");
  moved("MaxPool@11<kernel_shape=[2,2]>(d)", "MaxPool");
  moved("Transpose(d)", "Transpose");
  moved("Flatten(d)", "Flatten");
  moved("Relu(d)", "Clip");
  moved("Identity(d)", "DequantizeLinear Identity QuantizeLinear");
  const std::string end = "\n y = QuantizeLinear(a, sx, zx)";
  expect_group(net("int64[8] p = {0, 0, 1, 2, 0, 1, 0, 0}\n a = Pad(d, p)" + end), "Pad", 0);
  expect_group(net("int64[2] i = {3, 0}\n a = Gather<axis=1>(d, i)" + end), "Gather", 0);
  expect_group(net("float[4] s = {1, 1, 2, 2}\n a = Resize<mode=\"nearest\">(d, _, s)" + end), "Resize", 0);
  expect_group(net("float[4] s = {1, 1, 2, 2}\n a = Resize<mode=\"linear\">(d, _, s)" + end),
               "DequantizeLinear Resize QuantizeLinear", 0);
  expect_group(net("a, b = Split<axis=1>(d)\n qa = QuantizeLinear(a, sx, zx)\n qb = QuantizeLinear(b, sx, zx)\n"
                   "y = Concat<axis=0>(qa, qb)"),
               "Split Concat", 0);
  // With another scale only the float part gets smaller; without any it comes last.
  expect_group(net("a = Transpose(d)\n y = QuantizeLinear(a, sy, zy)"), "Transpose DequantizeLinear QuantizeLinear", 0);
  expect_group(net("y = MaxPool<kernel_shape=[2,2]>(d)", "[1,4,6,6]", "float"), "MaxPool DequantizeLinear", 0);
  expect_group(net("y = ArgMax<axis=1>(d)", "[1,4,6,6]", "int64"), "ArgMax", 0);
}

// What is dequantized once and read three times.
TEST(QdqFusion, SharedInputs) {
  expect_group(net(R"(
  a = Add(d, d)
  q = QuantizeLinear(a, sy, zy)
  e = DequantizeLinear(q, sy, zy)
  m = MaxPool<kernel_shape=[3,3], pads=[1,1,1,1]>(d)
  p = QuantizeLinear(m, sx, zx)
  f = DequantizeLinear(p, sx, zx)
  b = Mul(e, f)
  y = QuantizeLinear(b, sy, zy))"),
               "QLinearAdd MaxPool QLinearMul", 3);
  expect_group(net("a = Add(d, d)\n q = QuantizeLinear(a, sy, zy)\n r = DequantizeLinear(q, sy, zy)\n s = Abs(d)\n"
                   "y = Add(r, s)",
                   "[1,4]", "float"),
               "DequantizeLinear QLinearAdd DequantizeLinear Abs Add", 0.08f);
}

}  // namespace
}  // namespace trunnion::ep
