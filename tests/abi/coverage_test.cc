// Every slot that is written is called by these tests: after the last one, those that never were are named.
#include "coverage.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include "client.h"
#include "slots.h"
#include "tiny_model.h"

namespace {

template <auto M, class Function =
                      std::remove_reference_t<decltype(std::declval<typename slots::TableOf<decltype(M)>::type&>().*M)>>
struct Counter;

template <auto M, class R, class... A>
struct Counter<M, R(ORT_API_CALL*)(A...)> {
  using Table = typename slots::TableOf<decltype(M)>::type;
  static inline std::atomic<int64_t> calls{0};
  static R ORT_API_CALL call(A... arguments) {
    calls.fetch_add(1, std::memory_order_relaxed);
    return (slots::real<Table>()->*M)(arguments...);
  }
};

struct Tables {
  OrtApi api;
  OrtModelEditorApi editor;
  OrtCompileApi compile;
};

// Tables that applications call. A plugin's table is called from tests/abi/plugin_library.c.
template <class Table>
constexpr bool kCounted =
    std::is_same_v<Table, OrtApi> || std::is_same_v<Table, OrtModelEditorApi> || std::is_same_v<Table, OrtCompileApi>;

Tables& tables();

const OrtModelEditorApi* ORT_API_CALL editor() {
  Counter<&OrtApi::GetModelEditorApi>::calls++;
  return &tables().editor;
}
const OrtCompileApi* ORT_API_CALL compile() {
  Counter<&OrtApi::GetCompileApi>::calls++;
  return &tables().compile;
}

Tables& tables() {
  static Tables made = [] {
    Tables t = {*slots::real<OrtApi>(), *slots::real<OrtModelEditorApi>(), *slots::real<OrtCompileApi>()};
    slots::for_each_wired([&]<auto M>(const char*, const char*) {
      using Table = typename slots::TableOf<decltype(M)>::type;
      if constexpr (std::is_same_v<Table, OrtApi>) t.api.*M = Counter<M>::call;
      if constexpr (std::is_same_v<Table, OrtModelEditorApi>) t.editor.*M = Counter<M>::call;
      if constexpr (std::is_same_v<Table, OrtCompileApi>) t.compile.*M = Counter<M>::call;
    });
    t.api.GetModelEditorApi = editor;
    t.api.GetCompileApi = compile;
    return t;
  }();
  return made;
}

struct NamesWhatWasNeverCalled final : testing::Environment {
  void TearDown() override {
    const auto& run = *testing::UnitTest::GetInstance();
    if (run.test_to_run_count() != run.total_test_count()) return;  // the user chose some
    int called = 0;
    slots::for_each_wired([&]<auto M>(const char* table, const char* name) {
      if constexpr (kCounted<typename slots::TableOf<decltype(M)>::type>) {
        if (Counter<M>::calls > 0)
          ++called;
        else
          ADD_FAILURE() << table << "::" << name << " was not called by any test";
      }
    });
    std::printf("%d slots were called\n", called);
  }
};

[[maybe_unused]] const auto* const kRegistered = testing::AddGlobalTestEnvironment(new NamesWhatWasNeverCalled);

bool contains(const char* text, std::initializer_list<const char*> parts) {
  for (const char* part : parts)
    if (std::strstr(text, part)) return true;
  return false;
}

template <class R, class... A>
R call_with_nothing(R(ORT_API_CALL* function)(A...)) {
  return function(A{}...);
}

// What belongs to a provider that is not built in is refused with its name; its objects cannot be made.
TEST(Refusals, OursNameTheProvider) {
  int refused = 0;
  slots::for_each_wired([&]<auto M>(const char*, const char* name) {
    if constexpr (std::is_same_v<typename slots::TableOf<decltype(M)>::type, OrtApi>) {
      if (!contains(name,
                    {"CUDA", "TensorRT", "ROCM", "CANN", "Dnnl", "OpenVINO", "VitisAI", "MIGraphX", "GpuDeviceId"}))
        return;
      ++refused;
      if constexpr (std::is_same_v<decltype(call_with_nothing(api()->*M)), OrtStatus*>) {
        const std::string text = message(call_with_nothing(api()->*M));
        EXPECT_NE(text.find("is not enabled in this build"), std::string::npos) << name << ": " << text;
      } else {
        call_with_nothing(api()->*M);
      }
    }
  });
  EXPECT_EQ(refused, 37);
}

// Names of functions that came into the tables later: plugins of that time ask for them.
TEST(Experimental, OursAreThoseOfTheTables) {
  const OrtApi* real = slots::real<OrtApi>();
  const OrtEpApi* ep = slots::real<OrtEpApi>();
  const auto same = [](const char* name, auto* function) {
    EXPECT_EQ(api()->GetExperimentalFunction(name), reinterpret_cast<OrtExperimentalFnPtr>(function)) << name;
  };
  same("OrtApi_SessionOptions_SetEpContextDataReadFunc_SinceV28", real->SessionOptionsSetEpContextDataReadFunc);
  same("OrtCompileApi_ModelCompilationOptions_SetEpContextDataWriteFunc_SinceV28",
       slots::real<OrtCompileApi>()->ModelCompilationOptions_SetEpContextDataWriteFunc);
  same("OrtEpApi_SessionOptions_GetEpContextConfig_SinceV28", ep->SessionOptionsGetEpContextConfig);
  same("OrtEpApi_ReleaseEpContextConfig_SinceV28", ep->ReleaseEpContextConfig);
  same("OrtEpApi_EpContextConfig_GetEpContextDataReadFunc_SinceV28", ep->EpContextConfigGetEpContextDataReadFunc);
  same("OrtEpApi_EpContextConfig_GetEpContextDataWriteFunc_SinceV28", ep->EpContextConfigGetEpContextDataWriteFunc);
  for (const char* name :
       {"OrtApi_Nothing", "OrtEpApi_ReleaseEpContextConfig", "", "OrtApi_ExperimentalApiTest_SinceV28"})
    EXPECT_EQ(api()->GetExperimentalFunction(name), nullptr) << name;
  EXPECT_EQ(api()->GetExperimentalFunction(nullptr), nullptr);
}

TEST(Refusals, OursSayWhatIsNotThere) {
  EXPECT_EQ(api()->GetTrainingApi(ORT_API_VERSION), nullptr);
  const void* provider = &provider;
  EXPECT_NE(message(api()->GetExecutionProviderApi("DML", ORT_API_VERSION, &provider)), "");
  EXPECT_EQ(provider, nullptr);

  OrtSessionOptions* options = nullptr;
  OrtEnv* env = nullptr;
  OrtAllocator* allocator = nullptr;
  OrtValue *value = nullptr, *opaque = nullptr;
  int data = 0;
  OK(api()->CreateSessionOptions(&options));
  OK(api()->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "refusals", &env));
  OK(api()->GetAllocatorWithDefaultOptions(&allocator));
  OK(api()->CreateTensorAsOrtValue(allocator, nullptr, 0, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
  EXPECT_NE(message(api()->EnableOrtCustomOps(options)), "");
  EXPECT_NE(message(api()->CreateOpaqueValue("domain", "Type", &data, sizeof data, &opaque)), "");
  EXPECT_EQ(opaque, nullptr);
  EXPECT_NE(message(api()->GetOpaqueValue("domain", "Type", value, &data, sizeof data)), "");

  const std::string bytes = tiny::model({{tiny::node("Relu", {"x"}, {"y"})},
                                         {tiny::value_info("x", tiny::kFloat, {"1"})},
                                         {tiny::value_info("y", tiny::kFloat, {"1"})},
                                         {}});
  OrtSession* session = nullptr;
  OK(api()->CreateSessionFromArray(env, bytes.data(), bytes.size(), options, &session));
  EXPECT_EQ(message(api()->SessionReleaseCapturedGraph(session, 3)), "the session has captured no graph 3");

  api()->ReleaseSession(session);
  api()->ReleaseValue(value);
  api()->ReleaseEnv(env);
  api()->ReleaseSessionOptions(options);
}

template <auto M>
std::string answer_of_stub() {
  using Table = typename slots::TableOf<decltype(M)>::type;
  auto* const function = slots::real<Table>()->*M;
  if constexpr (std::is_same_v<decltype(call_with_nothing(function)), OrtStatus*>) {
    OrtStatus* status = call_with_nothing(function);
    EXPECT_EQ(api()->GetErrorCode(status), ORT_NOT_IMPLEMENTED);
    return message(status);
  } else {
    call_with_nothing(function);
    return "";
  }
}

TEST(Refusals, OursStubsSayTheirNames) {
  slots::for_each_stub([&]<auto M>(const char* table, const char* name) {
    const std::string text = answer_of_stub<M>();
    if (!text.empty()) {
      EXPECT_EQ(text, std::string(table) + "::" + name + " is not implemented");
    }
  });
}

}  // namespace

const OrtApi* coverage::counted() { return &tables().api; }
