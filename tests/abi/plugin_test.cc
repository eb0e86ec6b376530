// Plugins of execution providers: the library that the build makes of plugin_library.c, under the names that say how it
// behaves.
#include <cmath>
#include <cstring>
#include <map>
#include <string>

#include "plugin_fixture.h"
#include "tiny_model.h"

namespace {

constexpr const char* kName = "TestExecutionProvider";

struct Plugin : PluginTest {
  Plugin() : PluginTest(ABI_PLUGIN_LIBRARY, kName) {}
  void TearDown() override {
    unload();
    EXPECT_TRUE(devices().empty());
    PluginTest::TearDown();
  }

  std::string refused(const std::string& mode, const char* library = ABI_PLUGIN_LIBRARY) {
    return message(api()->RegisterExecutionProviderLibrary(env, mode.c_str(), library));
  }
  OrtStatus* load() { return PluginTest::load(model()); }
  void start(const std::string& mode) { PluginTest::start(mode, model()); }

  std::string run_error() { return message(run({1, -2, 5}, nullptr)); }
  void expect_right() {
    expect_each([](float v) { return std::abs(v * 2 - 3) + v * 2; });
  }
};

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

TEST_F(Plugin, DynamicOptionsReachIt) {
  start("good");
  const char *key = "ep.dynamic.speed", *high = "high", *other = "odd";
  OK(api()->SetEpDynamicOptions(session, &key, &high, 1));
  EXPECT_NE(message(api()->SetEpDynamicOptions(session, &key, &other, 1)).find("a speed that it does not have"),
            std::string::npos);
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
    unload();
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

// The compile API over a provider that compiles: the model with EPContext nodes comes out, and runs without compiling.
struct Contexts : Plugin {
  const OrtCompileApi* compile = api()->GetCompileApi();
  std::map<std::string, std::string> files;
  std::string compiled;

  static OrtStatus* ORT_API_CALL write(void* state, const char* name, const void* data, size_t size) {
    static_cast<Contexts*>(state)->files[name] = {static_cast<const char*>(data), size};
    return nullptr;
  }
  static OrtStatus* ORT_API_CALL read(void* state, const char* name, OrtAllocator* allocator, void** data,
                                      size_t* size) {
    const auto& files = static_cast<Contexts*>(state)->files;
    const auto it = files.find(name);
    if (it == files.end()) return api()->CreateStatus(ORT_NO_SUCHFILE, "the client has no such data");
    *size = it->second.size();
    *data = allocator->Alloc(allocator, *size);
    std::memcpy(*data, it->second.data(), *size);
    return nullptr;
  }
  // What CompileModel makes of model(); it goes to `allocator` when the test is done with it.
  OrtAllocator* allocator = nullptr;
  OrtModelCompilationOptions* o = nullptr;
  std::string bytes;
  void* out = nullptr;
  size_t size = 0;
  void begin() {
    choose();
    bytes = model();
    OK(api()->GetAllocatorWithDefaultOptions(&allocator));
    OK(compile->CreateModelCompilationOptionsFromSessionOptions(env, options, &o));
    OK(compile->ModelCompilationOptions_SetInputModelFromBuffer(o, bytes.data(), bytes.size()));
    OK(compile->ModelCompilationOptions_SetOutputModelBuffer(o, allocator, &out, &size));
    OK(compile->ModelCompilationOptions_SetFlags(o, OrtCompileApiFlags_ERROR_IF_NO_NODES_COMPILED));
  }
  void end() {
    allocator->Free(allocator, out);
    compile->ReleaseModelCompilationOptions(o);
  }
  void make(bool embed, bool with_writer) {
    add("contexts");
    begin();
    OK(compile->ModelCompilationOptions_SetEpContextEmbedMode(o, embed));
    if (with_writer) {
      OK(compile->ModelCompilationOptions_SetEpContextBinaryInformation(o, "there", "m.onnx"));
      OK(compile->ModelCompilationOptions_SetEpContextDataWriteFunc(o, write, this));
    }
    OK(compile->CompileModel(env, o));
    compiled.assign(static_cast<const char*>(out), size);
    end();
    EXPECT_NE(compiled.find("EPContext"), std::string::npos);
    EXPECT_EQ(compiled.find("Mul"), std::string::npos);
  }
};

TEST_F(Contexts, InTheModel) {
  make(true, false);
  EXPECT_TRUE(files.empty());
  OK(PluginTest::load(compiled));
  EXPECT_EQ(assigned(kName), (Ops{"EPContext", "EPContext"}));
  expect_right();
}

TEST_F(Contexts, ThroughTheClientsFunctions) {
  make(false, true);
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files.begin()->first.rfind("there/m.onnx", 0), 0u) << files.begin()->first;
  OK(api()->SessionOptionsSetEpContextDataReadFunc(options, read, this));
  OK(PluginTest::load(compiled));
  expect_right();
  api()->ReleaseSession(std::exchange(session, nullptr));
  files.erase(files.begin());
  const std::string text = message(PluginTest::load(compiled));
  EXPECT_NE(text.find("the client has no such data"), std::string::npos) << text;
}

TEST_F(Contexts, ProvidersThatTakeNothingCompileNothing) {
  add("claims_nothing");
  begin();
  EXPECT_NE(message(compile->CompileModel(env, o)).find("Unable to compile any nodes"), std::string::npos);
  OK(compile->ModelCompilationOptions_SetFlags(o, OrtCompileApiFlags_NONE));
  OK(compile->CompileModel(env, o));
  OK(PluginTest::load({static_cast<const char*>(out), size}));
  expect_right();
  end();
}

}  // namespace
