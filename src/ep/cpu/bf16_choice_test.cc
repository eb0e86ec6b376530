// Which nodes get the attribute `bf16`, by level and by what the CPU has.
#include <gtest/gtest.h>

#include "base/cpu_info.h"
#include "ep/cpu/fusion.h"
#include "kernels/gemm_bf16.h"
#include "kernels/gemm_split_emulated.h"
#include "ops/parsed_graph.h"

namespace trunnion::ep {
namespace {

constexpr std::string_view kNet = R"(<opset: "" 17, "trunnion" 1>
g(float[N,96] x, float[2,9,9,64] p) => (float[?,?] y, float[?,?] z, float[?,?,?,?] q, float[?,?,?,?] d) {
  float[96,40] w = random(1)
  float[96,3] narrow = random(2)
  float[32,64,1,1] v = random(3)
  float[64,1,3,3] depthwise = random(4)
  y = MatMul(x, w)
  z = MatMul(x, narrow)
  q = trunnion::NhwcConv<winograd=2>(p, v)
  d = trunnion::NhwcConv<group=64>(p, depthwise)
})";

struct Found {
  std::string text;  // by node: planes, or - where the node is as it was
  int changes = 0;
};

Found found(std::string_view level, std::string_view net = kNet, std::string_view nodes = "") {
  auto graph = ops::test::parsed(net);
  if (!graph) return {};
  int i = 0;
  for (ir::Node* n = graph->first(); n; n = n->next()) n->origins = {fmt::format("n{}", i++)};
  passes::PassContext context;
  auto choice = PrecisionChoice::parse(level, nodes);
  EXPECT_TRUE(choice.ok());
  context.precision = *choice;
  const Status s = bf16_choice(*graph, context);
  EXPECT_TRUE(s.ok()) << s.message();
  Found f;
  f.changes = context.changes;
  for (ir::Node* n = graph->first(); n; n = n->next()) {
    const int64_t planes = n->attr("bf16", 0);
    if (planes != 0) {
      EXPECT_EQ(n->domain(), "trunnion");
      EXPECT_EQ(n->attr("winograd", 0), 0);
    }
    f.text += planes == 0 ? "-" : std::to_string(planes);
  }
  return f;
}

TEST(Bf16Choice, LevelDecides) {
  if (!kernels::bf16_gemm_pays()) GTEST_SKIP() << "this CPU does not gain by bfloat16";
  EXPECT_EQ(found("bf16").text, "1-1-");
  EXPECT_EQ(found("bf16").changes, 2);
  for (const auto* level : {"fast", "fp32", "strict"}) EXPECT_EQ(found(level).text, "----") << level;
}

TEST(Bf16Choice, NodesHaveLevelsOfTheirOwn) {
  if (!kernels::bf16_gemm_pays()) GTEST_SKIP() << "this CPU does not gain by bfloat16";
  EXPECT_EQ(found("bf16", kNet, "n0=fp32").text, "--1-");
  EXPECT_EQ(found("fp32", kNet, "n2=bf16").text, "--1-");
}

TEST(Bf16Choice, LeavesTheFasterWinograd) {
  if (!kernels::bf16_gemm_pays()) GTEST_SKIP() << "this CPU does not gain by bfloat16";
  std::string net(kNet);
  net.replace(net.find("winograd=2"), 10, "winograd=4");
  EXPECT_EQ(found("bf16", net).text, "1---");
}

TEST(Bf16Choice, NothingWithoutAUnit) {
  force_rung_for_test(Rung::avx2);
  EXPECT_EQ(found("bf16").text, "----");
  clear_forced_rung_for_test();
}

TEST(Bf16Choice, TileUnitServesEveryLevelButStrict) {
  force_rung_for_test(Rung::avx2);
  kernels::set_split_unit_for_test(&kernels::kEmulated);
  EXPECT_EQ(found("strict").text, "----");
  EXPECT_EQ(found("fp32").text, "3---");  // Winograd stays
  EXPECT_EQ(found("fast").text, "2---");
  EXPECT_EQ(found("bf16").text, "1-1-");
  std::string net(kNet);
  net.replace(net.find("<winograd=2>"), 12, "");
  EXPECT_EQ(found("fp32", net).text, "3-3-");
  net.replace(net.find("N,96"), 4, "4,96");
  EXPECT_EQ(found("fp32", net).text, "--3-");  // too few rows
  net = kNet;
  net.replace(net.find("w = random(1)"), 13, "w = fill(inf)");
  EXPECT_EQ(found("fp32", net).text, "----");  // infinite weights
  kernels::set_split_unit_for_test(nullptr);
  clear_forced_rung_for_test();
}

}  // namespace
}  // namespace trunnion::ep
