// Functions written out against the kernels that run them whole.
#include "passes/open_function.h"

#include <cmath>

#include "ops/catalog.h"
#include "passes/pass_harness.h"

namespace trunnion::passes::test {
namespace {

void expect_close(const Value& a, const Value& b, const std::string& what) {
  const Tensor &x = a.tensor(), &y = b.tensor();
  ASSERT_EQ(x.dtype(), y.dtype()) << what;
  ASSERT_EQ(shape_text(x.shape()), shape_text(y.shape())) << what;
  for (int64_t i = 0; i < x.count(); ++i) {
    const float p = x.data<float>()[i], q = y.data<float>()[i];
    if (p == q || (std::isnan(p) && std::isnan(q))) continue;
    EXPECT_NEAR(p, q, 1e-5f + 1e-5f * std::abs(q)) << what << " element " << i;
  }
}

// The only node of the graph is opened; both graphs give the same.
void check_opens(const std::string& text) {
  const auto whole = load(text), parts = load(text);
  ASSERT_TRUE(whole && parts) << text;
  ASSERT_TRUE(can_open(*parts->first())) << text;
  const Status opened = open_function(parts->first(), nullptr);
  ASSERT_TRUE(opened.ok()) << opened.message();
  ASSERT_TRUE(ops::resolve(*parts).ok());
  const Status inferred = ops::infer(*parts);
  ASSERT_TRUE(inferred.ok()) << inferred.message();
  EXPECT_GT(parts->node_count(), 2);
  for (uint64_t seed = 1; seed < 4; ++seed) {
    auto inputs = seeded_inputs(*whole, seed);
    for (Value& v : inputs)  // classes
      if (v.tensor().dtype() == DType::i64)
        for (int64_t i = 0; i < v.tensor().count(); ++i)
          v.tensor().data<int64_t>()[i] = (i * 5 + static_cast<int64_t>(seed)) % 3;
    const auto a = interpret(*whole, inputs), b = interpret(*parts, inputs);
    ASSERT_TRUE(a.ok() && b.ok()) << text << a.status().message() << b.status().message();
    for (size_t k = 0; k < a->size(); ++k) expect_close((*b)[k], (*a)[k], fmt::format("{} output {}", text, k));
  }
}

std::string graph(const std::string& inputs, const std::string& outputs, const std::string& node, int opset) {
  return fmt::format("<opset: \"\" {}>\ng({}) => ({}) {{\n  {}\n}}", opset, inputs, outputs, node);
}

TEST(OpenFunction, Losses) {
  const std::string ins = "float[2,3,4] x, int64[2,4] t", weighted = ins + ", float[3] w";
  for (const char* reduction : {"none", "sum", "mean"})
    for (const char* ignore : {"", ", ignore_index=1"})
      for (const bool weight : {false, true}) {
        const std::string out = std::string(reduction) == "none" ? "float[2,4] y" : "float[] y";
        const std::string attrs = fmt::format("<reduction=\"{}\"{}>", reduction, ignore);
        const std::string args = weight ? "(x, t, w)" : "(x, t)";
        check_opens(graph(weight ? weighted : ins, out, "y = NegativeLogLikelihoodLoss" + attrs + args, 13));
        check_opens(graph(weight ? weighted : ins, out + ", float[2,3,4] p",
                          "y, p = SoftmaxCrossEntropyLoss" + attrs + args, 13));
      }
}

TEST(OpenFunction, CausalConvolution) {
  const std::string ins = "float[2,4,8] x, float[4,1,3] w, float[4] b, float[2,4,2] s";
  const std::string outs = "float[2,4,8] y, float[2,4,2] n";
  check_opens(graph("float[2,4,8] x, float[4,1,3] w", outs, "y, n = CausalConvWithState(x, w)", 27));
  check_opens(graph(ins, outs, "y, n = CausalConvWithState<activation=\"silu\">(x, w, b, s)", 27));
}

TEST(OpenFunction, Attention) {
  const std::string ins = "float[2,4,5,8] q, float[2,2,6,8] k, float[2,2,6,3] v";
  const std::string out = "float[2,4,5,3] y";
  const std::string flat = "float[2,5,16] q, float[2,6,8] k, float[2,6,6] v";
  const std::string past = ins + ", float[5,8] m, float[2,2,2,8] a, float[2,2,2,3] b";
  check_opens(graph(ins, out, "y = Attention(q, k, v)", 25));
  check_opens(graph(ins, out, "y = Attention<is_causal=1, scale=0.3>(q, k, v)", 25));
  check_opens(graph(ins, out, "y = Attention<left_window_size=1, right_window_size=0, softcap=2.0>(q, k, v)", 25));
  check_opens(graph(ins + ", bool[5,6] m", out, "y = Attention(q, k, v, m)", 25));
  check_opens(graph(ins + ", float[2,1,5,6] m", out, "y = Attention<is_causal=1>(q, k, v, m)", 25));
  check_opens(graph(flat, "float[2,5,12] y", "y = Attention<q_num_heads=4, kv_num_heads=2>(q, k, v)", 25));
  check_opens(graph(past, out + ", float[2,2,8,8] pk, float[2,2,8,3] pv",
                    "y, pk, pv = Attention<is_causal=1>(q, k, v, m, a, b)", 25));
  for (int mode = 0; mode < 4; ++mode)
    check_opens(graph(ins + ", bool[5,6] m", out + ", float[2,4,5,6] s",
                      fmt::format("y, r, u, s = Attention<qk_matmul_output_mode={}, softcap=2.0>(q, k, v, m)", mode),
                      25));
}

TEST(OpenFunction, WhatIsNotKnownStaysWhole) {
  for (const char* text : {"<opset: \"\" 25>\ng(float[n,4,5,8] q, float[n,4,5,8] k, float[n,4,5,8] v) => (y) {\n  y = "
                           "Attention(q, k, v)\n}",
                           "<opset: \"\" 25>\ng(float16[1,4,5,8] q, float16[1,4,5,8] k, float16[1,4,5,8] v) => (y) {\n "
                           " y = Attention(q, k, "
                           "v)\n}",
                           "<opset: \"\" 17>\ng(float[2] x) => (y) {\n  y = Relu(x)\n}"}) {
    const auto g = load(text);
    ASSERT_TRUE(g) << text;
    EXPECT_FALSE(can_open(*g->first())) << text;
    EXPECT_EQ(open_function(g->first(), nullptr).code(), Code::not_implemented);
  }
}

}  // namespace
}  // namespace trunnion::passes::test
