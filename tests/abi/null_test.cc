// NULL for every argument of every slot: none may crash or hang. Each call is made in a child of its own, since what
// the other arguments are makes some of them do much (release a handle, start a run).
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <tuple>
#include <utility>

#include "client.h"
#include "slots.h"
#include "tiny_model.h"

namespace {

// Handles to give, one of each kind that can be had outside of callbacks; NULL where it cannot.
struct Given {
  OrtEnv* env = nullptr;
  OrtSessionOptions* options = nullptr;
  OrtRunOptions* run_options = nullptr;
  OrtThreadingOptions* threading = nullptr;
  OrtSession* session = nullptr;
  OrtValue* value = nullptr;
  OrtMemoryInfo* memory = nullptr;
  OrtAllocator* allocator = nullptr;
  OrtTypeInfo* type = nullptr;
  OrtTensorTypeAndShapeInfo* tensor_type = nullptr;
  OrtModelMetadata* metadata = nullptr;
  OrtIoBinding* binding = nullptr;
  OrtKeyValuePairs* pairs = nullptr;
  OrtCustomOpDomain* domain = nullptr;
  OrtArenaCfg* arena = nullptr;
  OrtPrepackedWeightsContainer* container = nullptr;
  OrtStatus* status = nullptr;
  OrtGraph* graph = nullptr;
  OrtModel* model = nullptr;
  OrtNode* node = nullptr;
  OrtValueInfo* value_info = nullptr;
  OrtOpAttr* attribute = nullptr;
  OrtModelCompilationOptions* compilation = nullptr;
  const OrtEpDevice* device = nullptr;
  const OrtHardwareDevice* hardware = nullptr;

  Given() {
    const OrtModelEditorApi* editor = api()->GetModelEditorApi();
    const std::string bytes = tiny::relu();
    const int64_t three = 3;
    bool ok = true;
    const auto check = [&](OrtStatus* s) { ok &= code(s) == ORT_OK; };
    check(api()->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "null", &env));
    check(api()->CreateSessionOptions(&options));
    check(api()->SetIntraOpNumThreads(options, 1));
    check(api()->CreateRunOptions(&run_options));
    check(api()->CreateThreadingOptions(&threading));
    check(api()->CreateSessionFromArray(env, bytes.data(), bytes.size(), options, &session));
    check(api()->GetAllocatorWithDefaultOptions(&allocator));
    check(api()->CreateTensorAsOrtValue(allocator, &three, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
    check(api()->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &memory));
    check(api()->GetTypeInfo(value, &type));
    check(api()->GetTensorTypeAndShape(value, &tensor_type));
    check(api()->SessionGetModelMetadata(session, &metadata));
    check(api()->CreateIoBinding(session, &binding));
    api()->CreateKeyValuePairs(&pairs);
    check(api()->CreateCustomOpDomain("test.null", &domain));
    check(api()->CreateArenaCfg(0, -1, -1, -1, &arena));
    check(api()->CreatePrepackedWeightsContainer(&container));
    status = api()->CreateStatus(ORT_FAIL, "given");
    check(editor->CreateGraph(&graph));
    const char *domains[] = {""}, *names[] = {"x"};
    const int opsets[] = {17};
    check(editor->CreateModel(domains, opsets, 1, &model));
    check(api()->CreateOpAttr("alpha", &three, 1, ORT_OP_ATTR_INT, &attribute));
    check(editor->CreateNode("Relu", "", "n", names, 1, names, 1, nullptr, 0, &node));
    check(editor->CreateValueInfo("x", type, &value_info));
    check(api()->GetCompileApi()->CreateModelCompilationOptionsFromSessionOptions(env, options, &compilation));
    const OrtEpDevice* const* devices = nullptr;
    size_t count = 0;
    check(api()->GetEpDevices(env, &devices, &count));
    device = count ? devices[0] : nullptr;
    hardware = device ? api()->EpDevice_Device(device) : nullptr;
    EXPECT_TRUE(ok && device);
  }

  template <class T>
  T* handle() {
    const auto all = std::tie(env, options, run_options, threading, session, value, memory, allocator, type,
                              tensor_type, metadata, binding, pairs, domain, arena, container, status, graph, model,
                              node, value_info, attribute, compilation, device, hardware);
    T* found = nullptr;
    const auto take = [&](auto* h) {
      if constexpr (std::is_same_v<std::remove_const_t<std::remove_pointer_t<decltype(h)>>, std::remove_const_t<T>>)
        found = const_cast<T*>(h);
    };
    std::apply([&](auto*... h) { (take(h), ...); }, all);
    return found;
  }
};

template <class R, class... A>
R nothing(A...) {
  return R();
}
template <class R, class... A>
auto function_like(R (*)(A...)) {
  return &nothing<R, A...>;
}

alignas(64) std::array<char, 4096> memory_of_numbers;  // begins with 1 in whatever integer type
std::array<void*, 64> empty_cells;                     // for handles that come back

inline void* untyped(const void* p) { return const_cast<void*>(p); }

// An argument that is right as far as can be told from its type.
template <class T>
T good(Given& given) {
  if constexpr (std::is_enum_v<T>) {
    return static_cast<T>(1);
  } else if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<T>(1);
  } else if constexpr (std::is_pointer_v<T>) {
    using To = std::remove_pointer_t<T>;
    if constexpr (std::is_function_v<To>) {
      return function_like(T{});
    } else if constexpr (std::is_same_v<std::remove_const_t<To>, char>) {
      if constexpr (std::is_const_v<To>)
        return "x";
      else
        return memory_of_numbers.data();
    } else if constexpr (std::is_pointer_v<To>) {
      // T const* is an array that goes in, T* one that comes out.
      if constexpr (std::is_const_v<To>) {
        static void* one[2];  // of its own for each type: a call may take several
        one[0] = untyped(good<std::remove_const_t<To>>(given));
        return static_cast<T>(static_cast<void*>(one));
      } else {
        return static_cast<T>(static_cast<void*>(empty_cells.data()));
      }
    } else if constexpr (std::is_void_v<To> || std::is_arithmetic_v<To> || std::is_enum_v<To>) {
      return reinterpret_cast<T>(memory_of_numbers.data());
    } else {
      return given.handle<To>();
    }
  } else {
    return T{};
  }
}

// "" or how the child ended.
template <class F>
std::string in_child(F&& call) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    for (int s : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL}) std::signal(s, SIG_DFL);
    if (!std::freopen("/dev/null", "w", stderr)) _exit(2);
    alarm(20);
    call();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return strsignal(WTERMSIG(status));
  return WEXITSTATUS(status) ? "exit status " + std::to_string(WEXITSTATUS(status)) : "";
}

struct Nulls : testing::Test {
  static Given& given() {
    static Given made;
    return made;
  }
  int calls = 0;

  // All arguments NULL or zero, then each pointer NULL beside good ones.
  template <class R, class... A>
  void each(const std::string& name, R(ORT_API_CALL* function)(A...)) {
    attempt(name + ", all NULL", function, std::tuple<A...>{});
    each_alone(name, function, std::index_sequence_for<A...>{});
  }

 private:
  template <class R, class... A, size_t... I>
  void each_alone(const std::string& name, [[maybe_unused]] R(ORT_API_CALL* function)(A...),
                  std::index_sequence<I...>) {
    (one<I>(name, function), ...);
  }
  template <size_t I, class R, class... A>
  void one(const std::string& name, [[maybe_unused]] R(ORT_API_CALL* function)(A...)) {
    using Type = std::tuple_element_t<I, std::tuple<A...>>;
    if constexpr (std::is_pointer_v<Type>) {
      std::tuple<A...> arguments{good<A>(given())...};
      std::get<I>(arguments) = nullptr;
      attempt(name + ", argument " + std::to_string(I) + " NULL", function, arguments);
      // The same inside an array that goes in.
      if constexpr (std::is_pointer_v<std::remove_pointer_t<Type>> && std::is_const_v<std::remove_pointer_t<Type>>) {
        static void* null_element[2] = {};
        std::get<I>(arguments) = static_cast<Type>(static_cast<void*>(null_element));
        attempt(name + ", argument " + std::to_string(I) + " an array of NULL", function, arguments);
      }
    }
  }
  template <class R, class... A>
  void attempt(const std::string& name, R(ORT_API_CALL* function)(A...), std::tuple<A...> arguments) {
    ++calls;
    const std::string end = in_child([&] { std::apply(function, arguments); });
    if (!end.empty()) ADD_FAILURE() << name << ": " << end;
  }
};

TEST(NullsThemselves, ACrashIsSeen) {
  EXPECT_EQ(in_child([] { std::abort(); }), "Aborted");
  EXPECT_EQ(in_child([] {}), "");
}

TEST_F(Nulls, OursCrashNothing) {
  if (std::getenv("TRUNNION_MEMCHECK")) GTEST_SKIP() << "a child that ends in the middle of all leaks";
  memory_of_numbers[0] = 1;
  given();
  slots::for_each_wired([&]<auto M>(const char* table, const char* name) {
    each(std::string(table) + "::" + name, slots::real<typename slots::TableOf<decltype(M)>::type>()->*M);
  });
  EXPECT_GT(calls, 1500);
}

}  // namespace
