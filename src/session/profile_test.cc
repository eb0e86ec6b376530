// The profile: events with ONNX Runtime's names and fields, and what each node costs.
#include "session/profile.h"

#include <gtest/gtest.h>

#include "base/os.h"
#include "session/json.h"
#include "session/test_model.h"

namespace trunnion::session {
namespace {

constexpr const char* kProduct = R"(<opset: "" 17>
g(float[N,4] x) => (float[N,8] y) {
  float[4,8] w = random(1)
  [multiply] y = MatMul(x, w)
})";

std::string profile_of(Options options, int runs) {
  options.profiling = true;
  options.profile_prefix = testing::TempDir() + "trunnion_profile_" + std::to_string(os::process_id());
  auto session = test::load(kProduct, std::move(options));
  EXPECT_TRUE(session.ok()) << session.status().message();
  if (!session.ok()) return {};
  for (int i = 0; i < runs; ++i) EXPECT_TRUE(test::run(**session, {test::floats({3, 4})}).ok());
  const auto path = (*session)->end_profiling();
  EXPECT_TRUE(path.ok());
  const auto text = os::read_file(*path, 1 << 20);
  EXPECT_TRUE(text.ok());
  (void)os::remove_file(*path);
  return text.ok() ? *text : std::string();
}

size_t count_of(const std::string& text, std::string_view part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST(Profile, HasTheEventsOfLoadingAndOfEveryRun) {
  Options options;
  options.intra_op_threads = 1;
  const std::string text = profile_of(options, 2);
  EXPECT_TRUE(text.starts_with("[\n{\"cat\" : \"Session\",\"pid\" :")) << text;
  for (const char* name : {"model_loading_uri", "session_initialization"})
    EXPECT_EQ(count_of(text, std::string("\"name\" :\"") + name + '"'), 1u) << name << "\n" << text;
  for (const char* name : {"model_run", "SequentialExecutor::Execute", "multiply_kernel_time"})
    EXPECT_EQ(count_of(text, std::string("\"name\" :\"") + name + '"'), 2u) << name << "\n" << text;
  EXPECT_NE(text.find("\"precision\" : \"fp32\""), text.npos) << text;
  EXPECT_NE(text.find("\"threads\" : \"1\""), text.npos) << text;
}

TEST(Profile, ANodeSaysWhoRanItOnWhatAndWhatItCost) {
  Options options;
  options.intra_op_threads = 1;
  const std::string text = profile_of(options, 1);
  for (const char* field :
       {"\"cat\" : \"Node\"", "\"provider\" : \"CPUExecutionProvider\"", "\"node_index\" : \"0\"",
        "\"input_type_shape\" : [{\"float\":[3,4]},{\"float\":[4,8]}]", "\"output_type_shape\" : [{\"float\":[3,8]}]",
        "\"activation_size\" : \"48\"", "\"parameter_size\" : \"128\"", "\"output_size\" : \"96\"",
        "\"thread_scheduling_stats\" : {\"main_thread\": {\"thread_pool_name\": ", "\"flops\" : \"192\"",
        "\"bytes\" : \"272\"", "\"arithmetic\" : \"float32\"", "\"dur_ns\" : \""})
    EXPECT_NE(text.find(field), text.npos) << field << "\n" << text;
}

TEST(Profile, BytesThatAreNoTextBecomeReplacements) {
  EXPECT_EQ(json_text("a\"\\\n\x01"), "\"a\\\"\\\\\\n\\u0001\"");
  EXPECT_EQ(json_text("\xff"), "\"\\ufffd\"");
}

}  // namespace
}  // namespace trunnion::session
