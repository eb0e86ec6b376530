// Process: what the OrtEnvs share; and the accessors of hardware and EP devices.
#include <algorithm>

#include "abi/env.h"
#include "abi/slots.h"
#include "base/cpu_info.h"

namespace trunnion::abi {

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
  cpu_.vendor_id = cpu.is_intel ? 0x8086 : cpu.is_amd ? 0x1022 : 0;
  cpu_.vendor = cpu.is_intel ? "Intel" : cpu.is_amd ? "AMD" : "unknown";
  cpu_device_.ep_name = kCpuProvider;
  cpu_device_.ep_vendor = "trunnion";
  cpu_device_.metadata.set("version", TRUNNION_VERSION);
  cpu_device_.device = &cpu_;
  hardware_list_ = {&cpu_};
  ep_device_list_ = {&cpu_device_};
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

OrtAllocator* Process::find_allocator(const OrtMemoryInfo& memory) const {
  const std::lock_guard lock(mutex_);
  const auto it = std::ranges::find(allocators_, memory, &Shared::memory);
  if (it != allocators_.end()) return it->allocator;
  return memory.device_type == OrtMemoryInfoDeviceType_CPU ? default_allocator() : nullptr;
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

ORT_FN_AS(OrtHardwareDeviceType, HardwareDevice_Type, (const OrtHardwareDevice* device)) { return device->type; }
ORT_FN_AS(uint32_t, HardwareDevice_VendorId, (const OrtHardwareDevice* device)) { return device->vendor_id; }
ORT_FN_AS(const char*, HardwareDevice_Vendor, (const OrtHardwareDevice* device)) { return device->vendor.c_str(); }
ORT_FN_AS(uint32_t, HardwareDevice_DeviceId, (const OrtHardwareDevice* device)) { return device->device_id; }
ORT_FN_AS(const OrtKeyValuePairs*, HardwareDevice_Metadata, (const OrtHardwareDevice* device)) {
  return &device->metadata;
}

ORT_FN_AS(const char*, EpDevice_EpName, (const OrtEpDevice* ep_device)) { return ep_device->ep_name.c_str(); }
ORT_FN_AS(const char*, EpDevice_EpVendor, (const OrtEpDevice* ep_device)) { return ep_device->ep_vendor.c_str(); }
ORT_FN_AS(const OrtKeyValuePairs*, EpDevice_EpMetadata, (const OrtEpDevice* ep_device)) { return &ep_device->metadata; }
ORT_FN_AS(const OrtKeyValuePairs*, EpDevice_EpOptions, (const OrtEpDevice* ep_device)) { return &ep_device->options; }
ORT_FN_AS(const OrtHardwareDevice*, EpDevice_Device, (const OrtEpDevice* ep_device)) { return ep_device->device; }
ORT_FN_AS(const OrtMemoryInfo*, EpDevice_MemoryInfo, (const OrtEpDevice* ep_device, OrtDeviceMemoryType memory_type)) {
  return memory_type == OrtDeviceMemoryType_HOST_ACCESSIBLE ? ep_device->host_memory.get()
                                                            : ep_device->device_memory.get();
}

}  // namespace trunnion::abi
