// The environment of the process: log lines, default levels, thread pools, providers, allocators.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <mutex>

#include "engine.h"
#include "options.h"

namespace trunnion::python {
namespace {

std::atomic<OrtEnv*> g_environment{nullptr};
std::mutex g_making;                         // held while the environment is made
int g_severity = ORT_LOGGING_LEVEL_WARNING;  // the rest: under the GIL, read when the environment is made
bool g_global_pools = false;
int g_intra_threads = 0, g_inter_threads = 0;
std::atomic<PyObject*> g_callback{nullptr};  // never released, so that a line under way can still use it

bool interpreter_is_gone() {
#if PY_VERSION_HEX >= 0x030D0000
  return !Py_IsInitialized() || Py_IsFinalizing();
#else
  return !Py_IsInitialized() || _Py_IsFinalizing();
#endif
}

// One line on stderr in the layout of ONNX Runtime's own log.
void print_line(OrtLoggingLevel severity, const char* category, const char* logid, const char* location,
                const char* message) {
  using std::chrono::system_clock;
  const auto now = system_clock::now();
  const std::time_t seconds = system_clock::to_time_t(now);
  const auto nanoseconds =
      std::chrono::duration_cast<std::chrono::nanoseconds>(now - system_clock::from_time_t(seconds)).count();
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char stamp[32];
  std::strftime(stamp, sizeof(stamp), "%Y-%m-%d %H:%M:%S", &parts);
  const char letter = "VIWEF"[severity >= 0 && severity <= 4 ? severity : 4];
  std::fprintf(stderr, "%s.%09ld [%c:%s:%s, %s] %s\n", stamp, static_cast<long>(nanoseconds), letter, category, logid,
               location, message);
}

// Called by the engine on any thread.
void log_line(void*, OrtLoggingLevel severity, const char* category, const char* logid, const char* location,
              const char* message) {
  PyObject* callback = g_callback.load(std::memory_order_acquire);
  if (!callback || interpreter_is_gone()) return print_line(severity, category, logid, location, message);
  const nb::gil_scoped_acquire gil;
  try {
    const nb::handle call(callback);
    call(static_cast<int>(severity), to_str(category), to_str(logid), to_str(location), to_str(message));
  } catch (nb::python_error& error) {
    error.discard_as_unraisable("trunnion's log callback");
  }
}

OrtStatus* make_environment(OrtEnv** made) {
  const auto severity = static_cast<OrtLoggingLevel>(g_severity);
  if (!g_global_pools) return ort->CreateEnvWithCustomLogger(log_line, nullptr, severity, "Default", made);
  OrtThreadingOptions* threads = nullptr;
  if (OrtStatus* status = ort->CreateThreadingOptions(&threads)) return status;
  OrtStatus* status = ort->SetGlobalIntraOpNumThreads(threads, g_intra_threads);
  if (!status) status = ort->SetGlobalInterOpNumThreads(threads, g_inter_threads);
  if (!status) {
    status = ort->CreateEnvWithCustomLoggerAndGlobalThreadPools(log_line, nullptr, severity, "Default", threads, made);
  }
  ort->ReleaseThreadingOptions(threads);
  return status;
}

void set_severity(int severity) {
  if (severity < 0 || severity > 4) {
    throw std::runtime_error("Invalid logging severity. 0:Verbose, 1:Info, 2:Warning, 3:Error, 4:Fatal");
  }
  g_severity = severity;
  if (OrtEnv* made = g_environment.load()) {
    check(ort->UpdateEnvWithCustomLogLevel(made, static_cast<OrtLoggingLevel>(severity)));
  }
}

void set_callback(nb::handle callback, int severity) {
  set_severity(severity);
  g_callback.store(callback.is_none() ? nullptr : callback.inc_ref().ptr(), std::memory_order_release);
}

void set_pool_sizes(int intra, int inter) {
  if (g_environment.load()) {
    throw std::runtime_error("set_global_thread_pool_sizes must be called before the first session or provider call");
  }
  g_global_pools = true;
  g_intra_threads = intra;
  g_inter_threads = inter;
}

std::vector<std::string> available_providers() {
  char** names = nullptr;
  int count = 0;
  check(ort->GetAvailableProviders(&names, &count));
  std::vector<std::string> result(names, names + count);
  check(ort->ReleaseAvailableProviders(names, count));
  return result;
}

void register_allocator(uintptr_t memory, nb::dict arena) {
  std::vector<std::string> texts;
  std::vector<const char*> keys;
  std::vector<size_t> values;
  texts.reserve(nb::len(arena));
  for (auto [key, value] : arena) {
    texts.push_back(utf8(key));
    keys.push_back(texts.back().c_str());
    values.push_back(nb::cast<size_t>(value));
  }
  OrtArenaCfg* config = nullptr;
  check(ort->CreateArenaCfgV2(keys.data(), values.data(), keys.size(), &config));
  OrtStatus* status =
      ort->CreateAndRegisterAllocator(environment(), reinterpret_cast<const OrtMemoryInfo*>(memory), config);
  ort->ReleaseArenaCfg(config);
  check(status);
}

}  // namespace

OrtEnv* environment() {
  if (OrtEnv* made = g_environment.load(std::memory_order_acquire)) return made;
  OrtStatus* status = nullptr;
  {
    const nb::gil_scoped_release unlocked;  // making it may log
    const std::lock_guard lock(g_making);
    if (!g_environment.load()) {
      OrtEnv* made = nullptr;
      status = make_environment(&made);
      if (!status) {
        if (OrtStatus* ignored = ort->SetLanguageProjection(made, ORT_PROJECTION_PYTHON)) ort->ReleaseStatus(ignored);
        g_environment.store(made, std::memory_order_release);
      }
    }
  }
  check(status);
  return g_environment.load();
}

void add_environment(nb::module_& m) {
  m.def("load", &load);
  m.def("library_path", &library_path);
  m.def("get_version_string", [] {
    const auto base = reinterpret_cast<const OrtApiBase* (*)()>(library_symbol("OrtGetApiBase"));
    return std::string(base()->GetVersionString());
  });
  m.def("get_build_info", [] { return std::string(ort->GetBuildInfoString()); });
  m.def("set_default_logger_severity", &set_severity);
  m.def("set_default_logger_callback", &set_callback, nb::arg("callback").none(), nb::arg("severity"));
  m.def("set_global_thread_pool_sizes", &set_pool_sizes);
  m.def("use_global_pools", [] {
    if (!g_environment.load()) g_global_pools = true;
  });
  m.def("get_available_providers", &available_providers);
  m.def("register_provider_library", [](const std::string& name, const std::string& path) {
    check(ort->RegisterExecutionProviderLibrary(environment(), name.c_str(), path.c_str()));
  });
  m.def("unregister_provider_library",
        [](const std::string& name) { check(ort->UnregisterExecutionProviderLibrary(environment(), name.c_str())); });
  m.def("enable_telemetry_events", [] { check(ort->EnableTelemetryEvents(environment())); });
  m.def("disable_telemetry_events", [] { check(ort->DisableTelemetryEvents(environment())); });
  m.def("register_allocator", &register_allocator);
}

}  // namespace trunnion::python
