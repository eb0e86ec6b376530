// The memory of a plugin's device, as one session uses it: what is allocated there, and copies there and back.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "abi/plugin/library.h"

namespace trunnion::abi {

class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  // Gives the allocators back, before the provider goes.
  void release();
  // Asks the provider, or else its factory, for allocators of the memory that the devices say they have.
  Status start(PluginLibrary& library, OrtEp& ep, std::span<const OrtEpDevice* const> devices);

  // Whether kernels take and give ordinary memory of the host.
  bool on_host() const { return !device_; }
  const OrtMemoryInfo& info() const { return device_ ? *device_ : *cpu_memory(); }
  const std::shared_ptr<const OrtMemoryInfo>& info_pointer() const { return device_; }
  // An uninitialised tensor; its memory goes back with the last copy of it. constant: it is written once.
  Result<OrtValue> allocate(DType dtype, std::span<const int64_t> dims, bool constant = false) const;
  // One call for all of them; either side may be the host.
  Status copy(std::span<const OrtValue* const> from, std::span<OrtValue* const> to) const;
  // The one for such memory; an error names what there is.
  Result<OrtAllocator*> allocator(const OrtMemoryInfo& memory) const;
  OrtAllocator* default_allocator() const;

 private:
  Result<OrtAllocator*> make(OrtEp& ep, const OrtMemoryInfo& memory);

  OrtEpFactory* factory_ = nullptr;
  OrtDataTransferImpl* transfer_ = nullptr;  // the library's
  std::shared_ptr<const OrtMemoryInfo> device_;
  OrtAllocator* for_device_ = nullptr;
  OrtAllocator* for_constants_ = nullptr;  // null: for_device_
  OrtAllocator* for_host_ = nullptr;       // memory of the host that the device reads; null: there is none
  std::vector<OrtAllocator*> made_;
};

// One call for all of them; what has no elements is left out. stream: null for none.
Status copy_tensors(OrtDataTransferImpl& transfer, std::span<const OrtValue* const> from, std::span<OrtValue* const> to,
                    OrtSyncStream* stream);

// The part of a memory info that says where; both are one object here.
inline const OrtMemoryDevice* device_of(const OrtMemoryInfo& memory) {
  return reinterpret_cast<const OrtMemoryDevice*>(&memory);
}

}  // namespace trunnion::abi
