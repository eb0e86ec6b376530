// What the levels of precision change in a graph.
#include <gtest/gtest.h>

#include "ep/cpu/cpu_provider.h"
#include "ep/cpu/fusion.h"
#include "ops/parsed_graph.h"

namespace trunnion::ep {
namespace {

std::unique_ptr<ir::Graph> after(Status (*pass)(ir::Graph&, passes::PassContext&), std::string_view text,
                                 std::string_view level, std::string_view nodes = "") {
  auto graph = ops::test::parsed(text);
  if (!graph) return nullptr;
  passes::PassContext context;
  auto choice = PrecisionChoice::parse(level, nodes);
  EXPECT_TRUE(choice.ok());
  context.precision = *choice;
  const Status s = pass(*graph, context);
  EXPECT_TRUE(s.ok()) << s.message();
  return graph;
}

std::string operators(const ir::Graph& graph) {
  std::string out;
  for (const ir::Node* n = graph.first(); n; n = n->next()) out += (out.empty() ? "" : " ") + n->op_type();
  return out;
}

// A convolution of a square picture, pads of 1.
std::string conv(int64_t cin, int64_t cout, std::string_view side, std::string_view attributes = "pads=[1,1,1,1]",
                 std::string_view batch = "1", int kernel = 3) {
  return fmt::format(R"(<opset: "" 17, "trunnion" 1>
g(float[{4},{2},{2},{0}] x) => (float[?,?,?,?] y) {{
  float[{1},{0},{5},{5}] w = random(1)
  y = trunnion::NhwcConv<{3}>(x, w)
}})",
                     cin, cout, side, attributes, batch, kernel);
}
int64_t winograd(const std::string& text, std::string_view level = "fp32") {
  const auto graph = after(winograd_choice, text, level);
  return graph ? graph->first()->attr("winograd", 0) : -1;
}

TEST(WinogradChoice, LevelDecidesTheTile) {
  const std::string net = conv(64, 64, "56");
  EXPECT_EQ(winograd(net, "strict"), 0);
  EXPECT_EQ(winograd(net, "fp32"), 2);
  EXPECT_EQ(winograd(net, "fast"), 4);
  EXPECT_EQ(winograd(net, "bf16"), 4);
}

TEST(WinogradChoice, OnlyWhereItPays) {
  EXPECT_EQ(winograd(conv(512, 512, "7")), 0);  // 16 tiles for 16 MB of weights
  EXPECT_EQ(winograd(conv(512, 512, "14")), 2);
  EXPECT_EQ(winograd(conv(256, 256, "14"), "fast"), 4);
  EXPECT_EQ(winograd(conv(512, 512, "14"), "fast"), 2);  // 16 tiles of 4x4
  EXPECT_EQ(winograd(conv(64, 64, "?")), 2);
  EXPECT_EQ(winograd(conv(8, 64, "56")), 0);
  EXPECT_EQ(winograd(conv(16, 16, "56")), 0);
}

TEST(WinogradChoice, OnlyTheShapeItIsFor) {
  EXPECT_EQ(winograd(conv(64, 64, "56", "strides=[2,2], pads=[1,1,1,1]")), 0);
  EXPECT_EQ(winograd(conv(64, 64, "56", "dilations=[2,2], pads=[2,2,2,2]")), 0);
  EXPECT_EQ(winograd(conv(64, 64, "56", "transposed=1")), 0);
  EXPECT_EQ(winograd(conv(64, 64, "56", "pads=[2,2,2,2]", "1", 5)), 0);
  EXPECT_EQ(winograd(conv(64, 64, "56", "auto_pad=\"SAME_UPPER\"")), 2);
}

TEST(WinogradChoice, DoesNotDependOnTheBatchThatIsFed) {
  EXPECT_EQ(winograd(conv(512, 512, "7", "pads=[1,1,1,1]", "n")), winograd(conv(512, 512, "7")));
}

constexpr std::string_view kFunctions = R"(<opset: "" 17>
g(float[2,3] x, double[2,3] d) => (float[?,?] y, double[?,?] z) {
  a = Exp(x)
  b = Relu(a)
  y = Softmax(b)
  z = Exp(d)
})";

TEST(StrictMath, FunctionsAreWorkedOutInF64) {
  EXPECT_EQ(operators(*after(strict_math, kFunctions, "fp32")), "Exp Relu Softmax Exp");
  const auto graph = after(strict_math, kFunctions, "strict");
  EXPECT_EQ(operators(*graph), "Cast Exp Cast Relu Cast Softmax Cast Exp");
  EXPECT_EQ(graph->outputs()[0]->name(), "y");
  EXPECT_EQ(graph->outputs()[0]->fact.dtype(), DType::f32);
  EXPECT_EQ(graph->first()->output(0)->fact.dtype(), DType::f64);
}

// The level is a promise: a session cannot do without the pass that keeps it.
TEST(StrictMath, IsRequiredAtEveryLevelOfOptimization) {
  for (const Level level : {Level::none, Level::basic, Level::extended, Level::layout, Level::all}) {
    int found = 0;
    for (const passes::Pass& pass : cpu_pipeline(level)) {
      EXPECT_EQ(pass.required, std::string_view(pass.name) == "StrictMath") << pass.name;
      found += pass.required;
    }
    EXPECT_EQ(found, 1);
  }
}

}  // namespace
}  // namespace trunnion::ep
