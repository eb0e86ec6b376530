// FlexAttention against attention by hand, Gradient against differences of the function itself.
#include "passes/expand.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "passes/pass_harness.h"

namespace trunnion::passes::test {
namespace {

Value doubles(std::vector<int64_t> dims, double first, double step) {
  auto t = Tensor::allocate(DType::f64, dims);
  EXPECT_TRUE(t.ok());
  for (int64_t i = 0; i < t->count(); ++i)
    t->data<double>()[i] = first + step * static_cast<double>(i * 7 % 5) + 0.01 * static_cast<double>(i);
  return *t;
}

std::vector<Value> run(const ir::Graph& g, const std::vector<Value>& inputs) {
  auto r = interpret(g, inputs);
  EXPECT_TRUE(r.ok()) << r.status().message();
  return r.ok() ? *r : std::vector<Value>();
}

// The nodes, of inputs a (and b), end in y. Both gradients must be what differences of the sum of y are.
void check_gradient(const std::string& nodes, std::vector<int64_t> a_dims, std::vector<int64_t> b_dims = {},
                    const char* a_type = nullptr, const char* b_type = nullptr, int opset = 18) {
  const bool two = nodes.find("b)") != std::string::npos || nodes.find("b,") != std::string::npos;
  const auto type = [](const char* given, const std::vector<int64_t>& dims) {
    return given ? std::string(given) : "double[" + fmt::format("{}", fmt::join(dims, ",")) + "]";
  };
  const std::string a = type(a_type, a_dims) + " a", b = two ? ", " + type(b_type, b_dims) + " b" : "";
  const std::string header = fmt::format("<opset: \"\" {}, \"ai.onnx.preview.training\" 1>\ng(", opset);
  const std::string xs = two ? "[\"a\", \"b\"]" : "[\"a\"]", args = two ? "a, b" : "a", outs = two ? "da, db" : "da";
  auto plain = load(header + a + b + ") => (double y) {\n" + nodes + "\n}");
  auto graph = load(header + a + b + ") => (double y, double " + (two ? "da, double db" : "da") + ") {\n" + nodes +
                    "\n" + outs + " = ai.onnx.preview.training::Gradient<xs=" + xs + ", y=\"y\">(" + args + ")\n}");
  ASSERT_TRUE(plain && graph) << nodes;
  const auto status = expand_operators(*graph, nullptr);
  ASSERT_TRUE(status.ok()) << status.message();
  std::vector<Value> inputs = {doubles(a_dims, 0.4, 0.3)};
  if (two) inputs.push_back(doubles(b_dims, 1.1, -0.17));
  const auto got = run(*graph, inputs);
  ASSERT_EQ(got.size(), inputs.size() + 1) << nodes;
  const auto sum = [&] {
    const auto y = run(*plain, inputs);
    double s = 0;
    for (int64_t i = 0; i < y[0].tensor().count(); ++i) s += y[0].tensor().data<double>()[i];
    return s;
  };
  for (size_t k = 0; k < inputs.size(); ++k) {
    const Tensor &x = inputs[k].tensor(), &g = got[k + 1].tensor();
    ASSERT_EQ(shape_text(x.shape()), shape_text(g.shape())) << nodes;
    for (int64_t i = 0; i < x.count(); ++i) {
      constexpr double kStep = 1e-6;
      const double at = x.data<double>()[i];
      x.data<double>()[i] = at + kStep;
      const double up = sum();
      x.data<double>()[i] = at - kStep;
      const double down = sum();
      x.data<double>()[i] = at;
      const double slope = (up - down) / (2 * kStep);
      EXPECT_NEAR(g.data<double>()[i], slope, 1e-5 * std::max(1.0, std::fabs(slope)))
          << nodes << " input " << k << " element " << i;
    }
  }
}

TEST(Gradient, ElementWise) {
  for (const char* op : {"Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Sum", "Mean"}) {
    const std::string node = "c = Mul(a, a)\ny = " + std::string(op) + "(c, b)";
    check_gradient(node, {2, 3}, {2, 3});
    check_gradient(node, {2, 3}, {3});
    check_gradient(node, {2, 3}, {2, 1});
    check_gradient(node, {3}, {2, 2, 1});
    check_gradient(node, {2, 3}, {1, 1}, "double[N,M]", "double[K,L]");  // what is repeated shows at run time
  }
  for (const char* op : {"Neg",
                         "Abs",
                         "Relu",
                         "LeakyRelu",
                         "Elu",
                         "Sigmoid",
                         "Tanh",
                         "Softplus",
                         "Softsign",
                         "Exp",
                         "Log",
                         "Sqrt",
                         "Reciprocal",
                         "Sin",
                         "Cos",
                         "Erf",
                         "Identity",
                         "Selu",
                         "ThresholdedRelu",
                         "HardSigmoid",
                         "HardSwish",
                         "Mish",
                         "Tan",
                         "Atan",
                         "Sinh",
                         "Cosh",
                         "Asinh"})
    check_gradient("c = " + std::string(op) + "(a)\ny = Mul(c, c)", {2, 3});
  for (const char* op : {"Asin", "Acos", "Atanh"})  // within (-1, 1)
    check_gradient("double[] s = 0.4\nd = Mul(a, s)\nc = " + std::string(op) + "(d)\ny = Mul(c, c)", {2, 3});
  check_gradient("double[] s = 1.0\nd = Add(a, s)\ny = Acosh(d)", {2, 3});
  check_gradient("double[] s = 1.0\nd = Sub(a, s)\nc = Celu<alpha=2.0>(d)\ny = Mul(c, c)", {2, 3}, {}, nullptr, nullptr,
                 28);
  check_gradient("double[] s = 1.0\nd = Sub(a, s)\nc = Gelu(d)\ny = Mul(c, c)", {2, 3}, {}, nullptr, nullptr, 24);
  check_gradient("double[] s = 1.0\nd = Sub(a, s)\nc = Gelu<approximate=\"tanh\">(d)\ny = Mul(c, c)", {2, 3}, {},
                 nullptr, nullptr, 24);
  check_gradient("double[] s = 1.0\nd = Sub(a, s)\nc = Swish<alpha=2.0>(d)\ny = Mul(c, c)", {2, 3}, {}, nullptr,
                 nullptr, 24);
  for (const char* op : {"Elu", "Selu", "HardSwish", "LeakyRelu", "Relu"})  // either side of 0
    check_gradient("double[] s = 1.0\nd = Sub(a, s)\nc = " + std::string(op) + "(d)\ny = Mul(c, c)", {2, 3});
}

TEST(Gradient, Products) {
  check_gradient("y = MatMul(a, b)", {2, 3}, {3, 4});
  check_gradient("c = MatMul(a, b)\ny = Mul(c, c)", {3}, {3});
  check_gradient("c = MatMul(a, b)\ny = Mul(c, c)", {3}, {3, 2});
  check_gradient("c = MatMul(a, b)\ny = Mul(c, c)", {2, 3}, {3});
  check_gradient("c = MatMul(a, b)\ny = Mul(c, c)", {2, 2, 3}, {3, 2});
  check_gradient("c = MatMul(a, b)\ny = Mul(c, c)", {2, 1, 2, 3}, {4, 3, 2});
  check_gradient("c = MatMul(a, b)\ny = Mul(c, c)", {2, 2, 3}, {1, 3, 2}, "double[N,M,3]", "double[K,3,P]");
  for (const char* attrs : {"", "<transA=1>", "<transB=1, alpha=0.5>", "<transA=1, transB=1, alpha=2.0>"}) {
    const std::string text = attrs;
    const bool ta = text.find("transA") != text.npos, tb = text.find("transB") != text.npos;
    check_gradient("c = Gemm" + text + "(a, b)\ny = Mul(c, c)",
                   ta ? std::vector<int64_t>{3, 2} : std::vector<int64_t>{2, 3},
                   tb ? std::vector<int64_t>{4, 3} : std::vector<int64_t>{3, 4});
  }
  check_gradient("c = MatMul(a, a)\nd = Gemm<beta=0.5>(c, a, b)\ny = Mul(d, d)", {2, 2}, {2});
}

TEST(Gradient, ReductionsAndSoftmax) {
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceSumSquare", "ReduceL1", "ReduceL2", "ReduceMax", "ReduceMin",
                         "ReduceLogSumExp"}) {
    const std::string name = op;
    for (const char* form : {"(a)", "<keepdims=0>(a)"})
      check_gradient("c = " + name + form + "\ny = Mul(c, c)", {2, 3}, {}, nullptr, nullptr, 18);
    for (const char* form : {"(a, axes)", "<keepdims=0>(a, axes)"})
      check_gradient("int64[1] axes = {-1}\nc = " + name + form + "\ny = Mul(c, c)", {2, 3});
    if (name != "ReduceSum")
      check_gradient("c = " + name + "<axes=[0], keepdims=0>(a)\ny = Mul(c, c)", {2, 3}, {}, nullptr, nullptr, 13);
  }
  for (const char* op : {"Softmax", "LogSoftmax"})
    check_gradient("c = " + std::string(op) + "<axis=0>(a)\ny = Mul(c, a)", {3, 2});
}

TEST(Gradient, Movement) {
  check_gradient("int64[1] s = {-1}\nc = Reshape(a, s)\ny = Mul(c, c)", {2, 3});
  check_gradient("c = Transpose<perm=[1, 2, 0]>(a)\ny = Mul(c, c)", {2, 3, 1});
  check_gradient("c = Transpose(a)\ny = Mul(c, c)", {2, 3});
  check_gradient("c = Concat<axis=-1>(a, b)\ny = Mul(c, c)", {2, 3}, {2, 1});
  check_gradient("int64[2] s = {1, 2}\np, q = Split<axis=1>(a, s)\ny = Mul(q, q)", {2, 3});
  check_gradient("int64[2] i = {2, 0}\nc = Gather(a, i)\ny = Mul(c, c)", {3, 2});
  check_gradient("int64[3] i = {1, 1, 0}\nc = Gather(a, i)\ny = Mul(c, c)", {3, 2});
  check_gradient("int64[2] s = {2, 3}\nc = Expand(a, s)\ny = Mul(c, c)", {2, 1});
  check_gradient("d = Greater(a, b)\nc = Where(d, a, b)\ny = Mul(c, c)", {2, 3}, {3});
  check_gradient("double[] low = 0.5\ndouble[] high = 1.2\nc = Clip(a, low, high)\ny = Mul(c, c)", {2, 3});
}

TEST(Gradient, Convolution) {
  check_gradient("c = Conv(a, b)\ny = Mul(c, c)", {2, 2, 4, 3}, {3, 2, 2, 2});
  check_gradient("c = Conv<strides=[2, 1], pads=[1, 0, 1, 1]>(a, b)\ny = Mul(c, c)", {1, 2, 5, 3}, {2, 2, 2, 2});
  check_gradient("c = Conv<dilations=[2], strides=[3]>(a, b)\ny = Mul(c, c)", {1, 1, 9}, {2, 1, 2});
}

TEST(Gradient, Layers) {
  check_gradient("c = GlobalAveragePool(a)\ny = Mul(c, c)", {2, 2, 3, 2});
  check_gradient("double[3] w = {1, -2, 0.5}\nc = LayerNormalization(a, w, b)\ny = Mul(c, c)", {2, 3}, {3});
  check_gradient("c = LayerNormalization<axis=1>(a, b)\nd = Mul(c, c)\ny = Mul(d, c)", {2, 2, 3}, {2, 3});
  check_gradient(
      "double[2] h = {1, 3}\ndouble[2] u = {0.5, 0.2}\ndouble[2] v = {2, 1}\nc = BatchNormalization(a, b, h, u, v)\n"
      "y = Mul(c, c)",
      {2, 2, 3}, {2});
  check_gradient("c = Dropout(a)\ny = Mul(c, c)", {2, 3});
  check_gradient(
      "int64[2] p = {1, 0}\nint64[2] q = {-1, 2}\nint64[2] x = {1, -3}\nc = Slice(a, p, q, x)\ny = Mul(c, c)",
      {3, 4, 2});
  check_gradient("int64[4] p = {1, 0, 2, 1}\nc = Pad(a, p)\ny = Mul(c, c)", {2, 3});
}

std::unique_ptr<ir::Graph> expanded(const std::string& text, Status* status) {
  auto g = load(text);
  *status = expand_operators(*g, nullptr);
  return g;
}

TEST(Gradient, OfTheSecondOrder) {
  Status status;
  auto g = expanded(R"(<opset: "" 18, "ai.onnx.preview.training" 1>
g(double[2] x) => (double[2] dy, double[2] ddy) {
  s = Mul(x, x)
  y = Mul(s, x)
  dy = ai.onnx.preview.training::Gradient<xs=["x"], y="y">(x)
  ddy = ai.onnx.preview.training::Gradient<xs=["x"], y="dy">(x)
})",
                    &status);
  ASSERT_TRUE(status.ok()) << status.message();
  const auto r = run(*g, {doubles({2}, 2, 1)});
  EXPECT_NEAR(r[0].tensor().data<double>()[0], 12, 1e-9);
  EXPECT_NEAR(r[1].tensor().data<double>()[0], 12, 1e-9);
}

TEST(Gradient, AtAnotherPointAndByAnInnerValue) {
  Status status;
  auto g = expanded(R"(<opset: "" 18, "ai.onnx.preview.training" 1>
g(double[1] x, double[1] w, double[1] p) => (double[1] y, double[1] dx, double[1] dw, double[1] dh) {
  e = Exp(w)
  h = Mul(x, e)
  y = Mul(h, h)
  dx, dw = ai.onnx.preview.training::Gradient<xs=["x", "w"], y="y">(p, w)
  dh = ai.onnx.preview.training::Gradient<xs=["h"], y="y">(h)
})",
                    &status);
  ASSERT_TRUE(status.ok()) << status.message();
  const auto r = run(*g, {doubles({1}, 3, 0), doubles({1}, 0, 0), doubles({1}, 5, 0)});
  EXPECT_NEAR(r[0].tensor().data<double>()[0], 9, 1e-9);
  EXPECT_NEAR(r[1].tensor().data<double>()[0], 10, 1e-9);  // at x = 5
  EXPECT_NEAR(r[2].tensor().data<double>()[0], 50, 1e-9);
  EXPECT_NEAR(r[3].tensor().data<double>()[0], 6, 1e-9);
}

TEST(Gradient, WhatDoesNotDependIsZeroAndRefusalsNameTheOperator) {
  Status status;
  auto g = expanded(R"(<opset: "" 18, "ai.onnx.preview.training" 1>
g(double[2] x, double[3] z) => (double[2] y, double[3] dz) {
  y = Mul(x, x)
  _, dz = ai.onnx.preview.training::Gradient<xs=["x", "z"], y="y">(x, z)
})",
                    &status);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(run(*g, {doubles({2}, 1, 1), doubles({3}, 1, 1)})[1].tensor().data<double>()[2], 0);
  (void)expanded(R"(<opset: "" 18, "ai.onnx.preview.training" 1>
g(double[2,2] x) => (double[] y, double[2,2] dx) {
  [area] y = Det(x)
  dx = ai.onnx.preview.training::Gradient<xs=["x"], y="y">(x)
})",
                 &status);
  EXPECT_NE(status.message().find("Det 'area'"), std::string::npos) << status.message();
  (void)expanded(R"(<opset: "" 18, "ai.onnx.preview.training" 1>
g(double[2] x) => (double[2] dx) { dx = ai.onnx.preview.training::Gradient<xs=["x"], y="nothing">(x) })",
                 &status);
  EXPECT_NE(status.message().find("'nothing'"), std::string::npos) << status.message();
}

// Scores and products by hand; `heads` query heads share `kv` key heads.
std::vector<double> attention(const Tensor& q, const Tensor& k, const Tensor& v,
                              const std::function<double(double)>& mod) {
  const int64_t h = q.shape()[1], n = q.shape()[2], d = q.shape()[3], s = k.shape()[2], e = v.shape()[3];
  const int64_t group = h / k.shape()[1];
  std::vector<double> out;
  for (int64_t head = 0; head < h; ++head)
    for (int64_t i = 0; i < n; ++i) {
      std::vector<double> p;
      double sum = 0;
      for (int64_t j = 0; j < s; ++j) {
        double dot = 0;
        for (int64_t c = 0; c < d; ++c)
          dot += q.data<double>()[(head * n + i) * d + c] * k.data<double>()[(head / group * s + j) * d + c];
        p.push_back(std::exp(mod(dot / std::sqrt(static_cast<double>(d)))));
        sum += p.back();
      }
      for (int64_t c = 0; c < e; ++c) {
        double y = 0;
        for (int64_t j = 0; j < s; ++j)
          y += p[static_cast<size_t>(j)] / sum * v.data<double>()[(head / group * s + j) * e + c];
        out.push_back(y);
      }
    }
  return out;
}

void check_attention(const char* q_type, const char* k_type, int64_t heads, int64_t kv) {
  Status status;
  auto g = expanded(fmt::format(R"(<opset: "" 21, "ai.onnx.preview" 1>
g({} q, {} k, {} v, double[] limit) => (double y) {{
  y = ai.onnx.preview::FlexAttention<score_mod=soft(double[B,H,L,S] x) => (z) {{
      d = Div(x, limit)
      t = Tanh(d)
      z = Mul(t, limit)
    }}, prob_mod=same(double[B,H,L,S] p) => (r) {{ r = Identity(p) }}>(q, k, v)
}})",
                                q_type, k_type, k_type),
                    &status);
  ASSERT_TRUE(status.ok()) << status.message();
  const Value q = doubles({1, heads, 3, 2}, -0.5, 0.3), k = doubles({1, kv, 4, 2}, 0.2, -0.4),
              v = doubles({1, kv, 4, 2}, 1, 0.5);
  const auto r = run(*g, {q, k, v, doubles({}, 2, 0)});
  const auto want = attention(q.tensor(), k.tensor(), v.tensor(), [](double x) { return 2 * std::tanh(x / 2); });
  ASSERT_EQ(shape_text(r[0].tensor().shape()), fmt::format("{{1,{},3,2}}", heads));
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(r[0].tensor().data<double>()[i], want[i], 1e-6) << i;
}

TEST(FlexAttention, ModifiersThatCaptureAndGroupedHeads) {
  check_attention("double[1,2,3,2]", "double[1,2,4,2]", 2, 2);
  check_attention("double[B,4,L,2]", "double[B,2,S,2]", 4, 2);
  check_attention("double", "double", 2, 1);
}

}  // namespace
}  // namespace trunnion::passes::test
