// Programs: when the elements of weights may go.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ep/cpu/cpu_provider.h"
#include "ops/parsed_graph.h"
#include "plan/program.h"

namespace trunnion::plan {
namespace {

// Notes in which order kernels are made.
class Noting final : public ep::Provider {
 public:
  explicit Noting(std::vector<std::string>& notes) : notes_(notes) {}
  const ep::Identity& identity() const override { return cpu_->identity(); }
  Status claim(const ir::Graph& graph, ep::Claims& claims) override { return cpu_->claim(graph, claims); }
  Result<std::unique_ptr<ep::Executable>> compile(const ep::Region& region) override {
    notes_.push_back(region.nodes[0]->output(0)->name());
    return cpu_->compile(region);
  }

 private:
  std::unique_ptr<ep::Provider> cpu_ = ep::make_cpu_provider();
  std::vector<std::string>& notes_;
};

struct Built {
  std::shared_ptr<ir::Graph> graph;
  std::vector<std::string> notes;  // outputs of nodes and, in brackets, weights that were packed
  std::unique_ptr<Program> program;

  explicit Built(std::string_view text) : graph(ops::test::parsed(text)) {
    if (!graph) return;
    Noting provider(notes);
    const auto packed = [&](const ir::Value& v) {
      EXPECT_NE(v.constant().raw(), nullptr);
      notes.push_back("(" + v.name() + ")");
    };
    auto made = build(*graph, provider, graph, packed);
    EXPECT_TRUE(made.ok()) << made.status().message();
    if (made.ok()) program = std::move(made).value();
  }
  const void* elements(std::string_view name) const {
    for (const auto& v : program->values)
      if (*v.name == name) return v.constant.raw();
    ADD_FAILURE() << "no value " << name;
    return nullptr;
  }
};

using Notes = std::vector<std::string>;

TEST(Build, WeightsGoAsSoonAsTheyArePacked) {
  const Built b(R"(<opset: "" 17>
g(float[N,4] x) => (float[N,4] y) {
  float[4,4] first = random(1)
  float[4,4] second = random(2)
  a = MatMul(x, first)
  b = MatMul(a, second)
  c = Relu(b)
  y = MatMul(c, first)
})");
  ASSERT_TRUE(b.program);
  EXPECT_EQ(b.notes, (Notes{"a", "b", "(second)", "c", "y", "(first)"}));
  EXPECT_EQ(b.elements("first"), nullptr);
  EXPECT_EQ(b.elements("second"), nullptr);
}

TEST(Build, WhatAKernelReadsStays) {
  const Built b(R"(<opset: "" 17>
g(float[N,4] x, bool[] more) => (float[N,4] y, float[4,4] out, float[N,4] z) {
  float[4,4] added = random(1)
  float[4,4] out = random(2)
  float[4,4] caught = random(3)
  float[1,4] bias = random(4)
  a = MatMul(x, added)
  b = Add(a, added)
  c = MatMul(b, out)
  d = Gemm(c, caught, bias)
  y = MatMul(d, caught)
  z = If<then_branch=t() => (o) { o = MatMul(x, caught) }, else_branch=e() => (o) { o = Add(x, bias) }>(more)
})");
  ASSERT_TRUE(b.program);
  EXPECT_EQ(std::count_if(b.notes.begin(), b.notes.end(), [](const std::string& n) { return n[0] == '('; }), 0)
      << fmt::format("{}", fmt::join(b.notes, " "));
  for (const char* name : {"added", "out", "caught", "bias"}) EXPECT_NE(b.elements(name), nullptr) << name;
}

TEST(Build, InBodies) {
  const Built b(R"(<opset: "" 17>
g(float[N,4] x, bool[] more) => (float[N,4] z) {
  z = If<then_branch=t() => (o) { float[4,4] w = random(1)
    o = MatMul(x, w) }, else_branch=e() => (u) { float[4,4] v = random(2)
    s = MatMul(x, v)
    u = Add(s, v) }>(more)
})");
  ASSERT_TRUE(b.program);
  EXPECT_EQ(b.notes, (Notes{"o", "(w)", "s", "u"}));
}

}  // namespace
}  // namespace trunnion::plan
