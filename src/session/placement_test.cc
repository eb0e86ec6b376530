// A model that one provider runs in part: who gets what, what is handed over, the same results, and the decision by
// cost with its times.
#include "ep/provider.h"
#include "session/test_model.h"

namespace trunnion::session {
namespace {

// Takes Mul and Add, each on its own, and computes them with the kernels of the CPU.
class Halves final : public ep::Provider {
 public:
  const ep::Identity& identity() const override { return identity_; }
  Status claim(const ir::Graph& graph, ep::Claims& claims) override {
    for (const ir::Node* n = graph.first(); n; n = n->next()) {
      if (n->op_type() == "Mul" || n->op_type() == "Add")
        claims.take_together({{n}, true, {}, {}});
      else
        claims.refuse(n, n->op_type() + " is not supported by " + identity_.name);
    }
    return {};
  }
  Result<std::unique_ptr<ep::Executable>> compile(const ep::Region&) override { return not_implemented("unused"); }
  std::vector<Result<ep::Fused>> compile_regions(const ir::Graph&, std::span<const ep::Region> regions) override {
    std::vector<Result<ep::Fused>> made;
    for (const ep::Region& r : regions) {
      const ir::Node* n = r.nodes.front();
      made.emplace_back(ep::Fused{"Half_" + n->name(), n->def, n->schema});
    }
    return made;
  }

 private:
  ep::Identity identity_{"HalvesExecutionProvider", "tests", "GPU", true};
};

class Source final : public ProviderSource {
 public:
  Result<std::unique_ptr<ep::Provider>> make(const ir::Model&, const Logger&) override {
    return std::unique_ptr<ep::Provider>(std::make_unique<Halves>());
  }
};

// Abs stands in the middle, a connection leads around it, and the size is free.
constexpr const char* kModel = R"(<opset: "" 17>
g(float[n] x, float[n] w) => (float[n] z) {
  [scale] m = Mul(x, w)
  [odd] p = Abs(m)
  [join] z = Add(p, m)
})";

Options with_provider(std::vector<std::pair<std::string, std::string>> config = {}) {
  Options options;
  options.providers.push_back({"HalvesExecutionProvider", {}, {}, std::make_shared<Source>()});
  for (auto& [key, value] : config) options.config.emplace(std::move(key), std::move(value));
  return options;
}

std::string load_error(Options options) {
  return std::string(test::load(kModel, std::move(options)).status().message());
}

TEST(SessionPlacement, ANodeInTheMiddleStaysOnTheCpu) {
  auto plain = test::load(kModel), split = test::load(kModel, with_provider());
  ASSERT_TRUE(plain.ok() && split.ok()) << split.status().message();
  EXPECT_EQ((*split)->placement_summary(),
            "3 nodes: 2 HalvesExecutionProvider in 2 regions, 1 CPUExecutionProvider (not on HalvesExecutionProvider: "
            "1 Abs: not supported by HalvesExecutionProvider), 5 copies, 20 B/run (free dimensions taken as 1)");
  for (const int64_t n : {1, 5, 1000}) {
    const std::vector<Value> inputs{Value(test::floats({n}, -3, 0.5f)), Value(test::floats({n}, 2, -0.25f))};
    auto a = test::run(**plain, inputs), b = test::run(**split, inputs);
    ASSERT_TRUE(a.ok() && b.ok()) << b.status().message();
    EXPECT_EQ(test::floats_of((*a)[0]), test::floats_of((*b)[0]));
  }
}

TEST(SessionPlacement, TheReportHasEdgesCrossingsAndReasons) {
  auto s = test::load(kModel, with_provider());
  ASSERT_TRUE(s.ok());
  const std::string json = (*s)->placement_json();
  for (
      const char* part :
      {R"({"name":"HalvesExecutionProvider","vendor":"tests","device":"GPU","own_memory":true,"nodes":2})",
       R"("op_type":"Abs","domain":"","provider":"CPUExecutionProvider")",
       R"("refused":[{"provider":"HalvesExecutionProvider","reason":"Abs is not supported by HalvesExecutionProvider"}])",
       R"_({"name":"x","type":"tensor(float)","shape":["n"],"bytes":null,"output":false})_",
       R"("crossings":[{"value":0,)", R"("from":"CPUExecutionProvider","to":"HalvesExecutionProvider","copied":true)",
       R"("nodes_run":3)"})
    EXPECT_NE(json.find(part), std::string::npos) << part << "\n" << json;
  auto plain = test::load(kModel);
  EXPECT_EQ((*plain)->placement_json().find("\"values\""), std::string::npos);  // one provider hands nothing over
}

TEST(SessionPlacement, ByCostIslandsThatLoseAreRefused) {
  auto s = test::load(kModel, with_provider({{"session.placement", "cost"},
                                             {"session.placement_costs",
                                              "HalvesExecutionProvider:start_us=5,node_us=1,copy_us=20;"
                                              "CPUExecutionProvider:node_us=9"}}));
  ASSERT_TRUE(s.ok()) << s.status().message();
  const auto& p = (*s)->placement();
  EXPECT_EQ(p.count(0), 0);
  EXPECT_EQ(p.nodes[0].refused[0].reason,
            "island of 1 node: saves 3 us, copies cost 60 us (3 values, 12 B, free dimensions taken as 1)");
  // The join has the scaled value on its device only while that island stands.
  EXPECT_EQ(p.nodes[2].refused[0].reason,
            "island of 1 node: saves 3 us, copies cost 40 us (2 values, 8 B, free dimensions taken as 1)");
  const std::vector<Value> inputs{Value(test::floats({3}, -1)), Value(test::floats({3}, 2))};
  auto out = test::run(**s, inputs);
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(test::floats_of((*out)[0]), (std::vector<float>{0, 0, 8}));
}

TEST(SessionPlacement, WhatIsAskedForWronglyIsSaid) {
  EXPECT_EQ(load_error(with_provider({{"session.placement", "fast"}})),
            "configuration entry 'session.placement' must be order or cost, it is 'fast'");
  EXPECT_EQ(load_error(with_provider({{"session.placement_costs", "x"}})),
            "configuration entry 'session.placement_costs' has a meaning only where 'session.placement' is cost");
  EXPECT_EQ(load_error(with_provider({{"session.strict_placement", "1"}})),
            "session.strict_placement is 1, but Abs 'odd' is not on HalvesExecutionProvider (HalvesExecutionProvider: "
            "Abs is not supported by HalvesExecutionProvider)");
}

TEST(SessionPlacement, TheSummaryIsAWarningWhereSomethingIsLeft) {
  struct Sink final : LogSink {
    void write(const LogRecord& r) override { lines.emplace_back(r.severity, std::string(r.text)); }
    std::vector<std::pair<Severity, std::string>> lines;
  };
  const auto severity = [](Options options) {
    const auto sink = std::make_shared<Sink>();
    options.log_sink = sink;
    options.log_severity = 0;
    EXPECT_TRUE(test::load(kModel, std::move(options)).ok());
    for (const auto& [severity, text] : sink->lines)
      if (text.find("3 nodes: ") == 0) return severity;
    return Severity::fatal;
  };
  EXPECT_EQ(severity(with_provider()), Severity::warning);
  EXPECT_EQ(severity({}), Severity::info);
}

}  // namespace
}  // namespace trunnion::session
