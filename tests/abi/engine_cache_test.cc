// The cache of engines, with the plugin that the build makes of engine_library.c: entries that are used, and all the
// ways in which one is not. docs/engine_cache.md tells the rules.
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <sstream>

#include "plugin_fixture.h"
#include "tiny_model.h"
#include "trunnion/trunnion.h"

namespace {

constexpr const char* kHere = "TEST_ENGINE_FOLDER";  // of a child process

std::string content(const std::string& path) {
  std::ifstream f(path, std::ios::binary);
  std::stringstream s;
  s << f.rdbuf();
  return s.str();
}
void write(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

struct OursEngines : PluginTest {
  std::string folder, log_file, log, config_key, config_value;
  std::mutex mutex;

  OursEngines() : PluginTest(ABI_ENGINE_LIBRARY, "EngineExecutionProvider") {}

  void SetUp() override {
    const char* given = std::getenv(kHere);
    folder = given ? given : testing::TempDir() + "trunnion_engines_" + std::to_string(::getpid());
    if (!given) clear();
    ::mkdir(folder.c_str(), 0777);
    log_file = folder + "/calls.txt";
    ::setenv("TEST_ENGINE_LOG", log_file.c_str(), 1);
    const auto sink = [](void* self, OrtLoggingLevel level, const char*, const char*, const char*, const char* text) {
      auto& t = *static_cast<OursEngines*>(self);
      const std::lock_guard lock(t.mutex);
      if (std::string(text).starts_with("engine cache")) t.log += (level > 1 ? "W " : "I ") + std::string(text) + "\n";
    };
    OK(api()->CreateEnvWithCustomLogger(sink, this, ORT_LOGGING_LEVEL_INFO, "engines", &env));
    OK(api()->CreateSessionOptions(&options));
    OK(api()->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &cpu));
  }
  void TearDown() override {
    PluginTest::TearDown();
    if (!std::getenv(kHere)) clear();
  }

  std::vector<std::string> names(const std::string& end = "") const {
    std::vector<std::string> found;
    DIR* dir = ::opendir(folder.c_str());
    while (const dirent* e = dir ? ::readdir(dir) : nullptr)
      if (const std::string name = e->d_name; name[0] != '.' && name.ends_with(end)) found.push_back(name);
    if (dir) ::closedir(dir);
    return found;
  }
  void clear() {
    for (const auto& name : names()) ::unlink((folder + "/" + name).c_str());
    ::rmdir(folder.c_str());
  }
  std::string entry() const {
    const auto all = names(".trn");
    return all.empty() ? "" : folder + "/" + all.front();
  }
  int calls(const std::string& what) const {
    std::istringstream lines(content(log_file));
    int n = 0;
    for (std::string line; std::getline(lines, line);) n += line == what;
    return n;
  }

  std::string report;
  // A session from beginning to end; what it logged of the cache.
  std::string session_of(const std::string& mode, std::vector<std::pair<const char*, std::string>> config = {}) {
    log.clear();
    ::unlink(log_file.c_str());
    api()->ReleaseSessionOptions(options);
    EXPECT_EQ(message(api()->CreateSessionOptions(&options)), "");
    config.insert(config.begin(), {"session.cache_dir", folder});
    for (const auto& [key, value] : config)
      EXPECT_EQ(message(api()->AddSessionConfigEntry(options, key, value.c_str())), "");
    start(mode, model());
    if (!session) return log;
    const auto* extras = TrunnionGetApi(TRUNNION_API_VERSION);
    OrtAllocator* allocator = nullptr;
    char* json = nullptr;
    EXPECT_EQ(message(api()->GetAllocatorWithDefaultOptions(&allocator)), "");
    EXPECT_EQ(message(extras->SessionPlacementJson(session, allocator, &json)), "");
    report = json ? json : "";
    const auto at = report.find("\"engines\":");
    report =
        at == std::string::npos ? "" : report.substr(at + 10, report.find(']', report.find("reason", at)) - at - 9);
    allocator->Free(allocator, json);
    expect_each([](float v) { return std::abs(v * 2 - 3) + v * 2; });
    unload();
    return log;
  }
  void expect(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << "not there: " << part << "\nin " << text;
  }
  void expect_compiled(int compiled, int read) {
    EXPECT_EQ(calls("compiled"), compiled);
    EXPECT_EQ(calls("read"), read);
  }
  // What is there is not used, for this reason, and is made again.
  void expect_ignored(const std::string& why) {
    const std::string text = session_of("engine");
    expect(text, "W engine cache: ignored, " + entry() + ": " + why + "\n");
    expect(text, "I engine cache: written, " + entry());
    expect_compiled(2, 0);
    expect(report, R"("cache":"ignored","reason":")" + why + R"(","stored":true)");
    expect(session_of("engine"), "I engine cache: hit, ");
  }
};

TEST_F(OursEngines, WrittenOnceThenRead) {
  (void)session_of("engine");
  expect(log, "I engine cache: miss, " + entry() + ": there is no entry\n");
  expect(log, "I engine cache: written, " + entry());
  expect_compiled(2, 0);
  expect(report,
         R"([{"provider":"EngineExecutionProvider","regions":[0,1],"cache":"miss","reason":"there is no entry",)"
         R"("stored":true}])");
  for (int i = 0; i < 2; ++i) {
    expect(session_of("engine"), "I engine cache: hit, " + entry() + ": 2 regions of EngineExecutionProvider, ready");
    expect_compiled(0, 2);
    expect(report, R"("regions":[0,1],"cache":"hit")");
  }
  EXPECT_EQ(names().size(), 2u);  // the entry and the list of calls
}

TEST_F(OursEngines, OffUnlessAskedFor) {
  start("engine", model());
  EXPECT_EQ(log, "");
  EXPECT_TRUE(names(".trn").empty());
}

TEST_F(OursEngines, FilesBesideAreTakenIn) {
  expect(session_of("engine_files"), "I engine cache: written");
  expect(session_of("engine_files"), "I engine cache: hit");
  expect_compiled(0, 2);
  EXPECT_EQ(names().size(), 2u);
}

TEST_F(OursEngines, TornAnywhere) {
  (void)session_of("engine");
  const std::string path = entry(), whole = content(path);
  const size_t header = 88, blob = 128;
  const auto cut = [&](size_t size) { write(path, whole.substr(0, size)); };
  const auto flip = [&](size_t at) {
    std::string bad = whole;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    write(path, bad);
  };
  cut(0);
  expect_ignored("the entry is torn: it has 0 bytes");
  cut(40);
  expect_ignored("the entry is torn: it has 40 bytes");
  for (const size_t size : {header, whole.size() / 2, whole.size() - 1}) {
    cut(size);
    expect_ignored("the entry is torn: it has " + std::to_string(size) + " bytes, its header says " +
                   std::to_string(whole.size()));
  }
  flip(0);
  expect_ignored("the file is no entry of this cache");
  flip(8);
  expect_ignored("the entry has format version 17, this engine writes 1");
  for (const size_t at : {size_t{16}, size_t{32}, size_t{40}, size_t{48}, size_t{56}, size_t{80}}) {
    flip(at);
    expect_ignored("the entry is torn: its header is not whole");
  }
  flip(header + 4);  // between header and blob
  expect_ignored("the entry is torn: its engine is not whole");
  flip(blob + 700);
  expect_ignored("the entry is torn: its engine is not whole");
  flip(whole.size() - 1);
  expect_ignored("the entry is torn: its index is not whole");
  flip(whole.size() - 200);
  expect_ignored("the entry is torn: its index is not whole");
  write(path,
        "something else that lies under this name and is long enough to have a header of eighty-eight bytes......");
  expect_ignored("the file is no entry of this cache");
}

TEST_F(OursEngines, ForeignUnderTheName) {
  (void)session_of("engine");
  const std::string path = entry();
  (void)session_of("engine", {{"ep.engineexecutionprovider.level", "2"}});
  for (const auto& name : names(".trn"))
    if (folder + "/" + name != path) ::rename((folder + "/" + name).c_str(), path.c_str());
  expect_ignored("the entry is that of another model, provider, device or set of options");
}

TEST_F(OursEngines, OtherVersionsOptionsAndDevicesHaveTheirOwn) {
  const auto differs = [&](const std::string& mode, const std::string& what,
                           std::vector<std::pair<const char*, std::string>> config = {}) {
    clear();
    ::mkdir(folder.c_str(), 0777);
    (void)session_of("engine");
    expect(session_of(mode, config), "there is no entry; of the nearest one, " + what + "\n");
    expect_compiled(2, 0);
    expect(log, "I engine cache: written");
    EXPECT_EQ(names(".trn").size(), 2u);
    expect(session_of(mode, config), "I engine cache: hit");
    expect(session_of("engine"), "I engine cache: hit");
  };
  differs("engine_v2", "the version of EngineExecutionProvider is '1.0' there, '1.1' here");
  differs("engine_driver",
          "what the provider says of the device is 'driver=550.1, version=1.0' there, "
          "'driver=551.2, version=1.0' here");
  differs("engine_old_driver",
          "what the provider has against the device is not given there, "
          "'reasons 1, code 7: the driver is old' here");
  differs("engine", "'ep.engineexecutionprovider.level' is not given there, '2' here",
          {{"ep.engineexecutionprovider.level", "2"}});
}

TEST_F(OursEngines, TheEnvironmentCounts) {
  (void)session_of("engine");
  OrtKeyValuePairs* entries = nullptr;
  api()->CreateKeyValuePairs(&entries);
  api()->AddKeyValuePair(entries, "power", "low");
  OrtEnvCreationOptions how{};
  how.version = ORT_API_VERSION;
  how.logging_severity_level = ORT_LOGGING_LEVEL_FATAL;
  how.log_id = "other";
  how.config_entries = entries;
  OrtEnv* other = nullptr;
  OK(api()->CreateEnvWithOptions(&how, &other));
  api()->ReleaseKeyValuePairs(entries);
  expect(session_of("engine"),
         "there is no entry; of the nearest one, the environment's 'power' is not given there, 'low' here\n");
  expect(session_of("engine"), "I engine cache: hit");
  EXPECT_EQ(names(".trn").size(), 2u);
  api()->ReleaseEnv(other);
}

TEST_F(OursEngines, RefusedByTheProvider) {
  (void)session_of("engine");
  const auto refused = [&](const std::string& mode, const std::string& why) {
    expect(session_of(mode), "W engine cache: ignored, " + entry() + ": " + why + "\n");
    expect_compiled(2, 0);
    expect(log, "I engine cache: written");
    expect(report, R"("cache":"ignored")");
  };
  refused("engine_refuses", "EngineExecutionProvider refuses the engine: this engine is of another day");
  refused("engine_takes_none", "EngineExecutionProvider does not take the com.microsoft::EPContext '0' that it wrote");
  refused("engine_unsupported", "EngineExecutionProvider says that the engine is not supported here any more");
  refused("engine_recompile", "EngineExecutionProvider says that the engine is better compiled again");
}

TEST_F(OursEngines, ProvidersThatWriteNone) {
  expect(session_of("engine_none"), "I engine cache: not cached: EngineExecutionProvider writes no engine\n");
  expect(report, R"("regions":[0,1],"cache":"off","reason":"not cached: provider writes no engine","stored":false)");
  expect(session_of("engine_never"),
         "W engine cache: EngineExecutionProvider writes no engine: this device has no engines\n");
  expect(report, R"("cache":"off","reason":"not cached: this device has no engines")");
  expect(session_of("engine_fails_writing"),
         "W engine cache: EngineExecutionProvider writes no engine: Compile failed: no room for engines\n");
  expect_compiled(2, 0);
  EXPECT_TRUE(names(".trn").empty());
}

TEST_F(OursEngines, ProvidersThatStartOnlyOnce) {
  for (int i = 0; i < 2; ++i) {
    expect(session_of("engine_once"),
           "W engine cache: EngineExecutionProvider writes no engine: this device is given once\n");
    expect_compiled(0, 0);  // the CPU has all
  }
  EXPECT_TRUE(names(".trn").empty());
}

TEST_F(OursEngines, OldEntriesGo) {
  (void)session_of("engine");
  const std::string first = entry();
  const auto size = content(first).size();
  const std::string limit = std::to_string(size * 3 / 2);
  expect(session_of("engine_v2", {{"session.cache_max_bytes", limit}}),
         "I engine cache: removed " + first.substr(folder.size() + 1) + " (" + std::to_string(size) +
             " bytes): the limit is " + limit + " bytes\n");
  EXPECT_EQ(names(".trn").size(), 1u);
  EXPECT_NE(entry(), first);
  expect(session_of("engine", {{"session.cache_max_bytes", "100"}}),
         "bytes of engines are more than the limit of 100\n");
  EXPECT_EQ(names(".trn").size(), 1u);
}

TEST_F(OursEngines, AFolderThatCannotBeWritten) {
  write(folder + "/file", "x");
  const std::string path = folder + "/file/cache";
  const std::string text = session_of("engine", {{"session.cache_dir", path}});
  expect(text, "W engine cache: EngineExecutionProvider writes no engine: ");
  expect(text, path);
  expect(text, "Not a directory\n");
  expect_compiled(2, 0);
}

TEST_F(OursEngines, ContextsOfTheUserWin) {
  const std::string text =
      session_of("engine", {{"ep.context_enable", "1"}, {"ep.context_file_path", folder + "/model_ctx.onnx"}});
  EXPECT_EQ(text, "I engine cache: not used: ep.context_enable is given\n");
  EXPECT_EQ(names(".trn").size(), 0u);
  EXPECT_EQ(names("model_ctx.onnx").size(), 1u);
  EXPECT_EQ(session_of("engine", {{"ep.share_ep_contexts", "1"}}),
            "I engine cache: not used: ep.share_ep_contexts is given\n");
}

TEST_F(OursEngines, WaitsForOthersButNotForEver) {
  (void)session_of("engine");
  const std::string path = entry(), lock = path + ".lock";
  ::unlink(path.c_str());
  write(lock, "");  // of a process that is gone
  expect(session_of("engine"), "I engine cache: written");
  EXPECT_EQ(log.find("waiting"), std::string::npos);
  ::unlink(path.c_str());
  const int held = ::open(lock.c_str(), O_RDWR | O_CREAT, 0666);
  ASSERT_EQ(::flock(held, LOCK_EX), 0);
  const std::string text = session_of("engine", {{"session.cache_wait_seconds", "1"}});
  expect(text, "I engine cache: another session makes " + path + ": waiting for it, 1 s at most\n");
  expect(text, "W engine cache: another session makes " + path + " and is not done after 1 s: not waited for\n");
  expect(text, "I engine cache: written");
  expect_compiled(2, 0);
  ::close(held);
}

TEST_F(OursEngines, DISABLED_OneOfTwoProcesses) { (void)session_of("engine_slow"); }

TEST_F(OursEngines, TwoProcessesCompileOnce) {
  if (std::getenv("TRUNNION_MEMCHECK"))
    GTEST_SKIP() << "there /proc/self/exe is valgrind, which cannot be run by itself";
  ::setenv(kHere, folder.c_str(), 1);
  std::vector<pid_t> children;
  for (int i = 0; i < 2; ++i) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::execl("/proc/self/exe", "abi_test", "--gtest_filter=OursEngines.DISABLED_OneOfTwoProcesses",
              "--gtest_also_run_disabled_tests", "--gtest_brief=1", static_cast<char*>(nullptr));
      ::_exit(127);
    }
    children.push_back(pid);
  }
  for (const pid_t pid : children) {
    int status = 1;
    ::waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
  }
  ::unsetenv(kHere);
  expect_compiled(2, 2);
  EXPECT_EQ(names(".trn").size(), 1u);
}

}  // namespace
