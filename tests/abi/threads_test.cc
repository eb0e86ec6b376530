// Environments, options, sessions and runs on several threads at once.
#include <atomic>
#include <thread>
#include <vector>

#include "client.h"
#include "tiny_model.h"

namespace {

bool run_once(OrtSession* session) {
  OrtMemoryInfo* cpu = nullptr;
  std::vector<float> data = {-1, 2};
  const int64_t two = 2;
  OrtValue *in = nullptr, *out = nullptr;
  const char *from = "x", *to = "y";
  void* result = nullptr;
  bool ok = code(api()->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &cpu)) == ORT_OK &&
            code(api()->CreateTensorWithDataAsOrtValue(cpu, data.data(), 8, &two, 1,
                                                       ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &in)) == ORT_OK &&
            code(api()->Run(session, nullptr, &from, &in, 1, &to, 1, &out)) == ORT_OK &&
            code(api()->GetTensorMutableData(out, &result)) == ORT_OK;
  ok = ok && static_cast<float*>(result)[0] == 0 && static_cast<float*>(result)[1] == 2;
  api()->ReleaseValue(out);
  api()->ReleaseValue(in);
  api()->ReleaseMemoryInfo(cpu);
  return ok;
}

TEST(Threads, MakeTheirOwnSessionsAndShareOne) {
  const std::string bytes = tiny::relu();
  OrtEnv* env = nullptr;
  OrtSessionOptions* options = nullptr;
  OrtSession* shared = nullptr;
  OK(api()->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "threads", &env));
  OK(api()->CreateSessionOptions(&options));
  OK(api()->CreateSessionFromArray(env, bytes.data(), bytes.size(), options, &shared));
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 5; ++i) {
        OrtEnv* own_env = nullptr;
        OrtSession* own = nullptr;
        const bool made =
            code(api()->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "own", &own_env)) == ORT_OK &&
            code(api()->CreateSessionFromArray(own_env, bytes.data(), bytes.size(), options, &own)) == ORT_OK;
        good += made && run_once(own) && run_once(shared);
        api()->ReleaseSession(own);
        api()->ReleaseEnv(own_env);
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(good, 20);
  api()->ReleaseSession(shared);
  api()->ReleaseSessionOptions(options);
  api()->ReleaseEnv(env);
}

}  // namespace
