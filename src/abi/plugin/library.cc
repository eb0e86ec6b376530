#include "abi/plugin/library.h"

#include <algorithm>

#include "abi/custom_operators.h"
#include "abi/plugin/device_memory.h"
#include "abi/slots.h"

namespace trunnion::abi {
namespace {

constexpr size_t kMostFactories = 4, kMostDevices = 8;  // what ONNX Runtime has room for

using CreateFactories = OrtStatus*(ORT_API_CALL*)(const char*, const OrtApiBase*, const OrtLogger*, OrtEpFactory**,
                                                  size_t, size_t*);
using ReleaseFactory = OrtStatus*(ORT_API_CALL*)(OrtEpFactory*);

std::string_view between(std::string_view text, std::string_view open, std::string_view close) {
  const auto begin = text.find(open);
  if (begin == std::string_view::npos) return {};
  text.remove_prefix(begin + open.size());
  return text.substr(0, text.find(close));
}

// The loader names the library that is missing and not who needs it, or the other way round.
Status cannot_load(const std::string& path, const Status& status) {
  const std::string_view all = status.message();
  const std::string_view text = all.substr(std::min(all.find("': "), all.size() - 3) + 3);
  const std::string_view first = text.substr(0, text.find(": "));
  if (text.find(": cannot open shared object file") != std::string_view::npos && first != path) {
    const auto dot = first.find(".so.");
    const std::string version = dot == std::string_view::npos
                                    ? std::string()
                                    : fmt::format(" (version {} of {})", first.substr(dot + 4), first.substr(0, dot));
    return error(
        Code::fail,
        "the plugin '{}' needs the library '{}'{}, which is not found: it must be installed, be in a folder of "
        "LD_LIBRARY_PATH, or be loaded before",
        path, first, version);
  }
  if (const auto version = between(text, ": version `", "' not found"); !version.empty())
    return error(Code::fail, "the plugin '{}' needs {} of '{}', which is older here", path, version, first);
  if (const auto symbol = between(text, ": undefined symbol: ", ","); !symbol.empty())
    return error(Code::fail, "the plugin '{}' needs the function '{}', which no library that it loads has", path,
                 symbol);
  return status;
}

// A path is opened as it stands. A bare name is looked for in the current folder, beside the engine, and then, as by
// every program, where the system's loader looks.
Result<os::Library> open_plugin(std::string path) {
  const bool bare = path.find('/') == std::string::npos;
  const std::string own = os::file_of(reinterpret_cast<const void*>(&open_plugin));
  const std::string beside = own.substr(0, own.find_last_of('/') + 1);
  bool found = os::file_kind(path) != os::FileKind::none;
  if (found && bare)  // else the loader would not look here
    if (auto whole = os::canonical(path); whole.ok()) path = std::move(whole).value();
  if (!found && bare && !beside.empty() && os::file_kind(beside + path) != os::FileKind::none) {
    path = beside + path;
    found = true;
  }
  if (!found && !bare) return error(Code::no_such_file, "the library '{}' of execution providers does not exist", path);
  auto opened = os::Library::open(path);
  if (opened.ok()) return opened;
  if (!found && opened.status().message().find(path + ": cannot open shared object file") != std::string_view::npos)
    return error(Code::no_such_file,
                 "the library '{}' of execution providers does not exist: it is not in the current folder, not beside "
                 "the engine ({}), and not where the loader looks (LD_LIBRARY_PATH and the system's folders)",
                 path, beside);
  return cannot_load(path, opened.status());
}

}  // namespace

Status check_version(uint32_t version, std::string_view what) {
  if (version >= kOldestPlugin && version <= kNewestPlugin) return {};
  return invalid_argument("{} says that it was built with version {} of the API, which is none from {} to {}", what,
                          version, kOldestPlugin, kNewestPlugin);
}

Result<std::shared_ptr<PluginLibrary>> PluginLibrary::load(std::string name, std::string path, const Logger& logger,
                                                           std::span<const OrtHardwareDevice* const> hardware,
                                                           const OrtHardwareDevice* otherwise) {
  TRN_ASSIGN(os::Library opened, open_plugin(std::move(path)));
  if (opened.symbol("GetProvider").ok())
    return invalid_argument(
        "'{}' is a part of ONNX Runtime itself (it exports GetProvider), not a plugin of execution providers",
        opened.path());
  std::shared_ptr<PluginLibrary> library(new PluginLibrary(std::move(name), std::move(opened), logger));
  TRN_TRY(library->make_factories());
  for (OrtEpFactory* factory : library->factories_) {
    Status s = library->find_devices(*factory, hardware);
    if (s.ok()) s = library->find_transfer(*factory);
    if (!s.ok()) {
      static_cast<void>(library->unload());  // the first error is what the caller is told
      return s;
    }
  }
  if (library->devices_.empty() && otherwise) {
    for (OrtEpFactory* factory : library->factories_)
      if (Status s = library->find_devices(*factory, {&otherwise, 1}); !s.ok()) {
        static_cast<void>(library->unload());
        return s;
      }
    if (!library->devices_.empty())
      TRN_LOG(library->log_.logger, info,
              "the plugin '{}' takes CPUs of another vendor than {}: it gets this one as one", library->name_,
              otherwise->vendor);
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

Status PluginLibrary::find_transfer(OrtEpFactory& factory) {
  constexpr uint32_t kTransfers = 23;
  if (factory.ort_version_supported < kTransfers || !factory.CreateDataTransfer) return {};
  OrtDataTransferImpl* made = nullptr;
  const Status status = guarded([&] { return from_ort(factory.CreateDataTransfer(&factory, &made)); });
  if (status.ok() && made) {
    TRN_TRY(check_version(made->ort_version_supported, "what copies tensors"));
    transfers_.emplace_back(&factory, made);
  }
  return status.with_context(fmt::format("CreateDataTransfer of '{}'", library_.path()));
}

OrtDataTransferImpl* PluginLibrary::transfer(const OrtEpFactory* factory) const {
  for (const auto& [of, transfer] : transfers_)
    if (of == factory) return transfer;
  return nullptr;
}

OrtDataTransferImpl* PluginLibrary::transfer(const OrtMemoryInfo& from, const OrtMemoryInfo& to) const {
  for (const auto& [factory, transfer] : transfers_)
    if (transfer->CanCopy && transfer->CopyTensors && transfer->CanCopy(transfer, device_of(from), device_of(to)))
      return transfer;
  return nullptr;
}

Result<OrtAllocator*> PluginLibrary::allocator(const OrtMemoryInfo& memory) {
  constexpr uint32_t kAllocators = 23;
  const std::lock_guard lock(mutex_);
  OrtAllocator* none = nullptr;
  for (const auto& l : lent_)
    if (l->memory == memory) return static_cast<OrtAllocator*>(l.get());
  for (const auto& d : devices_) {
    OrtEpFactory* f = d->factory;
    const auto is_it = [&](const auto& known) { return known && *known == memory; };
    if (!is_it(d->device_memory) && !is_it(d->host_memory)) continue;
    if (f->ort_version_supported < kAllocators || !f->CreateAllocator) continue;
    OrtAllocator* made = nullptr;
    TRN_TRY(guarded([&] {
              return from_ort(f->CreateAllocator(f, &memory, nullptr, &made));
            }).with_context(fmt::format("CreateAllocator of '{}'", name_)));
    if (!made || !made->Alloc || !made->Free) continue;
    auto lent = std::make_unique<Lent>();
    lent->version = ORT_API_VERSION;
    lent->library = this;
    lent->memory = memory;
    lent->factory = f;
    lent->real = made;
    lent->Alloc = [](OrtAllocator* self, size_t size) {
      auto* l = static_cast<Lent*>(self);
      const auto alone = l->library->alone();
      void* block = l->real->Alloc(l->real, size);
      if (block) ++l->blocks;
      return block;
    };
    lent->Reserve = lent->Alloc;
    lent->AllocOnStream = [](OrtAllocator* self, size_t size, OrtSyncStream*) { return self->Alloc(self, size); };
    lent->Free = [](OrtAllocator* self, void* block) {
      auto* l = static_cast<Lent*>(self);
      const auto alone = l->library->alone();
      l->real->Free(l->real, block);
      if (block) --l->blocks;
    };
    lent->Info = [](const OrtAllocator* self) -> const OrtMemoryInfo* {
      return &static_cast<const Lent*>(self)->memory;
    };
    lent->Shrink = [](OrtAllocator*) -> OrtStatus* { return nullptr; };
    lent_.push_back(std::move(lent));
    return static_cast<OrtAllocator*>(lent_.back().get());
  }
  return none;
}

Status PluginLibrary::release_factories() {
  Status first;
  for (const auto& l : lent_)
    if (l->factory->ReleaseAllocator) l->factory->ReleaseAllocator(l->factory, l->real);
  lent_.clear();
  devices_.clear();
  for (const auto& [factory, transfer] : transfers_)
    if (transfer->Release) transfer->Release(transfer);
  transfers_.clear();
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
  for (const auto& l : lent_)
    if (const int64_t blocks = l->blocks; blocks > 0)
      return error(Code::fail, "the plugin '{}' is in use: {} block{} of its '{}' memory {} still held", name_, blocks,
                   blocks == 1 ? "" : "s", l->memory.name, blocks == 1 ? "is" : "are");
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
