// What tests of plugins share: a session on the provider of a plugin of ours, under the name that says how it behaves.
#pragma once
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "client.h"
#include "tiny_model.h"

using Ops = std::multiset<std::string>;

struct PluginTest : testing::Test {
  const std::string path, provider;
  OrtEnv* env = nullptr;
  OrtSessionOptions* options = nullptr;
  OrtSession* session = nullptr;
  const OrtRunOptions* run_options = nullptr;
  OrtMemoryInfo* cpu = nullptr;
  std::string registered;

  PluginTest(std::string library, std::string name) : path(std::move(library)), provider(std::move(name)) {}

  // z = |x * w + b| + x * w: two regions when Abs stays on the CPU, one of which reads what the other gives.
  static std::string model() {
    tiny::Graph g;
    g.inputs = {tiny::value_info("x", tiny::kFloat, {"n"})};
    g.outputs = {tiny::value_info("z", tiny::kFloat, {"n"})};
    g.initializers = {tiny::floats("w", {2}), tiny::floats("b", {-3})};
    g.nodes = {tiny::node("Mul", {"x", "w"}, {"m"}), tiny::node("Add", {"m", "b"}, {"a"}),
               tiny::node("Abs", {"a"}, {"p"}), tiny::node("Add", {"p", "m"}, {"z"})};
    return tiny::model(g);
  }

  void SetUp() override {
    OK(api()->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "plugin", &env));
    OK(api()->CreateSessionOptions(&options));
    OK(api()->AddSessionConfigEntry(options, "session.record_ep_graph_assignment_info", "1"));
    OK(api()->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &cpu));
  }
  void TearDown() override {
    unload();
    api()->ReleaseMemoryInfo(cpu);
    api()->ReleaseSessionOptions(options);
    api()->ReleaseEnv(env);
  }

  void add(const std::string& mode) {
    OK(api()->RegisterExecutionProviderLibrary(env, mode.c_str(), path.c_str()));
    registered = mode;
  }
  void unload() {
    api()->ReleaseSession(std::exchange(session, nullptr));
    const std::string mode = std::exchange(registered, "");
    if (!mode.empty()) {
      OK(api()->UnregisterExecutionProviderLibrary(env, mode.c_str()));
    }
  }
  std::vector<const OrtEpDevice*> devices() {
    const OrtEpDevice* const* all = nullptr;
    size_t count = 0;
    EXPECT_EQ(message(api()->GetEpDevices(env, &all, &count)), "");
    std::vector<const OrtEpDevice*> found;
    for (size_t i = 0; i < count; ++i)
      if (api()->EpDevice_EpName(all[i]) == provider) found.push_back(all[i]);
    return found;
  }
  void choose(std::vector<const char*> keys = {}, std::vector<const char*> values = {}) {
    const auto all = devices();
    ASSERT_EQ(all.size(), 1u);
    OK(api()->SessionOptionsAppendExecutionProvider_V2(options, env, all.data(), 1, keys.data(), values.data(),
                                                       keys.size()));
  }
  OrtStatus* load(const std::string& bytes) {
    return api()->CreateSessionFromArray(env, bytes.data(), bytes.size(), options, &session);
  }
  void start(const std::string& mode, const std::string& bytes) {
    add(mode);
    choose();
    OK(load(bytes));
  }

  OrtValue* value(std::vector<float>& x) {
    const auto n = static_cast<int64_t>(x.size());
    OrtValue* v = nullptr;
    EXPECT_EQ(message(api()->CreateTensorWithDataAsOrtValue(cpu, x.data(), x.size() * 4, &n, 1,
                                                            ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &v)),
              "");
    return v;
  }
  // z of x; a null z is not looked at.
  OrtStatus* run(std::vector<float> x, std::vector<float>* z) {
    OrtValue *in = value(x), *out = nullptr;
    const char *names[] = {"x"}, *outputs[] = {"z"};
    OrtStatus* status = api()->Run(session, run_options, names, &in, 1, outputs, 1, &out);
    float* data = nullptr;
    size_t bytes = 0;
    if (!status && z) status = api()->GetTensorMutableData(out, reinterpret_cast<void**>(&data));
    if (!status && z) status = api()->GetTensorSizeInBytes(out, &bytes);
    if (!status && z) z->assign(data, data + bytes / 4);
    api()->ReleaseValue(in);
    api()->ReleaseValue(out);
    return status;
  }
  void expect_each(float (*result)(float)) {
    for (const auto& x : {std::vector<float>{1, -2, 5}, std::vector<float>{4}}) {
      std::vector<float> z, want;
      for (float v : x) want.push_back(result(v));
      OK(run(x, &z));
      EXPECT_EQ(z, want);
    }
  }

  Ops assigned(const std::string& to) {
    const OrtEpAssignedSubgraph* const* parts = nullptr;
    size_t count = 0;
    EXPECT_EQ(message(api()->Session_GetEpGraphAssignmentInfo(session, &parts, &count)), "");
    Ops ops;
    for (size_t i = 0; i < count; ++i) {
      const char *name = nullptr, *op = nullptr;
      const OrtEpAssignedNode* const* nodes = nullptr;
      size_t n = 0;
      EXPECT_EQ(message(api()->EpAssignedSubgraph_GetEpName(parts[i], &name)), "");
      EXPECT_EQ(message(api()->EpAssignedSubgraph_GetNodes(parts[i], &nodes, &n)), "");
      for (size_t k = 0; k < n && name == to; ++k) {
        EXPECT_EQ(message(api()->EpAssignedNode_GetOperatorType(nodes[k], &op)), "");
        ops.insert(op);
      }
    }
    return ops;
  }
  Ops assigned() { return assigned(provider); }
};
