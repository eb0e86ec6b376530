#include "session/check_options.h"

#include <cstdlib>
#include <functional>

#include "session/test_model.h"

namespace trunnion::session::test {
namespace {

constexpr std::string_view kModel = R"(<opset: "" 17>
main(float[batch,3] x, float[?,3] z) => (y, u) {
  float[3] w = {1, 2, 3}
  u = Neg(z)
  y = Add(x, w)
})";

// Warnings of the load; `strict` says how the same options end under session.strict_config.
std::string warnings(Options options, Status* strict = nullptr) {
  std::string text;
  Environment environment;
  environment.logger =
      Logger(make_callback_sink([&](const LogRecord& r) { text += std::string(r.text) + "\n"; }), Severity::warning);
  const auto session = load(kModel, options, environment);
  EXPECT_TRUE(session.ok()) << session.status().message();
  options.config["session.strict_config"] = "1";
  const auto again = load(kModel, options);
  if (strict) *strict = again.status();
  return text;
}

void expect_unknown(const Options& options, const std::vector<std::string>& parts) {
  Status strict;
  const std::string text = warnings(options, &strict);
  EXPECT_EQ(strict.code(), Code::invalid_argument);
  for (const auto& part : parts) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
    EXPECT_NE(strict.message().find(part), std::string::npos) << strict.message();
  }
}

TEST(CheckOptions, NothingToSay) {
  Options o;
  o.dimension_by_name = {{"batch", 4}, {"z.0", 5}};
  o.initializers.emplace("w", Value(floats({3})));
  o.config["optimization.disable_specified_optimizers"] = "ConstantFolding;GeluFusion;ChannelsLast;MatMulAddFusion";
  o.intra_op_threads = 1;
  o.inter_op_threads = -1;
  o.providers.push_back({"CPUExecutionProvider", {{"arena_extend_strategy", "kSameAsRequested"}}, {}});
  o.log_severity = 2;
  Status strict;
  EXPECT_EQ(warnings(o, &strict), "");
  EXPECT_TRUE(strict.ok()) << strict.message();
}

TEST(CheckOptions, StrictMathStaysWhereThePrecisionIsStrict) {
  Options o;
  o.config["optimization.disable_specified_optimizers"] = "GeluFusion;StrictMath";
  EXPECT_TRUE(load(kModel, o).ok());
  for (const auto& [key, value] : {std::pair("precision", "strict"), {"precision.nodes", "y=strict"}}) {
    Options strict = o;
    strict.config[key] = value;
    const auto session = load(kModel, strict);
    EXPECT_EQ(session.status().message(),
              "optimization.disable_specified_optimizers names 'StrictMath', which is what makes the precision strict: "
              "leave it there, or ask for another precision");
  }
}

TEST(CheckOptions, ValuesOfTheCpusOptions) {
  Options o;
  o.providers.push_back({"CPUExecutionProvider", {{"arena_extend_strategy", "kNextPowerOfThree"}}, {}});
  EXPECT_EQ(
      load(kModel, o).status().message(),
      "the option 'arena_extend_strategy' of CPUExecutionProvider may be kNextPowerOfTwo, kSameAsRequested, it is "
      "'kNextPowerOfThree'");
}

TEST(CheckOptions, TheNullProviderTakesNothing) {
  Options o;
  o.providers.push_back({"NullExecutionProvider", {}, {}});
  const auto session = load(kModel, o);
  ASSERT_TRUE(session.ok()) << session.status().message();
  EXPECT_NE((*session)->placement_summary().find("0 NullExecutionProvider, 2 CPUExecutionProvider"), std::string::npos)
      << (*session)->placement_summary();
  o.config["session.strict_placement"] = "1";
  EXPECT_NE(load(kModel, o).status().message().find("(NullExecutionProvider: the null provider runs nothing, "),
            std::string::npos);
}

TEST(CheckOptions, NamesThatTheModelDoesNotHave) {
  Options o;
  o.dimension_by_name = {{"batchh", 3}};
  expect_unknown(o, {"'batchh'", "'batch'"});
  o = {};
  o.dimension_by_denotation = {{"DATA_BATCH", 3}};
  expect_unknown(o, {"denotation 'DATA_BATCH'"});
  o = {};
  o.initializers.emplace("zz", Value(floats({3})));
  expect_unknown(o, {"no initializer 'zz'"});
}

TEST(CheckOptions, ADimensionWithoutANameGoesByInputAndAxis) {
  Options o;
  o.dimension_by_name = {{"z.0", 5}};
  const auto s = load(kModel, o);
  ASSERT_TRUE(s.ok()) << s.status().message();
  EXPECT_TRUE((*(*s)->inputs()[1].type.shape)[0].is_int(5));
}

TEST(CheckOptions, ADimensionIsNotNegative) {
  Options o;
  o.dimension_by_name = {{"batch", -3}};
  const auto s = load(kModel, o);
  EXPECT_EQ(s.status().code(), Code::invalid_argument);
  EXPECT_NE(s.status().message().find("'batch' is to be -3"), std::string::npos) << s.status().message();
}

TEST(CheckOptions, OptimizersThreadsAndProviderOptions) {
  Options o;
  o.config["optimization.disable_specified_optimizers"] = "ConstantFoldin;ConstantSharing";
  expect_unknown(o, {"'ConstantFoldin'", "'ConstantFolding'"});
  o = {};
  o.intra_op_threads = -7;
  expect_unknown(o, {"intra_op_num_threads is -7"});
  o = {};
  o.providers.push_back({"CPUExecutionProvider", {{"foo", "1"}}, {}});
  expect_unknown(o, {"'foo' of CPUExecutionProvider"});
}

TEST(CheckOptions, VariablesOfTheEnvironment) {
  for (const auto& [name, value] : {std::pair("TRUNNION_CPU", "foo"), {"TRUNNION_NUM_THREADS", "abc"}}) {
    const char* before = std::getenv(name);
    const std::string kept = before ? before : "";
    setenv(name, value, 1);
    expect_unknown({}, {name, std::string("'") + value + "'"});
    if (before)
      setenv(name, kept.c_str(), 1);
    else
      unsetenv(name);
  }
}

TEST(CheckOptions, Severities) {
  Options o;
  o.log_severity = 77;
  const auto s = load(kModel, o);
  EXPECT_EQ(s.status().code(), Code::runtime_exception);
  EXPECT_NE(s.status().message().find("77"), std::string::npos);
  auto good = load(kModel);
  ASSERT_TRUE(good.ok());
  RunOptions run_options;
  run_options.log_severity = 77;
  EXPECT_EQ(run(**good, {floats({1, 3}), floats({1, 3})}, run_options).status().code(), Code::fail);
}

TEST(CheckOptions, EntriesOfRunsAreToldOnce) {
  int lines = 0;
  std::string text;
  Session* busy = nullptr;
  Environment environment;
  environment.logger = Logger(make_callback_sink([&](const LogRecord& r) {
                                ++lines;
                                text = r.text;
                                if (busy)
                                  (void)run(*busy, {floats({1, 3}), floats({1, 3})});  // a sink may use the session
                              }),
                              Severity::warning);
  auto s = load(kModel, {}, environment);
  ASSERT_TRUE(s.ok());
  busy = s->get();
  RunOptions options;
  options.config["gpu_graph_idd"] = "1";
  options.config["disable_synchronize_execution_providers"] = "1";
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(run(**s, {floats({1, 3}), floats({1, 3})}, options).ok());
  EXPECT_EQ(lines, 1);
  EXPECT_NE(text.find("'gpu_graph_idd'"), std::string::npos) << text;
  EXPECT_NE(text.find("'gpu_graph_id'"), std::string::npos) << text;

  Options strict;
  strict.config["session.strict_config"] = "1";
  auto refusing = load(kModel, strict);
  ASSERT_TRUE(refusing.ok());
  EXPECT_EQ(run(**refusing, {floats({1, 3}), floats({1, 3})}, options).status().code(), Code::invalid_argument);
}

}  // namespace
}  // namespace trunnion::session::test
