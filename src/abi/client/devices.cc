// Process: what the OrtEnvs share; and the accessors of hardware and EP devices.
#include <algorithm>

#include "abi/env.h"
#include "abi/plugin/device_memory.h"
#include "abi/slots.h"
#include "base/cpu_info.h"
#include "base/os_devices.h"

namespace trunnion::abi {
namespace {

constexpr uint32_t kIntel = 0x8086, kAmd = 0x1022;

const char* pci_vendor(uint32_t id) {
  switch (id) {
    case 0x10de:
      return "NVIDIA";
    case 0x1002:
      return "AMD";
    case kIntel:
      return "Intel";
    case 0x5143:
      return "Qualcomm";
    default:
      return "unknown";
  }
}

}  // namespace

const char* kind_of(const OrtEpDevice& device) {
  switch (device.device ? device.device->type : OrtHardwareDeviceType_CPU) {
    case OrtHardwareDeviceType_GPU:
      return "GPU";
    case OrtHardwareDeviceType_NPU:
      return "NPU";
    default:
      return "CPU";
  }
}

std::shared_ptr<Process> Process::acquire() {
  static std::mutex mutex;
  static std::weak_ptr<Process> current;
  const std::lock_guard lock(mutex);
  auto process = current.lock();
  if (!process) current = process = std::make_shared<Process>();
  return process;
}

Process::Process() {
  const CpuInfo& cpu = cpu_info();
  cpu_.vendor_id = cpu.is_intel ? kIntel : cpu.is_amd ? kAmd : 0;
  cpu_.vendor = cpu.is_intel ? "Intel" : cpu.is_amd ? "AMD" : "unknown";
  compatible_cpu_ = cpu_;
  compatible_cpu_.vendor_id = kIntel;
  cpu_device_.ep_name = kCpuProvider;
  cpu_device_.ep_vendor = "trunnion";
  cpu_device_.metadata.set("version", TRUNNION_VERSION);
  cpu_device_.device = &cpu_;
  ep_device_list_ = {&cpu_device_};
}

const std::vector<const OrtHardwareDevice*>& Process::hardware() {
  const std::lock_guard lock(mutex_);
  if (!hardware_list_.empty()) return hardware_list_;
  hardware_list_ = {&cpu_};
  for (const os::Accelerator& found : os::accelerators()) {
    auto& made = *accelerators_.emplace_back(std::make_unique<OrtHardwareDevice>());
    made.type = found.neural ? OrtHardwareDeviceType_NPU : OrtHardwareDeviceType_GPU;
    made.vendor_id = found.vendor_id;
    made.device_id = found.device_id;
    made.vendor = pci_vendor(found.vendor_id);
    if (!found.pci_bus_id.empty()) made.metadata.set("pci_bus_id", found.pci_bus_id);
    if (found.card >= 0) made.metadata.set("card_idx", std::to_string(found.card));
    if (found.discrete) made.metadata.set("Discrete", *found.discrete ? "1" : "0");
    hardware_list_.push_back(&made);
  }
  return hardware_list_;
}

Status Process::register_library(std::string name, std::string path, const Logger& logger) {
  const auto& devices = hardware();
  {
    const std::lock_guard lock(mutex_);
    if (std::ranges::find(libraries_, name, &PluginLibrary::name) != libraries_.end())
      return invalid_argument("a plugin is registered as '{}' already", name);
  }
  const OrtHardwareDevice* otherwise = cpu_.vendor_id == kAmd ? &compatible_cpu_ : nullptr;
  TRN_ASSIGN(auto library, PluginLibrary::load(std::move(name), std::move(path), logger, devices, otherwise));
  const std::lock_guard lock(mutex_);
  for (const auto& d : library->devices()) ep_device_list_.push_back(d.get());
  libraries_.push_back(std::move(library));
  return {};
}

Status Process::unregister_library(std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto it = std::ranges::find(libraries_, name, &PluginLibrary::name);
  if (it == libraries_.end()) return invalid_argument("no plugin is registered as '{}'", name);
  TRN_TRY((*it)->check_unused());
  const std::shared_ptr<PluginLibrary> library = std::move(*it);
  libraries_.erase(it);
  for (const auto& d : library->devices()) std::erase(ep_device_list_, d.get());
  return library->unload();
}

std::vector<std::shared_ptr<PluginLibrary>> Process::libraries() const {
  const std::lock_guard lock(mutex_);
  return libraries_;
}

std::shared_ptr<PluginLibrary> Process::library_of(const OrtEpDevice* device) const {
  const std::lock_guard lock(mutex_);
  for (const auto& library : libraries_)
    for (const auto& d : library->devices())
      if (d.get() == device) return library;
  return nullptr;
}

Status Process::add_allocator(const OrtMemoryInfo& memory, OrtAllocator* allocator, bool replace) {
  const std::lock_guard lock(mutex_);
  const auto it = std::ranges::find(allocators_, memory, &Shared::memory);
  if (it == allocators_.end())
    allocators_.push_back({memory, allocator});
  else if (replace)
    it->allocator = allocator;
  else
    return invalid_argument("an allocator for '{}' memory is registered already", memory.name);
  return {};
}

Status Process::remove_allocator(const OrtMemoryInfo& memory) {
  const std::lock_guard lock(mutex_);
  if (!std::erase_if(allocators_, [&](const Shared& s) { return s.memory == memory; }))
    return invalid_argument("no allocator for this '{}' memory is registered", memory.name);
  return {};
}

Result<OrtAllocator*> Process::find_allocator(const OrtMemoryInfo& memory) const {
  const std::lock_guard lock(mutex_);
  const auto it = std::ranges::find(allocators_, memory, &Shared::memory);
  if (it != allocators_.end()) return it->allocator;
  for (const auto& library : libraries_) {
    TRN_ASSIGN(OrtAllocator * found, library->allocator(memory));
    if (found) return found;
  }
  return memory.device_type == OrtMemoryInfoDeviceType_CPU ? default_allocator() : nullptr;
}

Result<OrtAllocator*> Process::allocator_for(const OrtMemoryInfo& memory) {
  TRN_ASSIGN(OrtAllocator * found, find_allocator(memory));
  if (found) return found;
  return invalid_argument("there is no allocator for '{}' memory", memory.name);
}

Status Process::copy(std::span<const OrtValue* const> from, std::span<OrtValue* const> to,
                     OrtSyncStream* stream) const {
  // Kept while it copies: no library is unloaded meanwhile.
  const auto libraries = this->libraries();
  for (size_t begin = 0; begin < from.size();) {
    const OrtMemoryInfo &source = memory_of(*from[begin]), &target = memory_of(*to[begin]);
    OrtDataTransferImpl* transfer = nullptr;
    std::unique_lock<std::mutex> alone;
    for (const auto& library : libraries) {
      transfer = library->transfer(source, target);
      if (!transfer) continue;
      alone = library->alone();
      break;
    }
    if (!transfer) return invalid_argument("nothing copies tensors from '{}' to '{}' memory", source.name, target.name);
    size_t end = begin;
    while (end < from.size() && memory_of(*from[end]) == source && memory_of(*to[end]) == target) ++end;
    TRN_TRY(copy_tensors(*transfer, from.subspan(begin, end - begin), to.subspan(begin, end - begin), stream));
    begin = end;
  }
  return {};
}

ORT_FN(GetNumHardwareDevices, (const OrtEnv* env, size_t* num_devices)) {
  TRN_REQUIRE(env, num_devices);
  *num_devices = env->process->hardware().size();
  return {};
}

ORT_FN(GetHardwareDevices, (const OrtEnv* env, const OrtHardwareDevice** devices, size_t num_devices)) {
  TRN_REQUIRE(env, devices);
  const auto& all = env->process->hardware();
  if (num_devices < all.size())
    return invalid_argument("GetHardwareDevices: room for {} devices, there are {}", num_devices, all.size());
  std::ranges::copy(all, devices);
  return {};
}

ORT_FN(GetEpDevices, (const OrtEnv* env, const OrtEpDevice* const** ep_devices, size_t* num_ep_devices)) {
  TRN_REQUIRE(env, ep_devices, num_ep_devices);
  *ep_devices = env->process->ep_devices().data();
  *num_ep_devices = env->process->ep_devices().size();
  return {};
}

ORT_FN_AS(OrtHardwareDeviceType, HardwareDevice_Type, (const OrtHardwareDevice* device)) {
  return device ? device->type : OrtHardwareDeviceType_CPU;
}
ORT_FN_AS(uint32_t, HardwareDevice_VendorId, (const OrtHardwareDevice* device)) {
  return device ? device->vendor_id : 0;
}
ORT_FN_AS(const char*, HardwareDevice_Vendor, (const OrtHardwareDevice* device)) {
  return device ? device->vendor.c_str() : "";
}
ORT_FN_AS(uint32_t, HardwareDevice_DeviceId, (const OrtHardwareDevice* device)) {
  return device ? device->device_id : 0;
}
ORT_FN_AS(const OrtKeyValuePairs*, HardwareDevice_Metadata, (const OrtHardwareDevice* device)) {
  return device ? &device->metadata : nullptr;
}

ORT_FN_AS(const char*, EpDevice_EpName, (const OrtEpDevice* ep_device)) {
  return ep_device ? ep_device->ep_name.c_str() : "";
}
ORT_FN_AS(const char*, EpDevice_EpVendor, (const OrtEpDevice* ep_device)) {
  return ep_device ? ep_device->ep_vendor.c_str() : "";
}
ORT_FN_AS(const OrtKeyValuePairs*, EpDevice_EpMetadata, (const OrtEpDevice* ep_device)) {
  return ep_device ? &ep_device->metadata : nullptr;
}
ORT_FN_AS(const OrtKeyValuePairs*, EpDevice_EpOptions, (const OrtEpDevice* ep_device)) {
  return ep_device ? &ep_device->options : nullptr;
}
ORT_FN_AS(const OrtHardwareDevice*, EpDevice_Device, (const OrtEpDevice* ep_device)) {
  return ep_device ? ep_device->device : nullptr;
}
ORT_FN_AS(const OrtMemoryInfo*, EpDevice_MemoryInfo, (const OrtEpDevice* ep_device, OrtDeviceMemoryType memory_type)) {
  if (!ep_device) return nullptr;
  return memory_type == OrtDeviceMemoryType_HOST_ACCESSIBLE ? ep_device->host_memory.get()
                                                            : ep_device->device_memory.get();
}

}  // namespace trunnion::abi
