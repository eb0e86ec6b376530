// What a session and a run can be told. Plain data; the C ABI and the bindings fill it, the session room reads it.
#pragma once
#include <atomic>
#include <charconv>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "base/thread_pool.h"
#include "tensor/value.h"

namespace trunnion::ir {
class Graph;
struct Model;
}  // namespace trunnion::ir

namespace trunnion::ep {
class Provider;
}

namespace trunnion::session {

// Operators that a client brings to a session.
class OperatorSource {
 public:
  virtual ~OperatorSource() = default;
  // Gives the nodes that mean one of them their definition and signature, before the engine's own are looked up.
  virtual Status bind(ir::Graph& graph) = 0;
};

// What makes an execution provider that is not built in, for one session; called once, while the session is made.
class ProviderSource {
 public:
  virtual ~ProviderSource() = default;
  virtual Result<std::unique_ptr<ep::Provider>> make(const ir::Model& model, const Logger& logger) = 0;
};

using ConfigMap = std::map<std::string, std::string, std::less<>>;

// Keys and values of configuration entries may be this long, in bytes.
inline constexpr size_t kMaxConfigKey = 1024;
inline constexpr size_t kMaxConfigValue = 8192;

// Adds or replaces an entry; INVALID_ARGUMENT for an empty key and for texts that are too long.
inline Status set_config(ConfigMap& map, std::string_view key, std::string_view value) {
  if (key.empty() || key.size() > kMaxConfigKey)
    return invalid_argument("a configuration key has 1 to {} bytes, not {}", kMaxConfigKey, key.size());
  if (value.size() > kMaxConfigValue)
    return invalid_argument("the value of '{}' has {} bytes, the most are {}", key, value.size(), kMaxConfigValue);
  map.insert_or_assign(std::string(key), std::string(value));
  return {};
}

enum class OptimizationLevel : int { disable_all = 0, basic = 1, extended = 2, layout = 3, all = 99 };
enum class ExecutionMode : int { sequential = 0, parallel = 1 };

// The pool that an Environment owns.
struct ThreadingOptions {
  int intra_op_threads = 0;  // 0: one per physical core
  int inter_op_threads = 0;
  bool allow_spinning = true;
  bool denormal_as_zero = false;
  std::string intra_op_affinity;
  ThreadHooks hooks;
};

// One entry of the ordered list of execution providers.
struct ProviderChoice {
  std::string name;
  ConfigMap options;
  std::vector<const void*> devices;                  // OrtEpDevice handles when chosen by device
  std::shared_ptr<ProviderSource> source = nullptr;  // null: built in
};

// A file of external weights that the user holds in memory until the session is made.
struct MemoryFile {
  std::string name;
  const char* data = nullptr;
  size_t size = 0;
};

struct Options {
  OptimizationLevel optimization_level = OptimizationLevel::all;
  ExecutionMode execution_mode = ExecutionMode::sequential;
  int intra_op_threads = 0;  // 0: what the environment has
  int inter_op_threads = 0;
  bool per_session_threads = true;
  ThreadHooks thread_hooks;
  WorkHooks work_hooks;  // told of the work of a pool of its own
  bool deterministic = false;

  bool cpu_arena = true;
  bool memory_pattern = true;
  bool memory_reuse = true;

  bool profiling = false;
  std::string profile_prefix = "onnxruntime_profile_";
  std::string optimized_model_path;
  std::function<Status(const ir::Model&)>
      optimized_model_sink;  // gets the same model; it holds no longer than the call
  // Gets the model with what providers compiled in place of a file's; not called when they compiled nothing.
  std::function<Status(const ir::Model&)> context_model_sink;

  std::string log_id;
  int log_severity = -1;  // -1: the environment's
  int log_verbosity = 0;
  std::shared_ptr<LogSink> log_sink;  // null: the environment's

  ConfigMap config;

  std::vector<std::pair<std::string, int64_t>> dimension_by_name;
  std::vector<std::pair<std::string, int64_t>> dimension_by_denotation;

  std::map<std::string, Value, std::less<>> initializers;           // replace the model's
  std::map<std::string, Value, std::less<>> external_initializers;  // stand for external data
  std::vector<MemoryFile> external_files;

  std::vector<ProviderChoice> providers;  // empty: CPU only
  int provider_policy = 0;                // OrtExecutionProviderDevicePolicy, used when providers is empty
  void* provider_policy_delegate = nullptr;
  void* provider_policy_state = nullptr;

  std::vector<void*> custom_op_domains;  // OrtCustomOpDomain handles, owned by the user
  std::vector<std::shared_ptr<void>>
      custom_op_libraries;                           // loaded for these options, kept as long as they or a session live
  std::shared_ptr<OperatorSource> custom_operators;  // made of the domains for one session
  std::span<const std::byte> weightless_source;      // the model that a compiled one takes its weights from; the user's

  // How providers read and write what they compiled; null: files.
  void* ep_context_read = nullptr;  // OrtReadNamedBufferFunc
  void* ep_context_read_state = nullptr;
  void* ep_context_write = nullptr;  // OrtWriteNamedBufferFunc
  void* ep_context_write_state = nullptr;

  // Set from another thread to stop a load; shared with copies of these options.
  std::shared_ptr<std::atomic<bool>> cancel_load = std::make_shared<std::atomic<bool>>(false);

  std::optional<std::string_view> entry(std::string_view key) const {
    const auto it = config.find(key);
    if (it == config.end()) return std::nullopt;
    return it->second;
  }
  bool flag(std::string_view key, bool otherwise = false) const {
    const auto value = entry(key);
    return value ? *value == "1" : otherwise;
  }
  int64_t number(std::string_view key, int64_t otherwise) const {
    const auto text = entry(key);
    int64_t n = otherwise;
    if (text) std::from_chars(text->data(), text->data() + text->size(), n);
    return n;
  }
};

struct RunOptions {
  std::atomic<bool> terminate{false};  // may be set while a run is under way
  std::string tag;
  int log_severity = -1;  // -1: the session's
  int log_verbosity = 0;
  ConfigMap config;
  bool profiling = false;
  std::string profile_prefix;
  std::vector<std::pair<std::string, Value>> lora_inputs;  // parameters of the active adapters, by input name
  void* sync_stream = nullptr;                             // OrtSyncStream

  std::optional<std::string_view> entry(std::string_view key) const {
    const auto it = config.find(key);
    if (it == config.end()) return std::nullopt;
    return it->second;
  }
};

}  // namespace trunnion::session
