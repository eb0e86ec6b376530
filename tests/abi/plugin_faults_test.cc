// What goes wrong with plugins, each with the whole message: an error where something was asked for and cannot be had,
// a line of the log where work goes on otherwise.
#include <fstream>
#include <sstream>
#include <string>

#include "plugin_fixture.h"
#include "tiny_model.h"

namespace {

constexpr const char* kName = "TestExecutionProvider";

struct PluginFaults : PluginTest {
  PluginFaults() : PluginTest(ABI_PLUGIN_LIBRARY, kName) {}
  OrtEnv* quiet = nullptr;
  std::string lines;  // warnings, one each

  static void ORT_API_CALL keep(void* self, OrtLoggingLevel level, const char*, const char*, const char*,
                                const char* text) {
    if (level >= ORT_LOGGING_LEVEL_WARNING) static_cast<PluginFaults*>(self)->lines += std::string(text) + "\n";
  }
  void SetUp() override {
    PluginTest::SetUp();
    quiet = env;
    OK(api()->CreateEnvWithCustomLogger(keep, this, ORT_LOGGING_LEVEL_WARNING, "faults", &env));
  }
  void TearDown() override {
    unload();
    api()->ReleaseEnv(std::exchange(env, quiet));
    PluginTest::TearDown();
  }

  std::string refused(const std::string& mode, const std::string& library = ABI_PLUGIN_LIBRARY) {
    return message(api()->RegisterExecutionProviderLibrary(env, mode.c_str(), library.c_str()));
  }
  void config(const char* key, const char* value) { OK(api()->AddSessionConfigEntry(options, key, value)); }
  std::string load_error() { return message(load(model())); }
  // The reasons in the line about the placement.
  std::string summary() {
    const auto at = lines.find("4 nodes: ");
    return at == std::string::npos ? "no line" : lines.substr(at, lines.find('\n', at) - at);
  }
};

TEST_F(PluginFaults, OursMissingLibrary) {
  EXPECT_EQ(refused("x", "/no/such/library.so"),
            "the library '/no/such/library.so' of execution providers does not exist");
}

TEST_F(PluginFaults, OursMissingLibraryByItsNameAlone) {
  const std::string text = refused("x", "libno_such_plugin.so");
  EXPECT_EQ(text.find("the library 'libno_such_plugin.so' of execution providers does not exist: it is not in the "
                      "current folder, not beside the engine (/"),
            0u)
      << text;
  EXPECT_NE(text.find("), and not where the loader looks (LD_LIBRARY_PATH and the system's folders)"),
            std::string::npos)
      << text;
}

TEST_F(PluginFaults, OursANameAloneIsFoundBesideTheEngine) {
  const std::string path = ABI_PLUGIN_LIBRARY;
  OK(api()->RegisterExecutionProviderLibrary(env, "good", path.substr(path.rfind('/') + 1).c_str()));
  EXPECT_EQ(devices().size(), 1u);
  OK(api()->UnregisterExecutionProviderLibrary(env, "good"));
}

TEST_F(PluginFaults, OursMissingDependency) {
  EXPECT_EQ(refused("x", ABI_NEEDS_ABSENT),
            std::string("the plugin '") + ABI_NEEDS_ABSENT +
                "' needs the library 'libtrunnion_absent.so.7' (version 7 of libtrunnion_absent), which is not found: "
                "it must be installed, be in a folder of LD_LIBRARY_PATH, or be loaded before");
}

TEST_F(PluginFaults, OursNoPlugin) {
  EXPECT_EQ(refused("x", ABI_CUSTOM_LIBRARY), std::string("'") + ABI_CUSTOM_LIBRARY +
                                                  "' is no plugin of execution providers: it does not export "
                                                  "CreateEpFactories");
}

TEST_F(PluginFaults, OursWrongVersion) {
  EXPECT_EQ(refused("wrong_version"), std::string("a factory of '") + ABI_PLUGIN_LIBRARY +
                                          "' says that it was built with version 1485201264 of the API, which is none "
                                          "from 22 to 199");
}

TEST_F(PluginFaults, OursNoFactories) {
  EXPECT_EQ(refused("no_factories"), std::string("CreateEpFactories of '") + ABI_PLUGIN_LIBRARY +
                                         "' made no factory: it may be built for another version of the API than 32");
}

TEST_F(PluginFaults, OursFactoriesFail) {
  EXPECT_EQ(refused("fails_factories"),
            std::string("CreateEpFactories of '") + ABI_PLUGIN_LIBRARY + "': the driver is missing");
}

TEST_F(PluginFaults, OursNoDevice) {
  add("no_device");
  EXPECT_EQ(lines,
            std::string("the plugin 'no_device' (") + ABI_PLUGIN_LIBRARY + ") found no device that it can use\n");
  EXPECT_TRUE(devices().empty());
}

TEST_F(PluginFaults, OursDevicesFail) {
  EXPECT_EQ(refused("fails_devices"),
            std::string("GetSupportedDevices of '") + ABI_PLUGIN_LIBRARY + "': the devices are asleep");
}

TEST_F(PluginFaults, OursMisspeltProvider) {
  add("good");
  EXPECT_EQ(message(api()->SessionOptionsAppendExecutionProvider(options, "TestExecutionProvder", nullptr, nullptr, 0)),
            "TestExecutionProvder execution provider is not supported in this build. Providers: CPUExecutionProvider, "
            "TestExecutionProvider (did you mean 'TestExecutionProvider'?)");
}

TEST_F(PluginFaults, OursMisspeltOptionOfAPlugin) {
  add("good");
  choose({"refusee"}, {"1"});
  OK(load(model()));
  const std::string line =
      "the option 'refusee' of TestExecutionProvider has no effect: the provider did not look at it (did you mean "
      "'refuse'?)";
  EXPECT_NE(lines.find(line + "\n"), std::string::npos) << lines;
  api()->ReleaseSession(std::exchange(session, nullptr));
  config("session.strict_config", "1");
  EXPECT_EQ(load_error(), line);
}

TEST_F(PluginFaults, OursOptionOfTheCpu) {
  const char *key = "use_arena", *value = "x";
  OK(api()->SessionOptionsAppendExecutionProvider(options, "CPU", &key, &value, 1));
  EXPECT_EQ(load_error(),
            "the option 'use_arena' of CPUExecutionProvider may be 0, 1, true, false, True, False, it is 'x'");
}

TEST_F(PluginFaults, OursRefusesToStart) {
  add("good");
  choose({"refuse"}, {"1"});
  EXPECT_EQ(load_error(), "the execution provider 'TestExecutionProvider' cannot start: it was told to refuse");
}

TEST_F(PluginFaults, OursWrongVersionOfTheProvider) {
  add("wrong_ep_version");
  choose();
  EXPECT_EQ(load_error(),
            "the execution provider 'TestExecutionProvider' cannot start: the execution provider says that it was "
            "built with version 7 of the API, which is none from 22 to 199");
}

TEST_F(PluginFaults, OursCapture) {
  add("captures");
  choose();
  EXPECT_EQ(load_error(),
            "the execution provider 'TestExecutionProvider' cannot start: TestExecutionProvider is set to capture its "
            "work once and to replay it (IsGraphCaptureEnabled), which needs values that lie at the same addresses in "
            "every run; here they do not: leave that option of the provider out");
}

TEST_F(PluginFaults, OursFailingCompile) {
  start("fails_compile", model());
  EXPECT_EQ(summary(),
            "4 nodes: 0 TestExecutionProvider, 4 CPUExecutionProvider (not on TestExecutionProvider: 2 Add, 1 Mul: "
            "Compile failed: this provider never compiles; 1 Abs: not supported by TestExecutionProvider)");
}

TEST_F(PluginFaults, OursFailingCompileWhereThatIsNotWanted) {
  add("fails_compile");
  choose();
  config("session.strict_placement", "1");
  EXPECT_EQ(load_error(),
            "session.strict_placement is 1, but Mul 'Mul_m' is not on TestExecutionProvider (TestExecutionProvider: "
            "Compile failed: this provider never compiles)");
}

TEST_F(PluginFaults, OursFailingCapability) {
  start("fails_capability", model());
  EXPECT_NE(lines.find("TestExecutionProvider: GetCapability failed: no capability today\n"), std::string::npos)
      << lines;
}

// Providers keep things from GetCapability to Compile, once: before each Compile they are asked again.
TEST_F(PluginFaults, OursAskedBeforeEachCompile) {
  start("asked_each_time", model());
  EXPECT_EQ(assigned(), (Ops{"Add", "Add", "Mul"}));
  EXPECT_EQ(summary().find("4 nodes: 3 TestExecutionProvider in 3 regions, 1 CPUExecutionProvider (not on "
                           "TestExecutionProvider: 1 Abs: not supported by TestExecutionProvider), 0 copies"),
            0u)
      << summary();
}

TEST_F(PluginFaults, OursFailingCompute) {
  start("fails_compute", model());
  const std::string text = message(run({1, -2, 5}, nullptr));
  EXPECT_EQ(text.substr(text.find("Status Message: ")),
            "Status Message: TestExecutionProvider could not compute Mul 'Mul_m', Add 'Add_a': this provider never "
            "computes");
}

TEST_F(PluginFaults, OursUnregisterWithALiveSession) {
  start("good", model());
  EXPECT_EQ(message(api()->UnregisterExecutionProviderLibrary(env, "good")),
            "the plugin 'good' is in use by 1 session: 'tiny'");
}

// The profile has the provider's own events beside those of its regions.
struct PluginProfile : PluginFaults {
  std::string profile() {
    OrtAllocator* allocator = nullptr;
    char* name = nullptr;
    EXPECT_EQ(message(api()->GetAllocatorWithDefaultOptions(&allocator)), "");
    EXPECT_EQ(message(api()->SessionEndProfiling(session, allocator, &name)), "");
    std::ostringstream text;
    text << std::ifstream(name).rdbuf();
    std::remove(name);
    allocator->Free(allocator, name);
    return text.str();
  }
  void start_with_profile(const std::string& mode) {
    OK(api()->EnableProfiling(options, (testing::TempDir() + "plugin_profile").c_str()));
    start(mode, model());
    OK(run({1, -2, 5}, nullptr));
  }
};

TEST_F(PluginProfile, HasTheProvidersEvents) {
  start_with_profile("profiles");
  const std::string text = profile();
  for (const char* part :
       {R"("cat" : "Kernel")", R"("tid" :7,"dur" :22,"ts" :11)", R"("name" :"multiplied \"and\" added")",
        R"("args" : {"started" : "2","stopped" : "2","provider" : "TestExecutionProvider"})"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST_F(PluginProfile, IsThereWithoutThem) {
  start_with_profile("fails_profiler");
  EXPECT_NE(lines.find("the profile is without what TestExecutionProvider measures: CreateProfiler: the counters are "
                       "taken\n"),
            std::string::npos)
      << lines;
  EXPECT_NE(profile().find("TestExecutionProvider"), std::string::npos);
}

}  // namespace
