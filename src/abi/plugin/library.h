// A vendor's library of execution providers: loaded, asked for its factories and devices, and kept as long as sessions
// use it. provider.h makes a provider of one of its devices.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "abi/env.h"
#include "base/os.h"

namespace trunnion::abi {

// Structs that plugins fill say with which version of the ABI they were built. Callbacks newer than that are not there,
// whatever the bytes say; a number outside of this range is no version at all.
inline constexpr uint32_t kOldestPlugin = 22, kNewestPlugin = 199;
Status check_version(uint32_t version, std::string_view what);

class PluginLibrary {
 public:
  // `otherwise` (null: nothing) is shown to a plugin that takes none of the hardware.
  static Result<std::shared_ptr<PluginLibrary>> load(std::string name, std::string path, const Logger& logger,
                                                     std::span<const OrtHardwareDevice* const> hardware,
                                                     const OrtHardwareDevice* otherwise);
  ~PluginLibrary();

  const std::string& name() const { return name_; }
  const std::string& path() const { return library_.path(); }
  const std::vector<OrtEpFactory*>& factories() const { return factories_; }
  const std::vector<std::unique_ptr<OrtEpDevice>>& devices() const { return devices_; }
  // What copies to and from the memory of the factory's devices; null: nothing does.
  OrtDataTransferImpl* transfer(const OrtEpFactory* factory) const;

  // What copies from one of these memories to the other; null: nothing of this library does.
  OrtDataTransferImpl* transfer(const OrtMemoryInfo& from, const OrtMemoryInfo& to) const;
  // The allocator for such memory of one of its devices, made when first asked for, for all sessions; null: there is
  // none. What is allocated counts as a use of the library.
  Result<OrtAllocator*> allocator(const OrtMemoryInfo& memory);

  // Some devices cannot do two things at once, whichever session asks. Said once, it holds for the library.
  void run_one_at_a_time() { serial_ = true; }
  std::mutex* one_run() { return serial_ ? &one_run_ : nullptr; }
  std::unique_lock<std::mutex> alone() const {
    return serial_ ? std::unique_lock(one_run_) : std::unique_lock<std::mutex>();
  }

  // Who uses it: unloading is refused as long as there is one.
  void add_user(const std::string& who);
  void remove_user(const std::string& who);
  Status check_unused();  // an error names the sessions that live
  // Gives the factories back and unloads.
  Status unload();

 private:
  PluginLibrary(std::string name, os::Library library, const Logger& logger)
      : name_(std::move(name)), library_(std::move(library)), log_{logger} {}
  Status make_factories();
  Status find_devices(OrtEpFactory& factory, std::span<const OrtHardwareDevice* const> hardware);
  Status find_transfer(OrtEpFactory& factory);
  Status release_factories();

  std::string name_;
  os::Library library_;
  OrtLogger log_;  // the plugin may keep its address
  OrtStatus*(ORT_API_CALL* release_factory_)(OrtEpFactory*) = nullptr;
  // A plugin's allocator as it is lent: it counts what is out.
  struct Lent : OrtAllocator {
    const PluginLibrary* library;
    OrtMemoryInfo memory;
    OrtEpFactory* factory;
    OrtAllocator* real;
    std::atomic<int64_t> blocks{0};
  };

  std::vector<OrtEpFactory*> factories_;
  std::vector<std::unique_ptr<Lent>> lent_;
  std::vector<std::pair<const OrtEpFactory*, OrtDataTransferImpl*>> transfers_;
  std::vector<std::unique_ptr<OrtEpDevice>> devices_;
  std::atomic<bool> serial_ = false;
  mutable std::mutex one_run_;
  std::mutex mutex_;
  std::vector<std::string> users_;
};

}  // namespace trunnion::abi
