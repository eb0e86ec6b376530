#include "session/declared_shapes.h"

#include "ops/catalog.h"
#include "session/test_model.h"

namespace trunnion::session::test {
namespace {

std::vector<std::string> contradictions(std::string_view text) {
  auto graph = ir::parse_graph(text);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  if (!graph.ok()) return {};
  const DeclaredShapes declared(**graph);
  EXPECT_TRUE(ops::resolve(**graph).ok());
  EXPECT_TRUE(ops::infer(**graph).ok());
  return declared.contradictions();
}

constexpr std::string_view kStale = R"(<opset: "" 17>
main(float[2,3] x) => (y) {
  float[2,4] t = Relu(x)
  y = Neg(t)
})";

TEST(DeclaredShapes, DimensionAndRank) {
  const auto lines = contradictions(kStale);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find("Inferred shape and existing shape differ in dimension 1: (3) vs (4)"), std::string::npos)
      << lines[0];
  EXPECT_NE(lines[0].find("'t' with shape"), std::string::npos) << lines[0];

  const auto rank = contradictions(R"(<opset: "" 17>
main(float[2,3] x) => (y) {
  float[6] y = Relu(x)
})");
  ASSERT_EQ(rank.size(), 1u);
  EXPECT_NE(rank[0].find("in rank: (2) vs (1)"), std::string::npos) << rank[0];
}

TEST(DeclaredShapes, SymbolsContradictNothing) {
  EXPECT_TRUE(contradictions(R"(<opset: "" 17>
main(float[N,3] x) => (y) {
  float[4,3] t = Relu(x)
  float[M,?] u = Neg(t)
  y = Abs(u)
})")
                  .empty());
}

TEST(DeclaredShapes, InsideBodies) {
  const auto lines = contradictions(R"(<opset: "" 17>
main(bool[] c, float[2,3] x) => (y) {
  y = If<
    then_branch=yes[x]() => (o) { float[7,3] o = Relu(x) },
    else_branch=no[x]() => (o) { o = Neg(x) }
  >(c)
})");
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find("(2) vs (7)"), std::string::npos) << lines[0];
}

TEST(DeclaredShapes, WarningByDefaultErrorWhenStrict) {
  std::vector<std::string> warnings;
  Options options;
  options.log_sink = make_callback_sink([&](const LogRecord& r) {
    if (r.severity == Severity::warning) warnings.emplace_back(r.text);
  });
  auto s = load(kStale, options);
  ASSERT_TRUE(s.ok()) << s.status().message();
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("the inferred shape counts"), std::string::npos) << warnings[0];
  const auto out = run(**s, {floats({2, 3})});
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(floats_of((*out)[0]), (std::vector<float>{0, -1, -2, -3, -4, -5}));

  options.config.emplace("session.strict_shape_type_inference", "1");
  s = load(kStale, options);
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.status().code(), Code::invalid_graph);
  EXPECT_NE(s.status().message().find("'t' with shape"), std::string::npos) << s.status().message();
}

// What inference leaves open is known when the model has run.
TEST(DeclaredShapes, OfOutputsAtRun) {
  std::string text;
  int lines = 0;
  Environment environment;
  environment.logger = Logger(make_callback_sink([&](const LogRecord& r) {
                                ++lines;
                                text += std::string(r.text) + "\n";
                              }),
                              Severity::warning);
  auto s = load(R"(<opset: "" 17>
main(float[N] x) => (int64[1,7] y, int64[1,M] z, float[7] r) {
  y = NonZero(x)
  z = NonZero(x)
  r = Relu(x)
})",
                {}, environment);
  ASSERT_TRUE(s.ok()) << s.status().message();
  EXPECT_TRUE(run(**s, {floats({7}, 1)}).ok());
  EXPECT_EQ(lines, 0) << text;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(run(**s, {floats({4}, 1)}).ok());
  EXPECT_EQ(lines, 2);
  EXPECT_EQ(text,
            "Expected shape from model of {1,7} does not match actual shape of {1,4} for output y\n"
            "Expected shape from model of {7} does not match actual shape of {4} for output r\n");
}

}  // namespace
}  // namespace trunnion::session::test
