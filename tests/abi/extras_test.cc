// Extras beyond the ONNX Runtime ABI that look at files and at the machine; session_test.cc has those of a session.
#include <cstdio>
#include <string>

#include "client.h"
#include "tiny_model.h"
#include "trunnion/trunnion.h"

#ifndef TRUNNION_TEST_GENUINE
namespace {

struct Extras : testing::Test {
  const TrunnionApi* more = TrunnionGetApi(TRUNNION_API_VERSION);
  OrtEnv* env = nullptr;
  OrtAllocator* allocator = nullptr;
  std::string path = testing::TempDir() + "extras_test.onnx", part = testing::TempDir() + "extras_test_part.onnx";

  void SetUp() override {
    OK(api()->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "extras", &env));
    OK(api()->GetAllocatorWithDefaultOptions(&allocator));
    // z = |x * w| + x
    tiny::Graph g;
    g.inputs = {tiny::value_info("x", tiny::kFloat, {"n"})};
    g.outputs = {tiny::value_info("z", tiny::kFloat, {"n"})};
    g.initializers = {tiny::floats("w", {2})};
    g.nodes = {tiny::node("Mul", {"x", "w"}, {"m"}), tiny::node("Abs", {"m"}, {"p"}),
               tiny::node("Add", {"p", "x"}, {"z"})};
    const std::string bytes = tiny::model(g);
    std::FILE* file = std::fopen(path.c_str(), "wb");
    ASSERT_NE(file, nullptr);
    std::fwrite(bytes.data(), 1, bytes.size(), file);
    std::fclose(file);
  }
  void TearDown() override {
    std::remove(path.c_str());
    std::remove(part.c_str());
    api()->ReleaseEnv(env);
  }
  std::string taken(char* text) {
    std::string copy(text);
    api()->AllocatorFree(allocator, text);
    return copy;
  }
  std::string extract(std::vector<const char*> from, std::vector<const char*> to) {
    return message(
        more->ExtractModel(env, path.c_str(), nullptr, from.data(), from.size(), to.data(), to.size(), part.c_str()));
  }
  std::string nodes_of(const std::string& model) {
    char* text = nullptr;
    const std::string error = message(more->ModelNodesJson(env, model.c_str(), nullptr, allocator, &text));
    return error.empty() ? taken(text) : error;
  }
};

TEST_F(Extras, TheEnvironment) {
  char* text = nullptr;
  OK(more->EnvironmentJson(env, allocator, &text));
  const std::string json = taken(text);
  for (const char* key : {"\"version\":", "\"rung_in_use\":", "\"allowed_cpus\":", "\"extras\":", "\"plugins\":[]",
                          "\"provider\":\"CPUExecutionProvider\""})
    EXPECT_NE(json.find(key), std::string::npos) << key << "\n" << json;
  CODE(more->EnvironmentJson(nullptr, allocator, &text), ORT_INVALID_ARGUMENT);
}

TEST_F(Extras, TheNodesOfAModel) {
  const std::string json = nodes_of(path);
  const char* row = R"_("op_type":"Mul","domain":"","inputs":["x"],"outputs":[{"name":"m","type":"tensor(float)"}])_";
  EXPECT_NE(json.find(row), std::string::npos) << json;
  EXPECT_NE(nodes_of("none.onnx").find("none.onnx"), std::string::npos);
}

TEST_F(Extras, APartOfAModel) {
  ASSERT_EQ(extract({"m"}, {"p"}), "");
  const std::string json = nodes_of(part);
  EXPECT_NE(json.find("\"Abs\""), std::string::npos);
  EXPECT_EQ(json.find("\"Mul\""), std::string::npos);
  EXPECT_EQ(json.find("\"Add\""), std::string::npos);
  ASSERT_EQ(extract({}, {"m", "p", "z", "m"}), "");  // inner values as outputs
  OrtSession* session = nullptr;
  OK(api()->CreateSession(env, part.c_str(), nullptr, &session));
  size_t outputs = 0;
  OK(api()->SessionGetOutputCount(session, &outputs));
  EXPECT_EQ(outputs, 3u);
  api()->ReleaseSession(session);
}

TEST_F(Extras, WhatCannotBeExtracted) {
  EXPECT_EQ(extract({}, {}), "a part of a model needs at least one output");
  EXPECT_EQ(extract({}, {"mm"}), "the model's graph has no value 'mm' (did you mean 'm'?)");
  EXPECT_EQ(extract({"m"}, {"z"}), "the part from m to z needs 'x' too");
  EXPECT_EQ(extract({"m", "x"}, {"m", "z"}), "'m' cannot be both an input and an output of a part");
  CODE(more->ExtractModel(env, path.c_str(), nullptr, nullptr, 1, nullptr, 0, part.c_str()), ORT_INVALID_ARGUMENT);
}

}  // namespace
#endif
