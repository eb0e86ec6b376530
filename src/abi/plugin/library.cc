#include "abi/plugin/library.h"

#include <algorithm>

#include "abi/custom_operators.h"
#include "abi/slots.h"

namespace trunnion::abi {
namespace {

constexpr size_t kMostFactories = 4, kMostDevices = 8;  // what ONNX Runtime has room for

using CreateFactories = OrtStatus*(ORT_API_CALL*)(const char*, const OrtApiBase*, const OrtLogger*, OrtEpFactory**,
                                                  size_t, size_t*);
using ReleaseFactory = OrtStatus*(ORT_API_CALL*)(OrtEpFactory*);

}  // namespace

Status check_version(uint32_t version, std::string_view what) {
  if (version >= kOldestPlugin && version <= kNewestPlugin) return {};
  return invalid_argument("{} says that it was built with version {} of the API, which is none from {} to {}", what,
                          version, kOldestPlugin, kNewestPlugin);
}

Result<std::shared_ptr<PluginLibrary>> PluginLibrary::load(std::string name, std::string path, const Logger& logger,
                                                           std::span<const OrtHardwareDevice* const> hardware) {
  if (os::file_kind(path) == os::FileKind::none)
    return error(Code::no_such_file, "the library '{}' of execution providers does not exist", path);
  TRN_ASSIGN(os::Library opened, os::Library::open(path));
  if (opened.symbol("GetProvider").ok())
    return invalid_argument(
        "'{}' is a part of ONNX Runtime itself (it exports GetProvider), not a plugin of execution providers", path);
  std::shared_ptr<PluginLibrary> library(new PluginLibrary(std::move(name), std::move(opened), logger));
  TRN_TRY(library->make_factories());
  for (OrtEpFactory* factory : library->factories_)
    if (Status s = library->find_devices(*factory, hardware); !s.ok()) {
      static_cast<void>(library->unload());  // the first error is what the caller is told
      return s;
    }
  if (library->devices_.empty())
    TRN_LOG(library->log_.logger, warning, "the plugin '{}' ({}) found no device that it can use", library->name_,
            library->library_.path());
  return library;
}

Status PluginLibrary::make_factories() {
  const auto create = library_.symbol("CreateEpFactories");
  const auto release = library_.symbol("ReleaseEpFactory");
  if (!create.ok() || !release.ok())
    return invalid_argument("'{}' is no plugin of execution providers: it does not export {}", library_.path(),
                            create.ok() ? "ReleaseEpFactory" : "CreateEpFactories");
  release_factory_ = reinterpret_cast<ReleaseFactory>(*release);
  OrtEpFactory* made[kMostFactories] = {};
  size_t count = 0;
  Status status = guarded([&] {
    return from_ort(reinterpret_cast<CreateFactories>(*create)(name_.c_str(), OrtGetApiBase(), &log_, made,
                                                               kMostFactories, &count));
  });
  if (!status.ok()) return status.with_context(fmt::format("CreateEpFactories of '{}'", library_.path()));
  if (count > kMostFactories)
    return error(Code::fail, "CreateEpFactories of '{}' says that it made {} factories, the room is for {}",
                 library_.path(), count, kMostFactories);
  factories_.assign(made, made + count);
  std::erase(factories_, nullptr);
  if (factories_.empty())
    return error(Code::fail,
                 "CreateEpFactories of '{}' made no factory: it may be built for another version of the API than {}",
                 library_.path(), ORT_API_VERSION);
  for (const OrtEpFactory* f : factories_) {
    const std::string what = fmt::format("a factory of '{}'", library_.path());
    status = check_version(f->ort_version_supported, what);
    if (status.ok() && (!f->GetName || !f->GetVendor || !f->GetSupportedDevices || !f->CreateEp || !f->ReleaseEp))
      status = invalid_argument("{} lacks a function that all have", what);
    if (status.ok()) continue;
    factories_.clear();  // nothing in it can be trusted, its release neither
    return status;
  }
  return {};
}

Status PluginLibrary::find_devices(OrtEpFactory& factory, std::span<const OrtHardwareDevice* const> hardware) {
  OrtEpDevice* found[kMostDevices] = {};
  size_t count = 0;
  const Status status = guarded([&] {
    return from_ort(
        factory.GetSupportedDevices(&factory, hardware.data(), hardware.size(), found, kMostDevices, &count));
  });
  for (size_t i = 0; i < std::min(count, kMostDevices); ++i)
    if (found[i]) devices_.emplace_back(found[i])->metadata.set("library_path", library_.path());
  if (status.ok() && count > kMostDevices)
    return error(Code::fail, "the plugin '{}' says that it has {} devices, the room is for {}", name_, count,
                 kMostDevices);
  return status.with_context(fmt::format("GetSupportedDevices of '{}'", library_.path()));
}

Status PluginLibrary::release_factories() {
  Status first;
  devices_.clear();
  for (OrtEpFactory* f : factories_) {
    Status s = guarded([&] { return from_ort(release_factory_(f)); });
    if (first.ok()) first = s;
  }
  factories_.clear();
  return first;
}

// One that was never unloaded stays: at the end of a process its own globals may be gone already.
PluginLibrary::~PluginLibrary() {
  if (!factories_.empty()) library_.leave_loaded();
}

void PluginLibrary::add_user(const std::string& who) {
  const std::lock_guard lock(mutex_);
  users_.push_back(who);
}

void PluginLibrary::remove_user(const std::string& who) {
  const std::lock_guard lock(mutex_);
  if (const auto it = std::ranges::find(users_, who); it != users_.end()) users_.erase(it);
}

Status PluginLibrary::check_unused() {
  const std::lock_guard lock(mutex_);
  if (users_.empty()) return {};
  return error(Code::fail, "the plugin '{}' is in use by {} session{}: {}", name_, users_.size(),
               users_.size() == 1 ? "" : "s", fmt::join(users_, ", "));
}

Status PluginLibrary::unload() {
  const Status released = release_factories();
  TRN_TRY(library_.close());
  return released.with_context(fmt::format("ReleaseEpFactory of '{}'", name_));
}

}  // namespace trunnion::abi
