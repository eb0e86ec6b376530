// A vendor's library of execution providers: loaded, asked for its factories and devices, and kept as long as sessions
// use it. provider.h makes a provider of one of its devices.
#pragma once
#include <memory>
#include <mutex>
#include <string>
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
  static Result<std::shared_ptr<PluginLibrary>> load(std::string name, std::string path, const Logger& logger,
                                                     std::span<const OrtHardwareDevice* const> hardware);
  ~PluginLibrary();

  const std::string& name() const { return name_; }
  const std::vector<std::unique_ptr<OrtEpDevice>>& devices() const { return devices_; }

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
  Status release_factories();

  std::string name_;
  os::Library library_;
  OrtLogger log_;  // the plugin may keep its address
  OrtStatus*(ORT_API_CALL* release_factory_)(OrtEpFactory*) = nullptr;
  std::vector<OrtEpFactory*> factories_;
  std::vector<std::unique_ptr<OrtEpDevice>> devices_;
  std::mutex mutex_;
  std::vector<std::string> users_;
};

}  // namespace trunnion::abi
