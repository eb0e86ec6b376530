// Settings of sessions, runs and environments: each is asserted by what it changes.
// What is asserted here holds for ONNX Runtime 1.32.0 too, but for the tests named Ours.
#include <atomic>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "client.h"
#include "tiny_model.h"

namespace {

using tiny::Message, tiny::relu;

// y = x + w, with w float[2] in the file "w.bin", and x float[2].
std::string external(const char* file) {
  tiny::Graph g;
  g.inputs = {tiny::value_info("x", tiny::kFloat, {"2"})};
  g.outputs = {tiny::value_info("y", tiny::kFloat, {"2"})};
  g.initializers = {Message()
                        .integer(1, 2)
                        .integer(2, tiny::kFloat)
                        .bytes(8, "w")
                        .add(13, Message().bytes(1, "location").bytes(2, file))
                        .add(13, Message().bytes(1, "offset").bytes(2, "0"))
                        .add(13, Message().bytes(1, "length").bytes(2, "8"))
                        .integer(14, 1)};
  g.nodes = {tiny::node("Add", {"x", "w"}, {"y"})};
  return tiny::model(g);
}

struct Line {
  std::string id, text;
};
struct Lines {
  std::mutex mutex;
  std::vector<Line> all;
  static void ORT_API_CALL take(void* self, OrtLoggingLevel, const char*, const char* id, const char*,
                                const char* text) {
    auto* lines = static_cast<Lines*>(self);
    const std::lock_guard lock(lines->mutex);
    lines->all.push_back({id, text});
  }
  bool has_id(const std::string& id) {
    const std::lock_guard lock(mutex);
    for (const auto& l : all)
      if (l.id.find(id) != std::string::npos) return true;
    return false;
  }
};

struct Settings : testing::Test {
  OrtEnv* env = nullptr;
  OrtSessionOptions* options = nullptr;
  OrtAllocator* allocator = nullptr;
  OrtMemoryInfo* cpu = nullptr;
  OrtSession* session = nullptr;
  std::vector<OrtValue*> values;

  void SetUp() override {
    OK(api()->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "settings", &env));
    OK(api()->CreateSessionOptions(&options));
    OK(api()->GetAllocatorWithDefaultOptions(&allocator));
    OK(api()->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &cpu));
  }
  void TearDown() override {
    for (OrtValue* v : values) api()->ReleaseValue(v);
    api()->ReleaseSession(session);
    api()->ReleaseMemoryInfo(cpu);
    api()->ReleaseSessionOptions(options);
    api()->ReleaseEnv(env);
  }
  OrtStatus* load(const std::string& bytes) {
    api()->ReleaseSession(std::exchange(session, nullptr));
    return api()->CreateSessionFromArray(env, bytes.data(), bytes.size(), options, &session);
  }
  OrtValue* tensor(std::vector<float>& data) {
    const int64_t n = static_cast<int64_t>(data.size());
    OrtValue* v = nullptr;
    EXPECT_EQ(message(api()->CreateTensorWithDataAsOrtValue(cpu, data.data(), data.size() * 4, &n, 1,
                                                            ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &v)),
              "");
    values.push_back(v);
    return v;
  }
  std::vector<float> run(std::vector<float> x, const OrtRunOptions* run_options = nullptr) {
    OrtValue *in = tensor(x), *out = nullptr;
    const char *from = "x", *to = "y";
    EXPECT_EQ(message(api()->Run(session, run_options, &from, &in, 1, &to, 1, &out)), "");
    if (!out) return {};
    values.push_back(out);
    void* data = nullptr;
    EXPECT_EQ(code(api()->GetTensorMutableData(out, &data)), ORT_OK);
    return {static_cast<float*>(data), static_cast<float*>(data) + x.size()};
  }
  void runs() { EXPECT_EQ(run({-1, 2}), (std::vector<float>{0, 2})); }
  int64_t first_dimension() {
    OrtTypeInfo* type = nullptr;
    const OrtTensorTypeAndShapeInfo* info = nullptr;
    int64_t d = 0;
    EXPECT_EQ(code(api()->SessionGetInputTypeInfo(session, 0, &type)), ORT_OK);
    EXPECT_EQ(code(api()->CastTypeInfoToTensorInfo(type, &info)), ORT_OK);
    EXPECT_EQ(code(api()->GetDimensions(info, &d, 1)), ORT_OK);
    api()->ReleaseTypeInfo(type);
    return d;
  }
};

std::vector<std::string> files_with(const std::string& prefix) {
  std::vector<std::string> found;
  for (const auto& e : std::filesystem::directory_iterator(testing::TempDir()))
    if (e.path().filename().string().rfind(prefix, 0) == 0) found.push_back(e.path().string());
  return found;
}
void remove_with(const std::string& prefix) {
  for (const auto& f : files_with(prefix)) std::remove(f.c_str());
}

TEST_F(Settings, TheOptimizedModelIsWritten) {
  const std::string path = testing::TempDir() + "optimized.onnx";
  std::remove(path.c_str());
  OK(api()->SetOptimizedModelFilePath(options, path.c_str()));
  OK(load(relu()));
  api()->ReleaseSession(std::exchange(session, nullptr));
  OrtSessionOptions* plain = nullptr;
  OK(api()->CreateSessionOptions(&plain));
  OK(api()->CreateSession(env, path.c_str(), plain, &session));
  api()->ReleaseSessionOptions(plain);
  runs();
}

TEST_F(Settings, Profiling) {
  remove_with("abi_profile");
  const std::string prefix = testing::TempDir() + "abi_profile";
  OK(api()->EnableProfiling(options, prefix.c_str()));
  OK(load(relu()));
  uint64_t start = 0;
  OK(api()->SessionGetProfilingStartTimeNs(session, &start));
  EXPECT_GT(start, 0u);
  runs();
  char* file = nullptr;
  OK(api()->SessionEndProfiling(session, allocator, &file));
  EXPECT_EQ(std::string(file).rfind(prefix, 0), 0u);
  std::ifstream in(file);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_NE(text.find("Relu"), std::string::npos);
  allocator->Free(allocator, file);
  remove_with("abi_profile");
  OK(api()->DisableProfiling(options));
  OK(load(relu()));
  runs();
  api()->ReleaseSession(std::exchange(session, nullptr));
  EXPECT_TRUE(files_with("abi_profile").empty());
}

TEST_F(Settings, MemoryAndThreads) {
  int on = 9;
  OK(api()->DisableMemPattern(options));
  OK(api()->GetMemPatternEnabled(options, &on));
  EXPECT_EQ(on, 0);
  OK(api()->EnableMemPattern(options));
  OK(api()->GetMemPatternEnabled(options, &on));
  EXPECT_EQ(on, 1);
  OK(api()->DisableCpuMemArena(options));
  OK(load(relu()));
  runs();
  OK(api()->EnableCpuMemArena(options));
  OK(api()->SetInterOpNumThreads(options, 2));
  OK(api()->SetDeterministicCompute(options, true));
  OK(load(relu()));
  runs();
}

TEST_F(Settings, LogsOfASessionGoWhereItSays) {
  Lines lines;
  OK(api()->SetUserLoggingFunction(options, Lines::take, &lines));
  OK(api()->SetSessionLogId(options, "the-session"));
  OK(api()->SetSessionLogSeverityLevel(options, ORT_LOGGING_LEVEL_INFO));
  OK(api()->SetSessionLogVerbosityLevel(options, 1));
  OK(load(relu()));
  EXPECT_TRUE(lines.has_id("the-session"));
  api()->ReleaseSession(std::exchange(session, nullptr));
}

TEST_F(Settings, FreeDimensions) {
  OK(api()->AddFreeDimensionOverrideByName(options, "N", 2));
  OK(load(relu()));
  EXPECT_EQ(first_dimension(), 2);
  runs();
  // By denotation: field 3 of the dimension.
  const Message shape = Message().add(1, Message().bytes(2, "M").bytes(3, "DATA_BATCH"));
  const Message type = Message().integer(1, tiny::kFloat).add(2, shape);
  tiny::Graph g;
  g.inputs = {Message().bytes(1, "x").add(2, Message().add(1, type).bytes(6, "IMAGE"))};
  g.outputs = {tiny::value_info("y", tiny::kFloat, {"M"})};
  g.nodes = {tiny::node("Relu", {"x"}, {"y"})};
  OK(api()->AddFreeDimensionOverride(options, "DATA_BATCH", 2));
  OrtSessionOptions* fresh = nullptr;
  OK(api()->CreateSessionOptions(&fresh));
  OK(api()->AddFreeDimensionOverride(fresh, "DATA_BATCH", 2));
  std::swap(fresh, options);
  OK(load(tiny::model(g)));
  std::swap(fresh, options);
  api()->ReleaseSessionOptions(fresh);
  EXPECT_EQ(first_dimension(), 2);
  OrtTypeInfo* info = nullptr;
  OK(api()->SessionGetInputTypeInfo(session, 0, &info));
  const char* denotation = nullptr;
  size_t length = 0;
  OK(api()->GetDenotationFromTypeInfo(info, &denotation, &length));
  EXPECT_EQ(std::string(denotation, length), "IMAGE");
  api()->ReleaseTypeInfo(info);
}

TEST_F(Settings, WeightsFromMemory) {
  float w[] = {10, 20};
  const ORTCHAR_T* name = "w.bin";
  char* buffer = reinterpret_cast<char*>(w);
  const size_t size = sizeof w;
  OK(api()->AddExternalInitializersFromFilesInMemory(options, &name, &buffer, &size, 1));
  OK(load(external("w.bin")));
  EXPECT_EQ(run({1, 2}), (std::vector<float>{11, 22}));
}

TEST_F(Settings, WeightsAsValues) {
  std::vector<float> w = {10, 20};
  const OrtValue* value = tensor(w);
  const char* name = "w";
  OK(api()->AddExternalInitializers(options, &name, &value, 1));
  OK(load(external("there_is_no_such_file.bin")));
  EXPECT_EQ(run({1, 2}), (std::vector<float>{11, 22}));
}

TEST_F(Settings, LoadingCanBeCancelled) {
  OK(api()->SessionOptionsSetLoadCancellationFlag(options, true));
  CODE(load(relu()), ORT_MODEL_LOAD_CANCELED);
  OK(api()->SessionOptionsSetLoadCancellationFlag(options, false));
  OK(load(relu()));
}

TEST_F(Settings, ConfigEntriesAreListed) {
  OK(api()->AddSessionConfigEntry(options, "session.some.key", "value"));
  OrtKeyValuePairs* entries = nullptr;
  OK(api()->GetSessionOptionsConfigEntries(options, &entries));
  EXPECT_STREQ(api()->GetKeyValue(entries, "session.some.key"), "value");
  api()->ReleaseKeyValuePairs(entries);
}

TEST_F(Settings, PoliciesChooseTheCpu) {
  OK(api()->SessionOptionsSetEpSelectionPolicy(options, OrtExecutionProviderDevicePolicy_PREFER_CPU));
  OK(load(relu()));
  runs();
  static std::atomic<int> asked{0};
  const auto choose = [](const OrtEpDevice** devices, size_t n, const OrtKeyValuePairs* metadata,
                         const OrtKeyValuePairs*, const OrtEpDevice** selected, size_t most, size_t* count,
                         void* state) -> OrtStatus* {
    if (n == 0 || most == 0 || !metadata || state != &asked) return api()->CreateStatus(ORT_FAIL, "wrong arguments");
    ++asked;
    selected[0] = devices[n - 1];
    *count = 1;
    return nullptr;
  };
  OK(api()->SessionOptionsSetEpSelectionPolicyDelegate(options, choose, &asked));
  OK(load(relu()));
  EXPECT_EQ(asked, 1);
  runs();
  const char *key = "ep.dynamic.workload_type", *value = "Efficient";
  OK(api()->SetEpDynamicOptions(session, &key, &value, 1));
}

TEST_F(Settings, OursADelegateMayRefuse) {
  OK(api()->SessionOptionsSetEpSelectionPolicyDelegate(
      options,
      [](const OrtEpDevice**, size_t, const OrtKeyValuePairs*, const OrtKeyValuePairs*, const OrtEpDevice**, size_t,
         size_t*, void*) -> OrtStatus* { return api()->CreateStatus(ORT_FAIL, "none is good enough"); },
      nullptr));
  EXPECT_NE(message(load(relu())).find("none is good enough"), std::string::npos);
}

TEST_F(Settings, PrepackedWeightsContainers) {
  OrtPrepackedWeightsContainer* container = nullptr;
  OK(api()->CreatePrepackedWeightsContainer(&container));
  const std::string bytes = relu(), path = testing::TempDir() + "prepacked.onnx";
  OK(api()->CreateSessionFromArrayWithPrepackedWeightsContainer(env, bytes.data(), bytes.size(), options, container,
                                                                &session));
  runs();
  api()->ReleaseSession(std::exchange(session, nullptr));
  std::ofstream(path, std::ios::binary) << bytes;
  OK(api()->CreateSessionWithPrepackedWeightsContainer(env, path.c_str(), options, container, &session));
  runs();
  api()->ReleaseSession(std::exchange(session, nullptr));
  api()->ReleasePrepackedWeightsContainer(container);
  api()->ReleasePrepackedWeightsContainer(nullptr);
}

// A plugin that uses it is in plugin_test.cc; here, that providers are given what the client set.
TEST_F(Settings, ReadersOfCompiledData) {
  const OrtEpApi* ep = api()->GetEpApi();
  OrtEpContextConfig* config = nullptr;
  OrtReadNamedBufferFunc read = nullptr;
  OrtWriteNamedBufferFunc write = nullptr;
  void* state = this;
  OK(ep->SessionOptionsGetEpContextConfig(options, &config));
  OK(ep->EpContextConfigGetEpContextDataReadFunc(config, &read, &state));
  EXPECT_EQ(read, nullptr);
  EXPECT_EQ(state, nullptr);
  ep->ReleaseEpContextConfig(config);
  ep->ReleaseEpContextConfig(nullptr);

  const OrtReadNamedBufferFunc mine = [](void*, const char*, OrtAllocator*, void**, size_t*) -> OrtStatus* {
    return api()->CreateStatus(ORT_FAIL, "no provider here asks for any");
  };
  OK(api()->SessionOptionsSetEpContextDataReadFunc(options, mine, this));
  OK(ep->SessionOptionsGetEpContextConfig(options, &config));
  OK(ep->EpContextConfigGetEpContextDataReadFunc(config, &read, &state));
  EXPECT_EQ(read, mine);
  EXPECT_EQ(state, this);
  OK(ep->EpContextConfigGetEpContextDataWriteFunc(config, &write, &state));
  EXPECT_EQ(write, nullptr);
  EXPECT_EQ(state, nullptr);
  ep->ReleaseEpContextConfig(config);
  CODE(ep->SessionOptionsGetEpContextConfig(nullptr, &config), ORT_INVALID_ARGUMENT);
  CODE(ep->EpContextConfigGetEpContextDataReadFunc(nullptr, &read, &state), ORT_INVALID_ARGUMENT);
  OK(load(relu()));
  runs();
}

TEST_F(Settings, RunOptionsKeepTheirValues) {
  OrtRunOptions* run_options = nullptr;
  OK(api()->CreateRunOptions(&run_options));
  int got = -1;
  OK(api()->RunOptionsSetRunLogVerbosityLevel(run_options, 3));
  OK(api()->RunOptionsGetRunLogVerbosityLevel(run_options, &got));
  EXPECT_EQ(got, 3);
  OK(api()->RunOptionsSetRunLogSeverityLevel(run_options, ORT_LOGGING_LEVEL_ERROR));
  OK(api()->RunOptionsGetRunLogSeverityLevel(run_options, &got));
  EXPECT_EQ(got, ORT_LOGGING_LEVEL_ERROR);
  api()->RunOptionsSetSyncStream(run_options, nullptr);
  OK(load(relu()));
  EXPECT_EQ(run({-1, 2}, run_options), (std::vector<float>{0, 2}));
  api()->ReleaseRunOptions(run_options);
}

TEST_F(Settings, OneRunIsProfiled) {
  remove_with("abi_run");
  const std::string prefix = testing::TempDir() + "abi_run";
  OrtRunOptions* run_options = nullptr;
  OK(api()->CreateRunOptions(&run_options));
  OK(api()->RunOptionsEnableProfiling(run_options, prefix.c_str()));
  OK(load(relu()));
  run({-1, 2}, run_options);
  EXPECT_FALSE(files_with("abi_run").empty());
  remove_with("abi_run");
  OK(api()->RunOptionsDisableProfiling(run_options));
  run({-1, 2}, run_options);
  EXPECT_TRUE(files_with("abi_run").empty());
  api()->ReleaseRunOptions(run_options);
}

// Threads that the client makes, counted.
struct Threads {
  std::atomic<int> made{0}, joined{0};
  std::mutex mutex;
  std::vector<std::thread*> alive;

  static OrtCustomThreadHandle create(void* self, OrtThreadWorkerFn work, void* argument) {
    ++static_cast<Threads*>(self)->made;
    current() = static_cast<Threads*>(self);
    return reinterpret_cast<OrtCustomThreadHandle>(new std::thread(work, argument));
  }
  static void join(OrtCustomThreadHandle handle) {
    auto* thread = reinterpret_cast<std::thread*>(const_cast<struct OrtCustomHandleType*>(handle));
    thread->join();
    ++current()->joined;
    delete thread;
  }
  static Threads*& current() {
    static Threads* it = nullptr;
    return it;
  }
};

TEST_F(Settings, SessionsWithTheClientsThreads) {
  Threads threads;
  OK(api()->SetIntraOpNumThreads(options, 3));
  OK(api()->SessionOptionsSetCustomCreateThreadFn(options, Threads::create));
  OK(api()->SessionOptionsSetCustomThreadCreationOptions(options, &threads));
  OK(api()->SessionOptionsSetCustomJoinThreadFn(options, Threads::join));
  OK(load(relu()));
  run(std::vector<float>(4000000, 1.0f));
  EXPECT_EQ(threads.made, 2);
  api()->ReleaseSession(std::exchange(session, nullptr));
  EXPECT_EQ(threads.joined, 2);
}

struct Work {
  std::atomic<int> enqueued{0}, started{0}, stopped{0}, abandoned{0}, strange{0};
  void note(std::atomic<int>& count, const void* data) {
    ++count;
    strange += data != &enqueued;
  }
  OrtThreadPoolCallbacksConfig config() {
    OrtThreadPoolCallbacksConfig c{};
    c.version = ORT_API_VERSION;
    c.on_enqueue = [](void* user) -> void* {
      ++static_cast<Work*>(user)->enqueued;
      return &static_cast<Work*>(user)->enqueued;
    };
    c.on_start_work = [](void* user, void* data) {
      static_cast<Work*>(user)->note(static_cast<Work*>(user)->started, data);
    };
    c.on_stop_work = [](void* user, void* data) {
      static_cast<Work*>(user)->note(static_cast<Work*>(user)->stopped, data);
    };
    c.on_abandon = [](void* user, void* data) {
      static_cast<Work*>(user)->note(static_cast<Work*>(user)->abandoned, data);
    };
    c.user_context = this;
    return c;
  }
};

// The builds of others answer NOT_IMPLEMENTED.
TEST_F(Settings, OursWatchesTheWorkOfSessions) {
  Work work, global;
  OrtThreadPoolCallbacksConfig config = work.config();
  CODE(api()->SetPerSessionThreadPoolCallbacks(env, nullptr), ORT_INVALID_ARGUMENT);
  config.version = ORT_API_VERSION + 1;
  CODE(api()->SetPerSessionThreadPoolCallbacks(env, &config), ORT_INVALID_ARGUMENT);
  OK(api()->SetIntraOpNumThreads(options, 3));
  OK(load(relu()));  // before: it is not watched
  config.version = ORT_API_VERSION;
  OK(api()->SetPerSessionThreadPoolCallbacks(env, &config));
  run(std::vector<float>(4000000, 1.0f));
  EXPECT_EQ(work.enqueued, 0);
  api()->ReleaseSession(std::exchange(session, nullptr));

  OK(load(relu()));
  run(std::vector<float>(4000000, 1.0f));
  api()->ReleaseSession(std::exchange(session, nullptr));
  EXPECT_GE(work.enqueued, 2);
  EXPECT_EQ(work.started, work.stopped);
  EXPECT_EQ(work.started + work.abandoned, work.enqueued);
  EXPECT_EQ(work.strange, 0);

  api()->ReleaseEnv(std::exchange(env, nullptr));  // pools of an environment are not for it
  OrtThreadingOptions* pools = nullptr;
  OK(api()->CreateThreadingOptions(&pools));
  OK(api()->SetGlobalIntraOpNumThreads(pools, 3));
  OK(api()->CreateEnvWithGlobalThreadPools(ORT_LOGGING_LEVEL_FATAL, "watched", pools, &env));
  api()->ReleaseThreadingOptions(pools);
  config = global.config();
  OK(api()->SetPerSessionThreadPoolCallbacks(env, &config));
  OK(api()->DisablePerSessionThreads(options));
  OK(load(relu()));
  run(std::vector<float>(4000000, 1.0f));
  EXPECT_EQ(global.enqueued, 0);
}

TEST_F(Settings, EnvironmentsWithTheClientsThreads) {
  Threads threads;
  OrtThreadingOptions* pools = nullptr;
  OK(api()->CreateThreadingOptions(&pools));
  OK(api()->SetGlobalIntraOpNumThreads(pools, 3));
  OK(api()->SetGlobalInterOpNumThreads(pools, 1));
  OK(api()->SetGlobalSpinControl(pools, 0));
  OK(api()->SetGlobalDenormalAsZero(pools));
  OK(api()->SetGlobalCustomCreateThreadFn(pools, Threads::create));
  OK(api()->SetGlobalCustomThreadCreationOptions(pools, &threads));
  OK(api()->SetGlobalCustomJoinThreadFn(pools, Threads::join));
  CODE(api()->SetGlobalSpinControl(pools, 7), ORT_INVALID_ARGUMENT);
  api()->ReleaseEnv(std::exchange(env, nullptr));
  Lines lines;
  OK(api()->CreateEnvWithCustomLoggerAndGlobalThreadPools(Lines::take, &lines, ORT_LOGGING_LEVEL_INFO, "pools", pools,
                                                          &env));
  api()->ReleaseThreadingOptions(pools);
  api()->ReleaseThreadingOptions(nullptr);
  OK(api()->DisablePerSessionThreads(options));
  OK(load(relu()));
  run(std::vector<float>(4000000, 1.0f));
  EXPECT_EQ(threads.made, 2);
  EXPECT_FALSE(lines.all.empty());
  api()->ReleaseSession(std::exchange(session, nullptr));
  api()->ReleaseEnv(std::exchange(env, nullptr));
  EXPECT_EQ(threads.joined, 2);
}

TEST_F(Settings, GlobalPoolsAndAffinity) {
  OrtThreadingOptions* pools = nullptr;
  OK(api()->CreateThreadingOptions(&pools));
  OK(api()->SetGlobalIntraOpNumThreads(pools, 2));
  OK(api()->SetGlobalIntraOpThreadAffinity(pools, "1"));
  CODE(api()->SetGlobalIntraOpThreadAffinity(pools, ""), ORT_INVALID_ARGUMENT);
  api()->ReleaseEnv(std::exchange(env, nullptr));
  OK(api()->CreateEnvWithGlobalThreadPools(ORT_LOGGING_LEVEL_FATAL, "pools", pools, &env));
  api()->ReleaseThreadingOptions(pools);
  OK(api()->DisablePerSessionThreads(options));
  OK(load(relu()));
  runs();
}

TEST_F(Settings, EnvironmentsFromOneStruct) {
  api()->ReleaseEnv(std::exchange(env, nullptr));
  Lines lines;
  OrtKeyValuePairs* entries = nullptr;
  api()->CreateKeyValuePairs(&entries);
  api()->AddKeyValuePair(entries, "env.key", "value of it");
  OrtEnvCreationOptions how{};
  how.version = 24;
  how.logging_severity_level = ORT_LOGGING_LEVEL_INFO;
  how.log_id = "one-struct";
  how.custom_logging_function = Lines::take;
  how.custom_logging_param = &lines;
  how.config_entries = entries;
  OK(api()->CreateEnvWithOptions(&how, &env));
  api()->ReleaseKeyValuePairs(entries);
  OK(api()->GetEpApi()->GetEnvConfigEntries(&entries));  // what plugins see of them
  EXPECT_STREQ(api()->GetKeyValue(entries, "env.key"), "value of it");
  api()->ReleaseKeyValuePairs(entries);
  OK(load(relu()));
  EXPECT_FALSE(lines.all.empty());
  runs();
  api()->ReleaseSession(std::exchange(session, nullptr));
  api()->ReleaseEnv(std::exchange(env, nullptr));
}

// The library of operators that the build makes of custom_library.c.
tiny::Graph twice() {
  tiny::Graph g;
  g.inputs = {tiny::value_info("x", tiny::kFloat, {"N"})};
  g.outputs = {tiny::value_info("y", tiny::kFloat, {"N"})};
  g.nodes = {tiny::node("Twice", {"x"}, {"y"}).bytes(7, "test.library")};
  return g;
}
std::string with_library_domain() {
  return tiny::model(twice()) + Message().add(8, Message().bytes(1, "test.library").integer(2, 1)).text();
}

TEST_F(Settings, LibrariesOfOperators) {
  OK(api()->RegisterCustomOpsLibrary_V2(options, ABI_CUSTOM_LIBRARY));
  OK(load(with_library_domain()));
  EXPECT_EQ(run({1, -2}), (std::vector<float>{2, -4}));
  EXPECT_NE(code(api()->RegisterCustomOpsLibrary_V2(options, "/there/is/no/such/library.so")), ORT_OK);
}

TEST_F(Settings, LibrariesOfOperatorsWithAHandle) {
  void* handle = nullptr;
  OK(api()->RegisterCustomOpsLibrary(options, ABI_CUSTOM_LIBRARY, &handle));
  EXPECT_NE(handle, nullptr);
  OK(load(with_library_domain()));
  EXPECT_EQ(run({1, -2}), (std::vector<float>{2, -4}));
}

}  // namespace

// Found by name in the program itself.
extern "C" __attribute__((visibility("default"))) OrtStatus* AbiTestRegistration(OrtSessionOptions* options,
                                                                                 const OrtApiBase* base) {
  return base->GetApi(1)->AddSessionConfigEntry(options, "abi.test.registered", "yes");
}

namespace {

TEST_F(Settings, RegistrationByName) {
  OK(api()->RegisterCustomOpsUsingFunction(options, "AbiTestRegistration"));
  int has = 0;
  OK(api()->HasSessionConfigEntry(options, "abi.test.registered", &has));
  EXPECT_EQ(has, 1);
  EXPECT_NE(code(api()->RegisterCustomOpsUsingFunction(options, "ThereIsNoSuchFunction")), ORT_OK);
}

}  // namespace
