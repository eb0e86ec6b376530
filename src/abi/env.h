// OrtEnv and what hangs on it: log, shared allocators, devices.
#pragma once
#include <mutex>
#include <span>

#include "abi/handles.h"
#include "base/log.h"
#include "base/thread_pool.h"
#include "session/pack_store.h"

struct OrtLogger {
  trunnion::Logger logger;

  TRN_HANDLE(OrtLogger);
};

struct OrtHardwareDevice {
  OrtHardwareDeviceType type = OrtHardwareDeviceType_CPU;
  uint32_t vendor_id = 0;  // PCI, also for CPUs
  uint32_t device_id = 0;
  std::string vendor;
  OrtKeyValuePairs metadata;

  TRN_HANDLE(OrtHardwareDevice);
};

// A device as one execution provider offers it. `factory` is null for the built-in CPU provider.
struct OrtEpDevice {
  std::string ep_name, ep_vendor;
  OrtKeyValuePairs metadata, options;
  const OrtHardwareDevice* device = nullptr;
  OrtEpFactory* factory = nullptr;
  std::shared_ptr<const OrtMemoryInfo> device_memory, host_memory, constant_memory;

  TRN_HANDLE(OrtEpDevice);
};

// Why a device does not go with an execution provider.
struct OrtDeviceEpIncompatibilityDetails {
  uint32_t reasons = OrtDeviceEpIncompatibility_NONE;
  int32_t error_code = 0;
  std::string notes;

  TRN_HANDLE(OrtDeviceEpIncompatibilityDetails);
};

namespace trunnion::abi {

class PluginLibrary;

// "CPU", "GPU" or "NPU", as ep::Identity has it.
const char* kind_of(const OrtEpDevice& device);

// What all OrtEnvs of a process share, from the first one made to the last one or session gone.
class Process {
 public:
  static std::shared_ptr<Process> acquire();

  Process();

  // Allocators that sessions may share, by the memory they give; our own for CPU memory are all one.
  Status add_allocator(const OrtMemoryInfo& memory, OrtAllocator* allocator, bool replace);
  Status remove_allocator(const OrtMemoryInfo& memory);
  // Null: there is none. An error: a plugin has one, and could not make it.
  Result<OrtAllocator*> find_allocator(const OrtMemoryInfo& memory) const;
  // The same, or an error that names the memory.
  Result<OrtAllocator*> allocator_for(const OrtMemoryInfo& memory);
  // Between the host and the devices of plugins. Values of the same type and shape, in one call where they can be.
  Status copy(std::span<const OrtValue* const> from, std::span<OrtValue* const> to, OrtSyncStream* stream) const;

  const std::vector<const OrtHardwareDevice*>& hardware();  // found when first asked for
  const std::vector<const OrtEpDevice*>& ep_devices() const { return ep_device_list_; }

  // Plugins: their devices stand in ep_devices() until they are unregistered.
  Status register_library(std::string name, std::string path, const Logger& logger);
  Status unregister_library(std::string_view name);
  std::vector<std::shared_ptr<PluginLibrary>> libraries() const;
  // Of the last environment that was made with some, for plugins to read.
  void set_config(const session::ConfigMap& config) {
    const std::lock_guard guard(config_mutex_);
    config_ = config;
  }
  session::ConfigMap config() const {
    const std::lock_guard guard(config_mutex_);
    return config_;
  }
  // Packed operands that all sessions of the process share.
  const std::shared_ptr<session::PackStore>& packs() const { return packs_; }
  // Whose device it is; null: the built-in provider's.
  std::shared_ptr<PluginLibrary> library_of(const OrtEpDevice* device) const;

 private:
  struct Shared {
    OrtMemoryInfo memory;
    OrtAllocator* allocator;
  };
  mutable std::mutex mutex_;
  std::vector<Shared> allocators_;
  mutable std::mutex config_mutex_;  // of its own: plugins ask while they are asked for allocators, under the other
  session::ConfigMap config_;
  OrtHardwareDevice cpu_;
  // The same under the vendor id that some plugins ask for, though they run on every CPU of its kind.
  OrtHardwareDevice compatible_cpu_;
  OrtEpDevice cpu_device_;
  std::vector<std::unique_ptr<OrtHardwareDevice>> accelerators_;
  std::vector<const OrtHardwareDevice*> hardware_list_;  // empty: not looked for yet
  std::vector<std::shared_ptr<PluginLibrary>> libraries_;
  std::vector<const OrtEpDevice*> ep_device_list_;
  std::shared_ptr<session::PackStore> packs_ = std::make_shared<session::PackStore>();
};

// A sink that calls the user's function.
std::shared_ptr<LogSink> make_user_sink(OrtLoggingFunction function, void* param);

inline constexpr std::string_view kCpuProvider = "CPUExecutionProvider";

}  // namespace trunnion::abi

struct OrtEnv {
  OrtLogger log;
  trunnion::session::ConfigMap config;
  std::shared_ptr<trunnion::ThreadPool> pool;  // null: the one that the process shares
  bool flush_denormals = false;                // on the pool's threads
  trunnion::WorkHooks work_hooks;              // for sessions to come
  std::shared_ptr<trunnion::abi::Process> process;

  TRN_HANDLE(OrtEnv);
};
