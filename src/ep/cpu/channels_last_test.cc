// Channels last over quantized operators: one transpose on the way in, one on the way out.
#include <gtest/gtest.h>

#include "ep/cpu/fusion.h"
#include "ops/parsed_graph.h"

namespace trunnion::ep {
namespace {

std::string swept(std::string_view middle) {
  auto graph = ops::test::parsed(std::string(R"(<opset: "" 17, "com.microsoft" 1>
g(uint8[1,4,8,8] x) => (uint8[?,?,?,?] y) {
  int8[4,4,1,1] w = random(1, -90, 90)
  float[] s = 0.1
  float[] t = 0.2
  uint8[] z = 3
  int8[] zw = 0
  a = QLinearConv(x, s, z, w, s, zw, s, z)
  )") + std::string(middle) + "\n  y = QLinearConv(b, s, z, w, s, zw, s, z)\n}");
  if (!graph) return "";
  passes::PassContext context;
  Status s = channels_last(*graph, context);
  EXPECT_TRUE(s.ok()) << s.message();
  s = ops::resolve(*graph);
  if (s.ok()) s = ops::infer(*graph);
  EXPECT_TRUE(s.ok()) << s.message();
  std::string out;
  for (const ir::Node* n = graph->first(); n; n = n->next()) {
    out += (out.empty() ? "" : " ") + n->op_type();
    const bool knows = n->op_type() == "QLinearConv" || n->op_type().ends_with("AveragePool");
    EXPECT_EQ(n->attr("channels_last", 0), knows ? 1 : 0) << n->label();
  }
  return out;
}

TEST(ChannelsLast, QuantizedOperatorsTakePart) {
  const auto between = [](const std::string& op) { return "Transpose QLinearConv " + op + " QLinearConv Transpose"; };
  EXPECT_EQ(swept("b = MaxPool<kernel_shape=[2,2]>(a)"), between("NhwcMaxPool"));
  EXPECT_EQ(swept("b = com.microsoft::QLinearAveragePool<kernel_shape=[2,2]>(a, s, z, t, z)"),
            between("QLinearAveragePool"));
  EXPECT_EQ(swept("b = com.microsoft::QLinearGlobalAveragePool(a, s, z, t, z)"), between("QLinearGlobalAveragePool"));
  EXPECT_EQ(swept("b = com.microsoft::QLinearSigmoid(a, s, z, t, z)"), between("QLinearSigmoid"));
  EXPECT_EQ(swept("b = com.microsoft::QLinearAdd(a, s, z, a, s, z, t, z)"), between("QLinearAdd"));
  EXPECT_EQ(swept("b = com.microsoft::QLinearMul(a, s, z, z, s, z, t, z)"), between("QLinearMul"));
  EXPECT_EQ(swept("c = com.microsoft::QLinearConcat<axis=2>(s, z, a, s, z, a, t, z)\n b = Clip(c)"),
            between("QLinearConcat Clip"));
  EXPECT_EQ(swept("f = DequantizeLinear(a, s, z)\n g = Sin(f)\n b = QuantizeLinear(g, t, z)"),
            between("DequantizeLinear Sin QuantizeLinear"));
}

// One scale for each channel: the axis is another one then, and stays.
TEST(ChannelsLast, ScalesAlongAnAxisStay) {
  EXPECT_EQ(swept("float[4] v = {1, 2, 3, 4}\n f = DequantizeLinear(a, v)\n b = QuantizeLinear(f, s, z)"),
            "Transpose QLinearConv Transpose DequantizeLinear QuantizeLinear Transpose QLinearConv Transpose");
}

std::string swept_floats(std::string_view body) {
  auto graph = ops::test::parsed(R"(<opset: "" 17>
g(float[1,24,32,32] x) => (float[?,?,?,?] y) {
  float[24,1,3,3] d = random(1, -1, 1)
  float[24,24,1,1] w = random(2, -1, 1)
  )" + std::string(body) + "\n}");
  if (!graph) return "";
  passes::PassContext context;
  const Status s = channels_last(*graph, context);
  EXPECT_TRUE(s.ok()) << s.message();
  std::string out;
  for (const ir::Node* n = graph->first(); n; n = n->next()) out += (out.empty() ? "" : " ") + n->op_type();
  return out;
}

// Between planes, with a kernel for planes: nothing is transposed. With company it is, and so are other shapes.
TEST(ChannelsLast, ConvolutionThatStandsAlone) {
  EXPECT_EQ(swept_floats("y = Conv<group=24, pads=[1,1,1,1]>(x, d)"), "Conv");
  EXPECT_EQ(swept_floats("y = Conv(x, w)"), "Transpose NhwcConv Transpose");
  EXPECT_EQ(swept_floats("a = Conv<group=24, pads=[1,1,1,1]>(x, d)\n y = Conv(a, w)"),
            "Transpose NhwcConv NhwcConv Transpose");
}

// A channel shuffle swaps the last two dimensions; other reshapes bring the planes back.
TEST(ChannelsLast, ChannelShuffle) {
  const auto net = [](std::string_view to, std::string_view perm) {
    return "int64[5] to = {" + std::string(to) +
           "}\n int64[4] back = {1, 24, 32, 32}\n a = Conv(x, w)\n b = Reshape(a, " + "to)\n c = Transpose<perm=[" +
           std::string(perm) + "]>(b)\n e = Reshape(c, back)\n y = Conv(e, w)";
  };
  EXPECT_EQ(swept_floats(net("1, 4, 6, 32, 32", "0,2,1,3,4")),
            "Transpose NhwcConv Reshape Transpose Reshape NhwcConv Transpose");
  EXPECT_EQ(swept_floats(net("1, 4, 6, 32, 32", "0,2,1,4,3")),
            "Transpose NhwcConv Transpose Reshape Transpose Reshape Transpose NhwcConv Transpose");
  EXPECT_EQ(swept_floats(net("1, 4, 32, 6, 32", "0,2,1,3,4")),
            "Transpose NhwcConv Transpose Reshape Transpose Reshape Transpose NhwcConv Transpose");
}

}  // namespace
}  // namespace trunnion::ep
