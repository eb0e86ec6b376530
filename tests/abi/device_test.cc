// Plugins with kernels in a registry and a device with memory of its own: device_library.c, whose addresses crash the
// host that follows one.
#include <dlfcn.h>

#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "client.h"
#include "tiny_model.h"

namespace {

constexpr const char* kName = "DeviceExecutionProvider";
enum Counter { kCopyCalls, kUp, kDown, kBlocks, kConstantBlocks, kRuns, kKernels, kReleased, kStreams, kOptions };

tiny::Message int64s(const std::string& name, const std::vector<int64_t>& values) {
  std::string raw(values.size() * 8, '\0');
  std::memcpy(raw.data(), values.data(), raw.size());
  return tiny::Message()
      .integer(1, static_cast<int64_t>(values.size()))
      .integer(2, tiny::kInt64)
      .bytes(8, name)
      .bytes(9, raw);
}

// A branch without inputs: one node over values of the graph around it.
tiny::Message branch(const std::string& attribute, const std::string& op, const std::string& a, const std::string& b) {
  tiny::Message graph;
  graph.add(1, tiny::node(op, {a, b}, {attribute + "_y"})).bytes(2, attribute);
  graph.add(12, tiny::value_info(attribute + "_y", tiny::kFloat, {"n"}));
  return tiny::Message().bytes(1, attribute).integer(20, 5).add(6, graph);
}

struct Device : testing::Test {
  OrtEnv* env = nullptr;
  OrtSessionOptions* options = nullptr;
  OrtSession* session = nullptr;
  OrtMemoryInfo* cpu = nullptr;
  std::string registered;
  void* library = nullptr;
  int* counters = nullptr;

  void SetUp() override {
    OK(api()->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "device", &env));
    OK(api()->CreateSessionOptions(&options));
    OK(api()->AddSessionConfigEntry(options, "session.record_ep_graph_assignment_info", "1"));
    OK(api()->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &cpu));
    library = dlopen(ABI_DEVICE_LIBRARY, RTLD_NOW);
    ASSERT_TRUE(library);
    counters = static_cast<int*>(dlsym(library, "device_counters"));
  }
  void TearDown() override {
    api()->ReleaseSession(session);
    if (!registered.empty()) OK(api()->UnregisterExecutionProviderLibrary(env, registered.c_str()));
    EXPECT_EQ(counters[kBlocks], 0);
    EXPECT_EQ(counters[kConstantBlocks], 0);
    EXPECT_EQ(counters[kStreams], 0);
    EXPECT_EQ(counters[kKernels], counters[kReleased]);
    dlclose(library);
    api()->ReleaseMemoryInfo(cpu);
    api()->ReleaseSessionOptions(options);
    api()->ReleaseEnv(env);
  }

  const OrtEpDevice* device() {
    const OrtEpDevice* const* all = nullptr;
    size_t count = 0;
    EXPECT_EQ(message(api()->GetEpDevices(env, &all, &count)), "");
    for (size_t i = 0; i < count; ++i)
      if (api()->EpDevice_EpName(all[i]) == std::string(kName)) return all[i];
    return nullptr;
  }
  void choose(const std::string& mode, std::vector<const char*> keys = {}, std::vector<const char*> values = {}) {
    OK(api()->RegisterExecutionProviderLibrary(env, mode.c_str(), ABI_DEVICE_LIBRARY));
    registered = mode;
    const OrtEpDevice* d = device();
    ASSERT_TRUE(d);
    OK(api()->SessionOptionsAppendExecutionProvider_V2(options, env, &d, 1, keys.data(), values.data(), keys.size()));
  }
  OrtStatus* load(const std::string& bytes) {
    return api()->CreateSessionFromArray(env, bytes.data(), bytes.size(), options, &session);
  }
  void start(const std::string& mode, const std::string& bytes) {
    choose(mode);
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
  OrtStatus* run(std::vector<float> x, std::vector<float>* z) {
    OrtValue *in = value(x), *out = nullptr;
    const char *names[] = {"x"}, *outputs[] = {"z"};
    OrtStatus* status = api()->Run(session, nullptr, names, &in, 1, outputs, 1, &out);
    float* data = nullptr;
    size_t bytes = 0;
    if (!status && z) status = api()->GetTensorMutableData(out, reinterpret_cast<void**>(&data));
    if (!status && z) status = api()->GetTensorSizeInBytes(out, &bytes);
    if (!status && z) z->assign(data, data + bytes / 4);
    api()->ReleaseValue(in);
    api()->ReleaseValue(out);
    return status;
  }
  std::multiset<std::string> assigned(const std::string& provider = kName) {
    const OrtEpAssignedSubgraph* const* parts = nullptr;
    size_t count = 0;
    EXPECT_EQ(message(api()->Session_GetEpGraphAssignmentInfo(session, &parts, &count)), "");
    std::multiset<std::string> ops;
    for (size_t i = 0; i < count; ++i) {
      const char *name = nullptr, *op = nullptr;
      const OrtEpAssignedNode* const* nodes = nullptr;
      size_t n = 0;
      EXPECT_EQ(message(api()->EpAssignedSubgraph_GetEpName(parts[i], &name)), "");
      EXPECT_EQ(message(api()->EpAssignedSubgraph_GetNodes(parts[i], &nodes, &n)), "");
      for (size_t k = 0; k < n && name == provider; ++k) {
        EXPECT_EQ(message(api()->EpAssignedNode_GetOperatorType(nodes[k], &op)), "");
        ops.insert(op);
      }
    }
    return ops;
  }

  // z = Relu(|x * w + b| + x * w)
  static std::string split_model() {
    tiny::Graph g;
    g.inputs = {tiny::value_info("x", tiny::kFloat, {"n"})};
    g.outputs = {tiny::value_info("z", tiny::kFloat, {"n"})};
    g.initializers = {tiny::floats("w", {2}), tiny::floats("b", {-3})};
    g.nodes = {tiny::node("Mul", {"x", "w"}, {"m"}), tiny::node("Add", {"m", "b"}, {"a"}),
               tiny::node("Abs", {"a"}, {"p"}), tiny::node("Add", {"p", "m"}, {"s"}), tiny::node("Relu", {"s"}, {"z"})};
    return tiny::model(g);
  }
  static float split_result(float v) { return std::max(0.f, std::abs(v * 2 - 3) + v * 2); }
  void expect_right() {
    for (const auto& x : {std::vector<float>{1, -2, 5}, std::vector<float>{4}}) {
      std::vector<float> z, want;
      for (float v : x) want.push_back(split_result(v));
      OK(run(x, &z));
      EXPECT_EQ(z, want);
    }
  }
};

using Ops = std::multiset<std::string>;

TEST_F(Device, CopiesWhatCrossesOnceAndConstantsOnce) {
  start("good", split_model());
  EXPECT_EQ(assigned(), (Ops{"Add", "Add", "Mul", "Relu"}));
  EXPECT_EQ(assigned("CPUExecutionProvider"), Ops{"Abs"});
  EXPECT_EQ(counters[kConstantBlocks], 2);
  EXPECT_EQ(counters[kUp], 2);
  EXPECT_EQ(counters[kCopyCalls], 1);
  std::vector<float> z;
  OK(run({1, -2, 5}, &z));
  EXPECT_EQ(counters[kUp], 2 + 2);  // x; then p, for m is there
  EXPECT_EQ(counters[kDown], 2);    // a; then z
  EXPECT_EQ(counters[kCopyCalls], 1 + 4);
  EXPECT_EQ(counters[kBlocks], 0);
  expect_right();
  EXPECT_EQ(counters[kRuns], 3);
}

TEST_F(Device, HostMemoryWhereTheKernelWantsIt) {
  tiny::Graph g;
  g.inputs = {tiny::value_info("x", tiny::kFloat, {"n"})};
  g.outputs = {tiny::value_info("z", tiny::kFloat, {"n"})};
  g.initializers = {int64s("grow", {1, -1}), tiny::floats("w", {10})};
  g.nodes = {tiny::node("Relu", {"x"}, {"r"}), tiny::node("Shape", {"r"}, {"s"}),
             tiny::node("Reshape", {"r", "grow"}, {"t"}), tiny::node("Mul", {"t", "w"}, {"u"}),
             tiny::node("Reshape", {"u", "s"}, {"z"})};
  start("good", tiny::model(g));
  std::vector<float> z;
  OK(run({1, -2, 5}, &z));
  EXPECT_EQ(z, (std::vector<float>{10, 0, 50}));
}

TEST_F(Device, BothBranchesOfAnIf) {
  tiny::Graph g;
  g.inputs = {tiny::value_info("x", tiny::kFloat, {"n"})};
  g.outputs = {tiny::value_info("z", tiny::kFloat, {"n"})};
  g.initializers = {tiny::floats("w", {2}), tiny::floats("limit", {4})};
  g.nodes = {tiny::node("Mul", {"x", "w"}, {"m"}),
             tiny::node("ReduceMax", {"m"}, {"most"})
                 .add(5, tiny::Message().bytes(1, "keepdims").integer(20, 2).integer(3, 0)),
             tiny::node("Greater", {"most", "limit"}, {"large"}),
             tiny::node("If", {"large"}, {"y"})
                 .add(5, branch("then_branch", "Mul", "m", "x"))
                 .add(5, branch("else_branch", "Add", "m", "x")),
             tiny::node("Relu", {"y"}, {"z"})};
  start("good", tiny::model(g));
  const auto mine = assigned();
  EXPECT_TRUE(mine.contains("If"));
  EXPECT_EQ(mine.count("Mul"), 2u);
  std::vector<float> z;
  OK(run({1, 3}, &z));
  EXPECT_EQ(z, (std::vector<float>{2, 18}));
  OK(run({1, 2}, &z));
  EXPECT_EQ(z, (std::vector<float>{3, 6}));
}

TEST_F(Device, KernelsGetTheirStream) {
  start("streams", split_model());
  expect_right();
  EXPECT_GT(counters[kStreams], 0);
}

TEST_F(Device, ThreadsRunOneAfterTheOther) {
  start("good", split_model());
  std::vector<std::thread> threads;
  std::vector<std::string> errors(4);
  for (size_t t = 0; t < errors.size(); ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20 && errors[t].empty(); ++i) {
        std::vector<float> z;
        errors[t] = message(run({1, static_cast<float>(t)}, &z));
        if (errors[t].empty() && z != std::vector<float>{split_result(1), split_result(static_cast<float>(t))})
          errors[t] = "wrong result";
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(errors, std::vector<std::string>(4));
}

TEST_F(Device, OursAKernelThatCannotBeMadeGoesToTheCpu) {
  start("fails_relu", split_model());
  EXPECT_EQ(assigned(), (Ops{"Add", "Add", "Mul"}));
  EXPECT_EQ(assigned("CPUExecutionProvider"), (Ops{"Abs", "Relu"}));
  expect_right();
}

TEST_F(Device, OursErrorsNameProviderAndNode) {
  start("fails_compute", split_model());
  const std::string text = message(run({1}, nullptr));
  EXPECT_NE(text.find("DeviceExecutionProvider could not compute Mul 'Mul_m': the device is on fire"),
            std::string::npos)
      << text;
}

TEST_F(Device, OursCopiesThatFail) {
  start("fails_copies", split_model());
  EXPECT_EQ(assigned(), (Ops{"Add", "Relu"}));  // those without constants to copy
  const std::string text = message(run({1}, nullptr));
  EXPECT_NE(text.find("the bus is broken"), std::string::npos) << text;
}

TEST_F(Device, OptionsThatChange) {
  start("good", split_model());
  const char *key = "speed", *wrong = "sped", *value = "fast";
  OK(api()->SetEpDynamicOptions(session, &key, &value, 1));
  EXPECT_EQ(counters[kOptions], 1);
  EXPECT_NE(message(api()->SetEpDynamicOptions(session, &wrong, &value, 1)).find("the only option is 'speed'"),
            std::string::npos);
}

TEST_F(Device, OursOptionsThatNobodyLooksAt) {
  choose("good", {"qualty"}, {"1"});
  OK(api()->AddSessionConfigEntry(options, "session.strict_config", "1"));
  EXPECT_EQ(message(load(split_model())),
            "the option 'qualty' of DeviceExecutionProvider has no effect: the provider did not look at it (did you "
            "mean 'quality'?)");
}

TEST_F(Device, OursValuesThereKeepTheLibrary) {
  start("good", split_model());
  const OrtMemoryInfo* memory = api()->EpDevice_MemoryInfo(device(), OrtDeviceMemoryType_DEFAULT);
  ASSERT_TRUE(memory);
  OrtAllocator* allocator = nullptr;
  OK(api()->CreateSharedAllocator(env, device(), OrtDeviceMemoryType_DEFAULT, OrtDeviceAllocator, nullptr, &allocator));
  const int64_t n = 3;
  OrtValue* there = nullptr;
  OK(api()->CreateTensorAsOrtValue(allocator, &n, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &there));
  std::vector<float> x = {1, -2, 5};
  OrtValue* here = value(x);
  OK(api()->CopyTensors(env, &here, &there, nullptr, 1));
  OrtIoBinding* binding = nullptr;
  OK(api()->CreateIoBinding(session, &binding));
  OK(api()->BindInput(binding, "x", there));
  OK(api()->BindOutputToDevice(binding, "z", memory));
  OK(api()->RunWithBinding(session, nullptr, binding));
  OrtAllocator* plain = nullptr;
  OK(api()->GetAllocatorWithDefaultOptions(&plain));
  OrtValue** outputs = nullptr;
  size_t count = 0;
  OK(api()->GetBoundOutputValues(binding, plain, &outputs, &count));
  ASSERT_EQ(count, 1u);
  OK(api()->CopyTensors(env, outputs, &here, nullptr, 1));
  EXPECT_EQ(x, (std::vector<float>{split_result(1), split_result(-2), split_result(5)}));
  api()->ReleaseIoBinding(binding);
  api()->ReleaseValue(there);
  api()->ReleaseSession(session);
  session = nullptr;
  EXPECT_EQ(message(api()->UnregisterExecutionProviderLibrary(env, "good")),
            "the plugin 'good' is in use: 1 block of its 'TestDevice' memory is still held");
  api()->ReleaseValue(outputs[0]);
  plain->Free(plain, outputs);
  api()->ReleaseValue(here);
}

}  // namespace
