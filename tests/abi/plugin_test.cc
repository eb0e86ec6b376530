// Plugins of execution providers: the library that the build makes of plugin_library.c, under the names that say how it
// behaves.
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "client.h"
#include "tiny_model.h"

namespace {

constexpr const char* kName = "TestExecutionProvider";

struct Plugin : testing::Test {
  OrtEnv* env = nullptr;
  OrtSessionOptions* options = nullptr;
  OrtSession* session = nullptr;
  OrtMemoryInfo* cpu = nullptr;
  std::string registered;

  void SetUp() override {
    OK(api()->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "plugin", &env));
    OK(api()->CreateSessionOptions(&options));
    OK(api()->AddSessionConfigEntry(options, "session.record_ep_graph_assignment_info", "1"));
    OK(api()->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &cpu));
  }
  void TearDown() override {
    api()->ReleaseSession(session);
    if (!registered.empty()) OK(api()->UnregisterExecutionProviderLibrary(env, registered.c_str()));
    EXPECT_TRUE(devices().empty());
    api()->ReleaseMemoryInfo(cpu);
    api()->ReleaseSessionOptions(options);
    api()->ReleaseEnv(env);
  }

  void add(const std::string& mode) {
    OK(api()->RegisterExecutionProviderLibrary(env, mode.c_str(), ABI_PLUGIN_LIBRARY));
    registered = mode;
  }
  std::string refused(const std::string& mode, const char* path = ABI_PLUGIN_LIBRARY) {
    return message(api()->RegisterExecutionProviderLibrary(env, mode.c_str(), path));
  }
  std::vector<const OrtEpDevice*> devices() {
    const OrtEpDevice* const* all = nullptr;
    size_t count = 0;
    EXPECT_EQ(message(api()->GetEpDevices(env, &all, &count)), "");
    std::vector<const OrtEpDevice*> found;
    for (size_t i = 0; i < count; ++i)
      if (api()->EpDevice_EpName(all[i]) == std::string(kName)) found.push_back(all[i]);
    return found;
  }
  void choose(std::vector<const char*> keys = {}, std::vector<const char*> values = {}) {
    const auto all = devices();
    ASSERT_EQ(all.size(), 1u);
    OK(api()->SessionOptionsAppendExecutionProvider_V2(options, env, all.data(), 1, keys.data(), values.data(),
                                                       keys.size()));
  }
  OrtStatus* load() {
    const std::string bytes = model();
    return api()->CreateSessionFromArray(env, bytes.data(), bytes.size(), options, &session);
  }
  void start(const std::string& mode) {
    add(mode);
    choose();
    OK(load());
  }

  // z = |x * w + b| + x * w: Abs stands between two runs of what the plugin takes, with a connection around it.
  static std::string model() {
    tiny::Graph g;
    g.inputs = {tiny::value_info("x", tiny::kFloat, {"n"})};
    g.outputs = {tiny::value_info("z", tiny::kFloat, {"n"})};
    g.initializers = {tiny::floats("w", {2}), tiny::floats("b", {-3})};
    g.nodes = {tiny::node("Mul", {"x", "w"}, {"m"}), tiny::node("Add", {"m", "b"}, {"a"}),
               tiny::node("Abs", {"a"}, {"p"}), tiny::node("Add", {"p", "m"}, {"z"})};
    return tiny::model(g);
  }
  std::string run_error() {
    std::vector<float> x = {1, -2, 5};
    return message(run(x, nullptr));
  }
  OrtStatus* run(std::vector<float>& x, std::vector<float>* z) {
    const int64_t n = static_cast<int64_t>(x.size());
    OrtValue *in = nullptr, *out = nullptr;
    EXPECT_EQ(message(api()->CreateTensorWithDataAsOrtValue(cpu, x.data(), x.size() * 4, &n, 1,
                                                            ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &in)),
              "");
    const char *names[] = {"x"}, *outputs[] = {"z"};
    OrtStatus* status = api()->Run(session, nullptr, names, &in, 1, outputs, 1, &out);
    float* data = nullptr;
    if (!status && z && !(status = api()->GetTensorMutableData(out, reinterpret_cast<void**>(&data))))
      z->assign(data, data + x.size());
    api()->ReleaseValue(in);
    api()->ReleaseValue(out);
    return status;
  }
  void expect_right() {
    for (const auto& feed : {std::vector<float>{1, -2, 5}, std::vector<float>{4}}) {
      std::vector<float> x = feed, z, want;
      for (float v : x) want.push_back(std::abs(v * 2 - 3) + v * 2);
      OK(run(x, &z));
      EXPECT_EQ(z, want);
    }
  }
  std::multiset<std::string> assigned(const std::string& provider) {
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
};

using Ops = std::multiset<std::string>;

TEST_F(Plugin, OursShowsItsDevice) {
  add("good");
  const auto all = devices();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_STREQ(api()->EpDevice_EpVendor(all[0]), "the tests");
  EXPECT_STREQ(api()->GetKeyValue(api()->EpDevice_EpMetadata(all[0]), "version"), "1.2.3");
  EXPECT_STREQ(api()->GetKeyValue(api()->EpDevice_EpMetadata(all[0]), "library_path"), ABI_PLUGIN_LIBRARY);
  EXPECT_EQ(api()->HardwareDevice_Type(api()->EpDevice_Device(all[0])), OrtHardwareDeviceType_CPU);
  EXPECT_NE(refused("good").find("registered as 'good' already"), std::string::npos);
}

TEST_F(Plugin, RunsWhatItTookAndTheCpuTheRest) {
  start("good");
  EXPECT_EQ(assigned(kName), (Ops{"Add", "Add", "Mul"}));
  EXPECT_EQ(assigned("CPUExecutionProvider"), Ops{"Abs"});
  expect_right();
}

TEST_F(Plugin, ConstantsCanBeInputs) {
  start("keeps_constants");
  EXPECT_EQ(assigned(kName), (Ops{"Add", "Add", "Mul"}));
  expect_right();
}

TEST_F(Plugin, ClaimsNothing) {
  start("claims_nothing");
  EXPECT_EQ(assigned(kName), Ops{});
  expect_right();
}

TEST_F(Plugin, OursCapabilityFailsAndTheCpuRunsAll) {
  start("fails_capability");
  EXPECT_EQ(assigned(kName), Ops{});
  expect_right();
}

TEST_F(Plugin, OursCompileFailsAndTheCpuRunsAll) {
  start("fails_compile");
  EXPECT_EQ(assigned(kName), Ops{});
  expect_right();
}

TEST_F(Plugin, OursAGroupThatFailsInCompileIsSplit) {
  start("fails_long_groups");
  EXPECT_EQ(assigned(kName), (Ops{"Add", "Add", "Mul"}));  // in pieces
  expect_right();
}

TEST_F(Plugin, OursGroupAroundAForeignNodeIsRefused) {
  start("claims_all_as_one");
  EXPECT_EQ(assigned(kName), Ops{});
  expect_right();
}

TEST_F(Plugin, ComputeFails) {
  start("fails_compute");
  const std::string text = run_error();
  EXPECT_NE(text.find("TestExecutionProvider could not compute Mul 'Mul_m', Add 'Add_a': this provider never computes"),
            std::string::npos)
      << text;
}

TEST_F(Plugin, OursNoFallbackNamesTheNodeAndTheReason) {
  add("fails_compile");
  choose();
  OK(api()->AddSessionConfigEntry(options, "session.disable_cpu_ep_fallback", "1"));
  const std::string text = message(load());
  EXPECT_NE(text.find("fallback to CPU EP has been explicitly disabled"), std::string::npos) << text;
  EXPECT_NE(text.find("this provider never compiles"), std::string::npos) << text;
}

TEST_F(Plugin, OursStrictPlacementWantsAllOnTheFirst) {
  add("good");
  choose();
  OK(api()->AddSessionConfigEntry(options, "session.strict_placement", "1"));
  const std::string text = message(load());
  EXPECT_NE(text.find("Abs 'Abs_p' is not on TestExecutionProvider"), std::string::npos) << text;
}

TEST_F(Plugin, OptionsReachIt) {
  add("good");
  choose({"refuse"}, {"1"});
  const std::string text = message(load());
  EXPECT_NE(text.find("it was told to refuse"), std::string::npos) << text;
}

TEST_F(Plugin, OursStaysWhileASessionLives) {
  start("good");
  const std::string text = message(api()->UnregisterExecutionProviderLibrary(env, "good"));
  EXPECT_EQ(text, "the plugin 'good' is in use by 1 session: 'tiny'");
  expect_right();
}

TEST_F(Plugin, TwiceInOneProcess) {
  for (int i = 0; i < 2; ++i) {
    start("good");
    expect_right();
    api()->ReleaseSession(std::exchange(session, nullptr));
    OK(api()->UnregisterExecutionProviderLibrary(env, "good"));
    registered.clear();
    api()->ReleaseSessionOptions(options);
    OK(api()->CreateSessionOptions(&options));
    OK(api()->AddSessionConfigEntry(options, "session.record_ep_graph_assignment_info", "1"));
  }
}

TEST_F(Plugin, NoDeviceIsNoError) {
  add("no_device");
  EXPECT_TRUE(devices().empty());
}

TEST_F(Plugin, OursALibraryThatLacksWhatItNeeds) {
  const std::string text = refused("x", ABI_NEEDS_ABSENT);
  EXPECT_NE(text.find("needs the library 'libtrunnion_absent.so.7' (version 7 of libtrunnion_absent), which is not "
                      "found"),
            std::string::npos)
      << text;
}

TEST_F(Plugin, OursAFileThatIsNoLibrary) {
  const std::string text = refused("x", __FILE__);
  EXPECT_NE(text.find("cannot load the library"), std::string::npos) << text;
}

TEST_F(Plugin, OursAStateThatCannotBeMadeGoesToTheCpu) {
  start("fails_state");
  EXPECT_EQ(assigned(kName), Ops{});
  expect_right();
}

TEST_F(Plugin, OursAnExecutionProviderThatIsNone) {
  add("wrong_ep_version");
  choose();
  const std::string text = message(load());
  EXPECT_NE(text.find("the execution provider 'TestExecutionProvider' cannot start: the execution provider says that "
                      "it was built with version 7 of the API"),
            std::string::npos)
      << text;
}

TEST_F(Plugin, OursAMisspeltProvider) {
  add("good");
  const std::string text =
      message(api()->SessionOptionsAppendExecutionProvider(options, "TestExecutionProvder", nullptr, nullptr, 0));
  EXPECT_NE(text.find("did you mean 'TestExecutionProvider'?"), std::string::npos) << text;
}

TEST_F(Plugin, OursBadLibraries) {
  EXPECT_NE(refused("x", "/no/such/library.so").find("does not exist"), std::string::npos);
  EXPECT_NE(refused("x", ABI_CUSTOM_LIBRARY).find("does not export CreateEpFactories"), std::string::npos);
  EXPECT_NE(refused("no_factories").find("made no factory"), std::string::npos);
  EXPECT_NE(refused("fails_factories").find("the driver is missing"), std::string::npos);
  EXPECT_NE(refused("fails_devices").find("the devices are asleep"), std::string::npos);
  EXPECT_NE(refused("wrong_version").find("version 1485201264 of the API"), std::string::npos);
  EXPECT_NE(message(api()->UnregisterExecutionProviderLibrary(env, "x")).find("no plugin is registered as 'x'"),
            std::string::npos);
}

}  // namespace
