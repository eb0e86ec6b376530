#include <gtest/gtest.h>

#include "ep/cpu/fusion.h"
#include "ops/parsed_graph.h"

namespace trunnion::ep {
namespace {

std::string unblocked(std::string_view text, bool changes = true) {
  auto graph = ops::test::parsed(text);
  if (!graph) return "";
  passes::PassContext context;
  const Status s = saved_layout(*graph, context);
  EXPECT_TRUE(s.ok()) << s.message();
  EXPECT_EQ(context.changes > 0, changes);
  std::string out;
  for (const ir::Node* n = graph->first(); n; n = n->next()) out += (out.empty() ? "" : " ") + n->op_type();
  return out;
}

// 24 channels, which only blocks of 8 can have; the middle is given.
std::string net(std::string_view middle) {
  return std::string(R"(<opset: "" 17, "com.microsoft.nchwc" 1>
g(float[1,20,8,8] x) => (float[?,?,?,?] y) {
  float[24,24,1,1] w = random(1)
  int64[5] split = {0, 3, 0, 0, 8}
  int64[4] join = {0, 24, 8, 8}
  a = com.microsoft.nchwc::ReorderInput(x)
  b = com.microsoft.nchwc::Conv<activation="Relu">(a, w)
  )") + std::string(middle) +
         "\n  y = com.microsoft.nchwc::ReorderOutput<channels=20>(c)\n}";
}

TEST(SavedLayout, OnlyThePaddingIsLeft) {
  EXPECT_EQ(unblocked(net("c = Sigmoid(b)")), "Pad FusedConv Sigmoid Slice");
  EXPECT_EQ(unblocked(net("c = com.microsoft.nchwc::MaxPool<kernel_shape=[2,2]>(b)")), "Pad FusedConv MaxPool Slice");
  EXPECT_EQ(unblocked(net("c = com.microsoft.nchwc::Upsample<scales=[1,1,2,2]>(b)")), "Pad FusedConv Resize Slice");
  EXPECT_EQ(unblocked(net("c = Add(b, b)")), "Pad FusedConv Add Slice");
}

TEST(SavedLayout, WhoLooksIntoTheBlocksKeepsThem) {
  EXPECT_EQ(unblocked(net("s = Reshape(b, split)\n  c = Reshape(s, join)"), false),
            "ReorderInput Conv Reshape Reshape ReorderOutput");
  EXPECT_EQ(unblocked(net("c = Softmax<axis=1>(b)"), false), "ReorderInput Conv Softmax ReorderOutput");
}

}  // namespace
}  // namespace trunnion::ep
