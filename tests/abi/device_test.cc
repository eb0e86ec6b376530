// Plugins with kernels in a registry and a device with memory of its own: device_library.c, whose addresses crash the
// host that follows one.
#include <dlfcn.h>

#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "plugin_fixture.h"
#include "tiny_model.h"

namespace {

enum Counter {
  kCopyCalls,
  kUp,
  kDown,
  kBlocks,
  kConstantBlocks,
  kRuns,
  kKernels,
  kReleased,
  kStreams,
  kOptions,
  kBrokenAllocators
};

// A branch without inputs: one node over values of the graph around it.
tiny::Message branch(const std::string& attribute, const std::string& op, const std::string& a, const std::string& b) {
  tiny::Message graph;
  graph.add(1, tiny::node(op, {a, b}, {attribute + "_y"})).bytes(2, attribute);
  graph.add(12, tiny::value_info(attribute + "_y", tiny::kFloat, {"n"}));
  return tiny::Message().bytes(1, attribute).integer(20, 5).add(6, graph);
}

struct Device : PluginTest {
  Device() : PluginTest(ABI_DEVICE_LIBRARY, "DeviceExecutionProvider") {}
  void* library = nullptr;
  int* counters = nullptr;

  void SetUp() override {
    PluginTest::SetUp();
    library = dlopen(ABI_DEVICE_LIBRARY, RTLD_NOW);
    ASSERT_TRUE(library);
    counters = static_cast<int*>(dlsym(library, "device_counters"));
  }
  void TearDown() override {
    unload();
    EXPECT_EQ(counters[kBlocks], 0);
    EXPECT_EQ(counters[kConstantBlocks], 0);
    EXPECT_EQ(counters[kStreams], 0);
    EXPECT_EQ(counters[kKernels], counters[kReleased]);
    dlclose(library);
    PluginTest::TearDown();
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
  void expect_right() { expect_each(split_result); }
};

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
  g.initializers = {tiny::int64s("grow", {1, -1}), tiny::floats("w", {10})};
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

// The client's stream is used in place of one of the session's, as long as it lives.
TEST_F(Device, StreamsOfTheClient) {
  start("streams", split_model());
  OrtSyncStream* stream = nullptr;
  OK(api()->CreateSyncStreamForEpDevice(devices().at(0), nullptr, &stream));
  ASSERT_TRUE(stream);
  EXPECT_NE(api()->SyncStream_GetHandle(stream), nullptr);
  EXPECT_EQ(counters[kStreams], 1);
  OrtRunOptions* how = nullptr;
  OK(api()->CreateRunOptions(&how));
  api()->RunOptionsSetSyncStream(how, stream);
  run_options = how;
  expect_right();
  EXPECT_EQ(counters[kStreams], 1);  // the session made none
  const uint64_t waits = api()->GetEpApi()->SyncStream_GetSyncId(stream);
  EXPECT_GT(waits, 0u);
  api()->RunOptionsSetSyncStream(how, nullptr);
  expect_right();
  const int with_its_own = counters[kStreams];
  EXPECT_GT(with_its_own, 1);
  EXPECT_EQ(api()->GetEpApi()->SyncStream_GetSyncId(stream), waits);
  std::vector<float> x = {1, 2}, y = {0, 0};
  OrtValue *from = value(x), *to = value(y);
  OK(api()->CopyTensors(env, &from, &to, stream, 1));
  EXPECT_EQ(y, x);
  api()->ReleaseValue(from);
  api()->ReleaseValue(to);
  api()->ReleaseRunOptions(how);
  api()->ReleaseSyncStream(stream);
  EXPECT_EQ(counters[kStreams], with_its_own - 1);
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
  add("good");
  choose({"qualty"}, {"1"});
  OK(api()->AddSessionConfigEntry(options, "session.strict_config", "1"));
  EXPECT_EQ(message(load(split_model())),
            "the option 'qualty' of DeviceExecutionProvider has no effect: the provider did not look at it (did you "
            "mean 'quality'?)");
}

TEST_F(Device, OursValuesThereKeepTheLibrary) {
  start("good", split_model());
  const OrtMemoryInfo* memory = api()->EpDevice_MemoryInfo(devices().at(0), OrtDeviceMemoryType_DEFAULT);
  ASSERT_TRUE(memory);
  OrtAllocator* allocator = nullptr;
  OK(api()->CreateSharedAllocator(env, devices().at(0), OrtDeviceMemoryType_DEFAULT, OrtDeviceAllocator, nullptr,
                                  &allocator));
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

// An allocator that the plugin has and cannot make is another thing than one that it does not have.
TEST_F(Device, OursAnAllocatorThatCannotBeMade) {
  add("good");
  const auto all = devices();
  ASSERT_EQ(all.size(), 1u);
  const OrtMemoryInfo* memory = api()->EpDevice_MemoryInfo(all[0], OrtDeviceMemoryType_DEFAULT);
  ASSERT_TRUE(memory);
  OrtAllocator* allocator = nullptr;
  counters[kBrokenAllocators] = 1;
  const std::string want = "CreateAllocator of 'good': the device is out of memory";
  EXPECT_EQ(message(api()->GetSharedAllocator(env, memory, &allocator)), want);
  EXPECT_EQ(message(api()->CreateSharedAllocator(env, all[0], OrtDeviceMemoryType_DEFAULT, OrtDeviceAllocator, nullptr,
                                                 &allocator)),
            want);
  counters[kBrokenAllocators] = 0;
  OK(api()->GetSharedAllocator(env, memory, &allocator));
  EXPECT_TRUE(allocator);
}

}  // namespace
