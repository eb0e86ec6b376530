// What settings do, seen from outside: the log, the optimized model, memory that is kept, the threads that compute.
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "client.h"
#include "tiny_model.h"
#include "trunnion/trunnion.h"

namespace {

constexpr auto kF32 = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;

struct Log {
  std::mutex mutex;
  std::string text;
  static void ORT_API_CALL take(void* self, OrtLoggingLevel, const char*, const char* id, const char*,
                                const char* line) {
    auto* log = static_cast<Log*>(self);
    const std::lock_guard lock(log->mutex);
    log->text.append(id).append(": ").append(line).append("\n");
  }
  bool has(const char* part) {
    const std::lock_guard lock(mutex);
    return text.find(part) != std::string::npos;
  }
};

struct Effects : testing::Test {
  OrtEnv* env = nullptr;
  OrtSessionOptions* options = nullptr;
  OrtSession* session = nullptr;
  OrtAllocator* allocator = nullptr;
  OrtMemoryInfo* cpu = nullptr;

  void SetUp() override {
    OK(api()->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "effects", &env));
    OK(api()->CreateSessionOptions(&options));
    OK(api()->GetAllocatorWithDefaultOptions(&allocator));
    OK(api()->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &cpu));
  }
  void TearDown() override {
    api()->ReleaseMemoryInfo(cpu);
    api()->ReleaseSession(session);
    api()->ReleaseSessionOptions(options);
    api()->ReleaseEnv(env);
  }
  OrtStatus* load(const std::string& bytes) {
    api()->ReleaseSession(std::exchange(session, nullptr));
    return api()->CreateSessionFromArray(env, bytes.data(), bytes.size(), options, &session);
  }
  std::vector<float> run(std::vector<float> x, std::vector<int64_t> shape = {}) {
    if (shape.empty()) shape = {static_cast<int64_t>(x.size())};
    OrtValue *in = nullptr, *out = nullptr;
    EXPECT_EQ(message(api()->CreateTensorWithDataAsOrtValue(cpu, x.data(), x.size() * sizeof(float), shape.data(),
                                                            shape.size(), kF32, &in)),
              "");
    const char *from = "x", *to = "y";
    EXPECT_EQ(message(api()->Run(session, nullptr, &from, &in, 1, &to, 1, &out)), "");
    std::vector<float> y;
    const void* data = nullptr;
    size_t bytes = 0;
    if (out) {
      EXPECT_EQ(code(api()->GetTensorData(out, &data)), ORT_OK);
      EXPECT_EQ(code(api()->GetTensorSizeInBytes(out, &bytes)), ORT_OK);
      y.assign(static_cast<const float*>(data), static_cast<const float*>(data) + bytes / sizeof(float));
    }
    api()->ReleaseValue(in);
    api()->ReleaseValue(out);
    return y;
  }
  // What SessionMemoryJson says of one key.
  int64_t memory(const std::string& key) {
    char* json = nullptr;
    EXPECT_EQ(message(TrunnionGetApi(TRUNNION_API_VERSION)->SessionMemoryJson(session, allocator, &json)), "");
    const std::string text = json ? json : "";
    allocator->Free(allocator, json);
    const size_t at = text.find("\"" + key + "\":");
    EXPECT_NE(at, std::string::npos) << text;
    return at == std::string::npos ? -1 : std::atoll(text.c_str() + at + key.size() + 3);
  }
};

// y = x op w, with w float[n]; or y = x @ w, with w float[n, m].
std::string with_weight(const char* op, const std::vector<float>& w, int64_t rows = 0) {
  tiny::Graph g;
  const std::vector<std::string> dims = rows ? std::vector<std::string>{"N", "M"} : std::vector<std::string>{"N"};
  g.inputs = {tiny::value_info("x", tiny::kFloat, dims)};
  g.outputs = {tiny::value_info("y", tiny::kFloat, dims)};
  tiny::Message weight;
  if (rows) weight.integer(1, rows);
  std::string raw(w.size() * sizeof(float), '\0');
  std::memcpy(raw.data(), w.data(), raw.size());
  weight.integer(1, rows ? static_cast<int64_t>(w.size()) / rows : static_cast<int64_t>(w.size()))
      .integer(2, tiny::kFloat)
      .bytes(8, "w")
      .bytes(9, raw);
  g.initializers = {weight};
  g.nodes = {tiny::node(op, {"x", "w"}, {"y"})};
  return tiny::model(g);
}

TEST_F(Effects, TheLevelOfAnEnvironmentsLog) {
  api()->ReleaseEnv(std::exchange(env, nullptr));
  Log log;
  OK(api()->CreateEnvWithCustomLogger(Log::take, &log, ORT_LOGGING_LEVEL_FATAL, "the-env", &env));
  OK(load(tiny::relu()));
  EXPECT_EQ(log.text, "");
  OK(api()->UpdateEnvWithCustomLogLevel(env, ORT_LOGGING_LEVEL_INFO));
  OK(load(tiny::relu()));
  EXPECT_TRUE(log.has("the-env: "));
  const size_t length = log.text.size();
  OK(api()->UpdateEnvWithCustomLogLevel(env, ORT_LOGGING_LEVEL_FATAL));
  OK(load(tiny::relu()));
  EXPECT_EQ(log.text.size(), length);
  api()->ReleaseSession(std::exchange(session, nullptr));
  api()->ReleaseEnv(std::exchange(env, nullptr));
}

// x + (a + b): the second Add is worked out while the model is loaded, unless that is off.
TEST_F(Effects, TheLevelOfOptimization) {
  tiny::Graph g;
  g.inputs = {tiny::value_info("x", tiny::kFloat, {"2"})};
  g.outputs = {tiny::value_info("y", tiny::kFloat, {"2"})};
  g.initializers = {tiny::floats("a", {1, 2}), tiny::floats("b", {3, 4})};
  g.nodes = {tiny::node("Add", {"a", "b"}, {"c"}), tiny::node("Add", {"x", "c"}, {"y"})};
  const std::string path = testing::TempDir() + "level.onnx";
  const auto adds = [&](GraphOptimizationLevel level) {
    std::remove(path.c_str());
    EXPECT_EQ(message(api()->SetOptimizedModelFilePath(options, path.c_str())), "");
    EXPECT_EQ(message(api()->SetSessionGraphOptimizationLevel(options, level)), "");
    EXPECT_EQ(message(load(tiny::model(g))), "");
    EXPECT_EQ(run({10, 20}), (std::vector<float>{14, 26}));
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    return tiny::count(text, "Add");
  };
  EXPECT_EQ(adds(ORT_DISABLE_ALL), 2);
  EXPECT_EQ(adds(ORT_ENABLE_BASIC), 1);
  EXPECT_EQ(adds(ORT_ENABLE_ALL), 1);
}

TEST_F(Effects, OursTheArenaKeepsLargeOutputs) {
  const std::vector<float> x(1 << 20, 1.5f);
  OK(api()->DisableCpuMemArena(options));
  OK(load(tiny::relu()));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(run(x), x);
  EXPECT_EQ(memory("output_bytes"), 0);
  OK(api()->EnableCpuMemArena(options));
  OK(load(tiny::relu()));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(run(x), x);
  EXPECT_GE(memory("output_bytes"), 4 << 20);
}

TEST_F(Effects, OursSharedPackedWeights) {
  Log log;
  OK(api()->SetUserLoggingFunction(options, Log::take, &log));
  OK(api()->SetSessionLogSeverityLevel(options, ORT_LOGGING_LEVEL_INFO));
  OrtPrepackedWeightsContainer* container = nullptr;
  OK(api()->CreatePrepackedWeightsContainer(&container));
  const std::string bytes = with_weight("MatMul", std::vector<float>(128 * 128, 0.5f), 128);
  OrtSession* first = nullptr;
  OK(api()->CreateSessionFromArrayWithPrepackedWeightsContainer(env, bytes.data(), bytes.size(), options, container,
                                                                &first));
  EXPECT_TRUE(log.has(" 0 of them shared with other sessions"));
  OK(api()->CreateSessionFromArrayWithPrepackedWeightsContainer(env, bytes.data(), bytes.size(), options, container,
                                                                &session));
  EXPECT_TRUE(log.has("65536 bytes of packed operands, 65536 of them shared with other sessions")) << log.text;
  api()->ReleaseSession(first);
  api()->ReleasePrepackedWeightsContainer(container);
  EXPECT_EQ(run(std::vector<float>(128, 1.0f), {1, 128}), std::vector<float>(128, 64.0f));
  api()->ReleaseSession(std::exchange(session, nullptr));  // before its log
}

TEST_F(Effects, OursNumbersOfThreadsAreRead) {
  OK(api()->AddSessionConfigEntry(options, "session.strict_config", "1"));
  OK(api()->SetInterOpNumThreads(options, -2));
  EXPECT_NE(message(load(tiny::relu())).find("inter_op_num_threads"), std::string::npos);
  OK(api()->SetInterOpNumThreads(options, 2));
  OK(load(tiny::relu()));
  OrtThreadingOptions* pools = nullptr;
  OrtEnv* other = nullptr;
  OK(api()->CreateThreadingOptions(&pools));
  OK(api()->SetGlobalInterOpNumThreads(pools, -2));
  EXPECT_NE(message(api()->CreateEnvWithGlobalThreadPools(ORT_LOGGING_LEVEL_FATAL, "e", pools, &other))
                .find("inter_op_num_threads"),
            std::string::npos);
  OK(api()->SetGlobalInterOpNumThreads(pools, 1));
  OK(api()->SetGlobalIntraOpNumThreads(pools, 3));
  OK(api()->SetGlobalIntraOpThreadAffinity(pools, "1"));  // two workers want two groups
  EXPECT_NE(code(api()->CreateEnvWithGlobalThreadPools(ORT_LOGGING_LEVEL_FATAL, "e", pools, &other)), ORT_OK);
  OK(api()->SetGlobalIntraOpThreadAffinity(pools, "1;1"));
  OK(api()->CreateEnvWithGlobalThreadPools(ORT_LOGGING_LEVEL_FATAL, "e", pools, &other));
  api()->ReleaseThreadingOptions(pools);
  api()->ReleaseEnv(other);
}

// The same bits for any number of threads.
TEST_F(Effects, OursDeterministicResults) {
  std::vector<float> w(256 * 256), x(64 * 256);
  for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>((i * 37) % 101) / 7 - 5;
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>((i * 53) % 97) / 3 - 11;
  std::vector<std::vector<float>> results;
  OK(api()->SetDeterministicCompute(options, true));
  for (int threads : {1, 2, 3}) {
    OK(api()->SetIntraOpNumThreads(options, threads));
    OK(load(with_weight("MatMul", w, 256)));
    results.push_back(run(x, {64, 256}));
    ASSERT_EQ(results.back().size(), x.size());
    EXPECT_EQ(std::memcmp(results[0].data(), results.back().data(), x.size() * sizeof(float)), 0);
  }
}

TEST_F(Effects, OursKeysOfTheExtras) {
  OK(api()->AddSessionConfigEntry(options, TRUNNION_KEY_PRECISION, "exact"));
  EXPECT_NE(message(load(tiny::relu())).find("strict"), std::string::npos);  // the levels that there are
  OK(api()->AddSessionConfigEntry(options, TRUNNION_KEY_PRECISION, "strict"));
  OK(api()->AddSessionConfigEntry(options, TRUNNION_KEY_PRECISION_OF_NODES, "node=nearly"));
  EXPECT_NE(message(load(tiny::relu())).find("nearly"), std::string::npos);
  OK(api()->AddSessionConfigEntry(options, TRUNNION_KEY_PRECISION_OF_NODES, ""));
  const std::string folder = testing::TempDir() + "abi_cache";
  std::filesystem::remove_all(folder);
  OK(api()->AddSessionConfigEntry(options, TRUNNION_KEY_CACHE_DIR, folder.c_str()));
  OK(api()->AddSessionConfigEntry(options, TRUNNION_KEY_CACHE_MAX_BYTES, "1000000"));
  OK(load(tiny::relu()));
  EXPECT_EQ(run({-1, 2}), (std::vector<float>{0, 2}));
  EXPECT_FALSE(std::filesystem::is_empty(folder));
  OK(load(tiny::relu()));
  EXPECT_EQ(run({-1, 2}), (std::vector<float>{0, 2}));
  std::filesystem::remove_all(folder);
  OK(api()->AddSessionConfigEntry(options, TRUNNION_KEY_STRICT_CONFIG, "1"));
  OK(api()->AddSessionConfigEntry(options, "session.nobody_knows", "1"));
  EXPECT_NE(message(load(tiny::relu())).find("session.nobody_knows"), std::string::npos);
}

// 2^-140 times one: zero where denormal numbers count as zero, on the caller and on workers.
struct Denormals : Effects {
  static constexpr size_t kMany = 1 << 20;
  float tiny_number = std::ldexp(1.0f, -140);
  void SetUp() override {
    Effects::SetUp();
    if (std::getenv("TRUNNION_MEMCHECK")) GTEST_SKIP() << "valgrind has no such mode";
  }
  bool all(float wanted) {
    const auto y = run(std::vector<float>(kMany, tiny_number));
    return y.size() == kMany && std::all_of(y.begin(), y.end(), [&](float v) { return v == wanted; });
  }
};

TEST_F(Denormals, OursStayByDefault) {
  OK(api()->SetIntraOpNumThreads(options, 2));
  OK(load(with_weight("Mul", {1})));
  EXPECT_TRUE(all(tiny_number));
}

TEST_F(Denormals, OursAreZeroForASession) {
  OK(api()->SetIntraOpNumThreads(options, 2));
  OK(api()->AddSessionConfigEntry(options, "session.set_denormal_as_zero", "1"));
  OK(load(with_weight("Mul", {1})));
  EXPECT_TRUE(all(0));
  volatile float x = tiny_number;
  EXPECT_GT(x * 1.0f, 0);  // the caller's own arithmetic is as before
}

TEST_F(Denormals, OursAreZeroOnAPoolOfTheEnvironment) {
  api()->ReleaseEnv(std::exchange(env, nullptr));
  OrtThreadingOptions* pools = nullptr;
  OK(api()->CreateThreadingOptions(&pools));
  OK(api()->SetGlobalIntraOpNumThreads(pools, 2));
  OK(api()->SetGlobalDenormalAsZero(pools));
  OK(api()->CreateEnvWithGlobalThreadPools(ORT_LOGGING_LEVEL_FATAL, "denormals", pools, &env));
  api()->ReleaseThreadingOptions(pools);
  OK(api()->DisablePerSessionThreads(options));
  OK(load(with_weight("Mul", {1})));
  EXPECT_TRUE(all(0));
}

}  // namespace
