#include "ir/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ir/verify.h"

namespace trunnion::ir {
namespace {

std::unique_ptr<Graph> parse(std::string_view text) {
  auto g = parse_graph(text);
  EXPECT_TRUE(g.ok()) << g.status().message() << "\n" << text;
  if (!g.ok()) return nullptr;
  const auto s = verify(**g);
  EXPECT_TRUE(s.ok()) << s.message();
  return std::move(g).value();
}

// The text parses, and what is printed of it parses and prints the same.
std::string stable(std::string_view text, const PrintOptions& options = {}) {
  const auto g = parse(text);
  if (!g) return {};
  const std::string once = print(*g, options);
  const auto again = parse(once);
  if (!again) return {};
  EXPECT_EQ(print(*again, options), once);
  return once;
}

std::string failure(std::string_view text) {
  const auto g = parse_graph(text);
  EXPECT_FALSE(g.ok()) << text;
  return g.ok() ? "" : g.status().message();
}

TEST(Text, PrintsWhatItParses) {
  const std::string_view text = R"(<opset: "" 17, "com.microsoft" 1>
main(float[N,4] x, int64[] k = 3) => (float[N,4] y, int64[] k) {
  float[4] bias = {1, -2.5, 3, 1e+20}
  string[2] words = {"a", "b\"\n"}
  bool[3] flags = {1, 0, 1}
  [first] t = Add(x, bias)
  a, _ = com.microsoft::Thing<alpha=0.5, axes=[0, -1], mode="same", none_at_all=ints[]>(t, _, k)
  y = Softmax@13<axis=-1>(a)
}
)";
  EXPECT_EQ(stable(text), text);
}

TEST(Text, NamesThatNeedQuotesAreQuoted) {
  const auto g =
      parse(R"(g(float[2] "1", float[2] "float", float[2] "a b", float[2] "_", float[2] /m/x.0) => ("y\x01") {
    t = Add("1", "float")
    u = Add("a b", "_")
    v = Add(t, u)
    "y\x01" = Add(v, /m/x.0)
  })");
  ASSERT_TRUE(g);
  EXPECT_NE(g->find("a b"), nullptr);
  EXPECT_NE(g->find("y\x01"), nullptr);
  EXPECT_EQ(g->inputs()[1]->name(), "float");
  EXPECT_NE(stable(print(*g)).find("\"a b\""), std::string::npos);
}

TEST(Text, DefaultsToTheNewestOpset) {
  const auto g = parse("g(float[2] x) => (y) { y = Relu(x) }");
  ASSERT_TRUE(g);
  EXPECT_GE(g->first()->opset(), 24);
  EXPECT_EQ(g->first()->domain(), "");
}

TEST(Text, Types) {
  const std::string_view text =
      R"(g(float a, float[] b, float[?,N,2*N + 1,"odd name"] c, seq(float[N]) d, map(int64,string) e, optional(seq(int64)) f, h, sparse_tensor(double[3,4]) i, seq(?) j) => (float a) {
}
)";
  EXPECT_EQ(stable(text), text);
  const auto g = parse(text);
  ASSERT_TRUE(g);
  EXPECT_FALSE(g->inputs()[0]->fact.has_rank());
  EXPECT_EQ(g->inputs()[1]->fact.rank(), 0);
  EXPECT_TRUE(g->inputs()[2]->fact.dim(2) == Dim::symbol("N") * 2 + 1);
  EXPECT_EQ(g->inputs()[6]->fact.type.kind, Type::Kind::unknown);
}

TEST(Text, DimensionExpressions) {
  const auto g = parse("g(float[(H - 1)/2, H-1, -H+3, 2*(H+W), max(H,W), ceil_is_just_a_name, H*W/4] x) => (x) {}");
  ASSERT_TRUE(g);
  const Dim h = Dim::symbol("H"), w = Dim::symbol("W");
  const Fact& f = g->inputs()[0]->fact;
  EXPECT_TRUE(f.dim(0) == floor_div(h - 1, 2));
  EXPECT_TRUE(f.dim(1) == h - 1);
  EXPECT_TRUE(f.dim(2) == Dim(3) - h);
  EXPECT_TRUE(f.dim(3) == h * 2 + w * 2);
  EXPECT_TRUE(f.dim(4) == dim_max(h, w));
  EXPECT_TRUE(f.dim(6) == floor_div(h * w, 4));
  stable(print(*g));
}

TEST(Text, AnExpressionOfOddSymbolsStaysOneDimension) {
  Graph g;
  g.name = "g";
  g.add_input("x", Fact::tensor(DType::f32, SymShape{Dim::symbol("past-length") + 1}));
  g.add_output(g.inputs()[0]);
  EXPECT_NE(stable(print(g)).find("[\"past-length + 1\"]"), std::string::npos);
}

TEST(Text, ElementsOfAllKinds) {
  const std::string_view text = R"(g() => () {
  float[2] a = {nan, -inf}
  double[] b = -0.1
  float16[4] c = {0.099975586, 65504, 5.9604645e-08, inf}
  bfloat16[2] d = {1, 3.140625}
  uint64[2] e = {18446744073709551615, 0}
  int64[1,2] f = {-9223372036854775808, 7}
  int4[3] g = {-8, 7, 0}
  uint2[5] h = {3, 2, 1, 0, 3}
  float8e4m3fn[2] i = raw("7f01")
  float[0,3] j = {}
  string[] k = "one"
  bool[] l = 1
  complex64[1] m = raw("0000803f00000040")
  int8[40] n = fill(-3)
  float[33] o = fill(0)
}
)";
  EXPECT_EQ(stable(text), text);
  const auto g = parse(text);
  ASSERT_TRUE(g);
  EXPECT_TRUE(std::isnan(g->find("a")->constant().data<float>()[0]));
  EXPECT_EQ(g->find("c")->constant().data<uint16_t>()[0], 0x2e66);
  EXPECT_EQ(g->find("c")->constant().data<uint16_t>()[1], 0x7bff);
  EXPECT_EQ(g->find("c")->constant().data<uint16_t>()[2], 1);
  EXPECT_EQ(g->find("g")->constant().data<uint8_t>()[0], 0x78);
  EXPECT_EQ(g->find("h")->constant().data<uint8_t>()[0], 0x1b);
  EXPECT_EQ(g->find("n")->constant().data<int8_t>()[39], -3);
  EXPECT_EQ(g->find("o")->constant().data<float>()[32], 0.f);
}

TEST(Text, HalvesRound) {
  const auto g = parse(
      "g() => () { float16[4] a = {1.0009765, 65519, 65520, 1.00048828125}\n bfloat16[2] b = {1.00390625, 1.01171875} "
      "}");
  ASSERT_TRUE(g);
  const auto* a = g->find("a")->constant().data<uint16_t>();
  EXPECT_EQ(a[0], 0x3c01);
  EXPECT_EQ(a[1], 0x7bff);
  EXPECT_EQ(a[2], 0x7c00);
  EXPECT_EQ(a[3], 0x3c00);  // a tie goes to even
  const auto* b = g->find("b")->constant().data<uint16_t>();
  EXPECT_EQ(b[0], 0x3f80);
  EXPECT_EQ(b[1], 0x3f82);
}

TEST(Text, SeededElements) {
  const auto g = parse(
      "g() => () { float[2,3] a = random(7)\n float[6] b = random(7, 10, 11)\n int64[50] c = random(1)\n float[2,2] d "
      "= {{1, 2}, {3, 4}} }");
  ASSERT_TRUE(g);
  const auto* a = g->find("a")->constant().data<float>();
  const auto* b = g->find("b")->constant().data<float>();
  for (int i = 0; i < 6; ++i) {
    EXPECT_LE(std::fabs(a[i]), 1.f);
    EXPECT_NEAR((a[i] + 1) / 2, b[i] - 10, 1e-5);
  }
  EXPECT_NE(a[0], a[1]);
  for (int i = 0; i < 50; ++i) {
    EXPECT_GE(g->find("c")->constant().data<int64_t>()[i], 0);
    EXPECT_LT(g->find("c")->constant().data<int64_t>()[i], 8);
  }
  EXPECT_EQ(g->find("d")->constant().data<float>()[2], 3.f);
}

TEST(Text, LongConstantsAreCutUnlessAskedFor) {
  const auto g = parse("g() => () { float[40] a = random(1) }");
  ASSERT_TRUE(g);
  EXPECT_NE(print(*g).find("= ..."), std::string::npos);
  EXPECT_EQ(parse("g() => () { float[40] a = ... }")->find("a")->constant().data<float>()[39], 0.f);
  const auto again = parse(print(*g, {.max_elements = 100}));
  ASSERT_TRUE(again);
  for (int i = 0; i < 40; ++i)
    EXPECT_EQ(g->find("a")->constant().data<float>()[i], again->find("a")->constant().data<float>()[i]);
}

TEST(Text, Attributes) {
  const std::string_view text = R"(<opset: "my.domain" 3>
g(x) => (y) {
  y = my.domain::Op:over<f=1.0, i=-1, s="t\\", t=float[2] {1, 2}, e=int64[] 5, fs=[1.0, inf], none_f=floats[], is=[1, 2], ss=["a", "b"], none_s=strings[], ts=[float[] 1, int64[1] {2}], r=ref(alpha), tp=type(seq(float[N])), tps=[type(float), type(int64[])], sp=sparse([2,3], float[1] {5}, int64[1] {4}), u=none>(x)
}
)";
  EXPECT_EQ(stable(text), text);
  const auto g = parse(text);
  ASSERT_TRUE(g);
  const Node* n = g->first();
  EXPECT_EQ(n->overload(), "over");
  EXPECT_EQ(n->opset(), 3);
  EXPECT_EQ(n->find_attr("f")->type(), AttrType::f);
  EXPECT_EQ(n->find_attr("none_f")->type(), AttrType::floats);
  EXPECT_EQ(n->find_attr("r")->ref, "alpha");
  EXPECT_EQ(n->find_attr("ts")->type(), AttrType::tensors);
  EXPECT_EQ(n->find_attr("sp")->get<trunnion::Value>()->sparse().dense_shape[1], 3);
}

TEST(Text, TheSchemaSaysWhichNumbersAreFloats) {
  const auto g = parse(
      "<opset: ai.onnx 13> g(x) => (y) { t = LeakyRelu<alpha=2>(x)\n y = Upsample@9<mode=\"nearest\">(t, t)\n z = "
      "RandomUniform<shape=[]>() }");
  ASSERT_TRUE(g);
  EXPECT_EQ(g->first()->attr("alpha", 0.f), 2.f);
  EXPECT_EQ(g->last()->find_attr("shape")->type(), AttrType::ints);
}

TEST(Text, BodiesCaptureByNameOrByList) {
  const auto g = parse(R"(<opset: "" 16>
g(bool[] c, float[2] x) => (y) {
  k = Neg(x)
  y = If<then_branch=yes() => (o) { o = Relu(k) }, else_branch=no[a = x]() => (o) {
      o = If<then_branch=in() => (p) { p = Add(k, a) }, else_branch=in2() => (p) { p = Neg(a) }>(c)
    }>(c)
})");
  ASSERT_TRUE(g);
  const auto bodies = g->last()->bodies();
  ASSERT_EQ(bodies.size(), 2u);
  ASSERT_EQ(bodies[0]->captures().size(), 1u);
  EXPECT_EQ(bodies[0]->captures()[0].outer, g->find("k"));
  ASSERT_EQ(bodies[1]->captures().size(), 3u);  // x as a, k for the inner body, c for the inner If
  EXPECT_EQ(bodies[1]->captures()[0].inner->name(), "a");
  const std::string text = stable(print(*g));
  EXPECT_NE(text.find("no[a = x, k, c]() => (o)"), std::string::npos) << text;
}

TEST(Text, LoopBody) {
  const auto g = parse(R"(g(int64[] n, float[2] x) => (float[2] y, all) {
  bool[] go = true
  y, all = Loop<body=step(int64[] i, bool[] c, float[2] v) => (c, w, s) {
      w = Add(v, x)
      s = Neg(w)
    }>(n, go, x)
})");
  ASSERT_TRUE(g);
  EXPECT_EQ(g->last()->bodies()[0]->inputs().size(), 3u);
  stable(print(*g));
}

TEST(Text, InnerTypesAndOrigins) {
  const auto g = parse("<opset: \"\" 17> g(float[N] x) => (y) { [a] float[N] t = Neg(x)\n y = Relu(t) }");
  ASSERT_TRUE(g);
  g->last()->origins = {"p", "q"};
  const std::string text = print(*g, {.inner_types = true, .origins = true});
  EXPECT_EQ(
      text,
      "<opset: \"\" 17>\ng(float[N] x) => (y) {\n  [a] float[N] t = Neg(x)\n  y = Relu(t)  # of \"p\" \"q\"\n}\n");
  stable(text, {.inner_types = true});
}

TEST(Text, CommentsAndOddOperators) {
  EXPECT_NE(stable("# a comment\ng(x) => (y) { # another\n y = \"my domain\"::\"An Op\":\"v 2\"(x) }")
                .find("\"my domain\"::\"An Op\":\"v 2\""),
            std::string::npos);
  EXPECT_NE(stable("g(x) => () { () = Sink(x) }").find("() = Sink(x)"), std::string::npos);
  EXPECT_NE(stable("g(float[N] x = float[2] {1, 2}) => (x) {}").find("x = float[2] {1, 2}"), std::string::npos);
}

TEST(Text, ErrorsNameLineAndColumn) {
  EXPECT_EQ(failure("g(x) => (y) {\n  y = Relu(z)\n}"), "line 2, column 12: 'z' is not defined");
  EXPECT_EQ(failure("g(x) => (y) { x = Relu(x) }"), "line 1, column 15: 'x' is defined twice");
  EXPECT_EQ(failure("g(x) => (y) {\n}"), "line 1, column 10: the output 'y' is not defined in the graph");
  EXPECT_EQ(failure("g(x) => (y) { y = Relu(x)"),
            "line 1, column 26: expected the name of a value, found the end of the text");
  EXPECT_EQ(failure("g(x) = (y)"), "line 1, column 6: expected '=>' after the inputs, found '='");
  EXPECT_EQ(failure("g(float[2 x) => (x) {}"), "line 1, column 11: expected ',' or ']' after the dimension, found 'x'");
  EXPECT_EQ(failure("g() => () { float[2] w = {1, 2, 3} }"), "line 1, column 33: the tensor has only 2 elements");
  EXPECT_EQ(failure("g() => () { float[2] w = {1} }"), "line 1, column 26: the tensor has 2 elements, 1 are given");
  EXPECT_EQ(failure("g() => () { int8[1] w = {200} }"),
            "line 1, column 26: expected an element of type int8, found '200'");
  EXPECT_EQ(failure("g() => () { int64[N] w = {200} }"), "line 1, column 13: a constant cannot have the dimension N");
  EXPECT_EQ(
      failure("g() => () { float w = 1 }"),
      "line 1, column 13: a constant needs an element type and all dimensions, for example float[2,3] or float[]");
  EXPECT_EQ(failure("g() => () { float[99999999999,99999999999] w = fill(1) }"),
            "line 1, column 13: the constant is too large");
  EXPECT_EQ(failure("g(x) => (y) { y = Op<a=1, a=2>(x) }"), "line 1, column 27: attribute 'a' is given twice");
  EXPECT_EQ(failure("g(x) => (y) { y = Op<a=[]>(x) }").substr(0, 33), "line 1, column 24: an empty list ");
  EXPECT_EQ(failure("g(x) => (y) { y = Op<a=[1, \"b\"]>(x) }"),
            "line 1, column 28: the elements of a list must be of one kind");
  EXPECT_EQ(failure("g(x) => (y) { y = Op<a=\"no end>(x) }"), "line 1, column 24: the string does not end");
  EXPECT_EQ(failure("g(x) => (y) { y = Op<b=in[q]() => () {}>(x) }"),
            "line 1, column 27: there is no outer value 'q' to capture");
  EXPECT_EQ(failure("<opset: \"\" 0> g() => () {}"), "line 1, column 12: 0 is no opset version");
  EXPECT_EQ(failure(""), "line 1, column 1: expected the graph's name, found the end of the text");
  EXPECT_EQ(failure("g() => () {} x"), "line 1, column 14: expected the end of the text, found 'x'");
}

TEST(Text, DeepNestingIsAnError) {
  std::string type;
  for (int i = 0; i < 10000; ++i) type += "seq(";
  failure("g(" + type + "x) => () {}");
  failure("g(float[" + std::string(10000, '(') + "N] x) => () {}");
  failure("g(float[" + std::string(10000, '-') + "N] x) => () {}");
  failure("g() => () { float[1] w = " + std::string(10000, '{') + " }");
  std::string bodies = "g() => () {";
  for (int i = 0; i < 10000; ++i) bodies += " () = If<b=q() => () {";
  failure(bodies);
}

}  // namespace
}  // namespace trunnion::ir
