#include "abi/plugin/device_memory.h"

#include "abi/custom_operators.h"
#include "abi/slots.h"

namespace trunnion::abi {
namespace {

constexpr uint32_t kAllocators = 23;  // the version that brought CreateAllocator of factories and providers

bool is_device(const OrtMemoryInfo* memory) { return memory && !memory->host_accessible(); }

}  // namespace

void DeviceMemory::release() {
  for (OrtAllocator* a : made_)
    if (factory_->ReleaseAllocator) factory_->ReleaseAllocator(factory_, a);
  made_.clear();
}

Result<OrtAllocator*> DeviceMemory::make(OrtEp& ep, const OrtMemoryInfo& memory) {
  OrtAllocator* made = nullptr;
  if (ep.ort_version_supported >= kAllocators && ep.CreateAllocator)
    TRN_TRY(guarded([&] { return from_ort(ep.CreateAllocator(&ep, &memory, &made)); }));
  else if (factory_->ort_version_supported >= kAllocators && factory_->CreateAllocator)
    TRN_TRY(guarded([&] { return from_ort(factory_->CreateAllocator(factory_, &memory, nullptr, &made)); }));
  if (!made) return made;
  made_.push_back(made);
  if (!made->Alloc || !made->Free || !made->Info)
    return invalid_argument("the allocator for '{}' memory lacks a function that all have", memory.name);
  return made;
}

Status DeviceMemory::start(PluginLibrary& library, OrtEp& ep, std::span<const OrtEpDevice* const> devices) {
  factory_ = devices.front()->factory;
  for (const OrtEpDevice* d : devices) {
    if (!is_device(d->device_memory.get())) continue;
    if (device_ && *device_ != *d->device_memory)
      return not_implemented("the provider has '{}' and '{}' memory, and a session uses one kind", device_->name,
                             d->device_memory->name);
    device_ = d->device_memory;
    TRN_ASSIGN(for_device_, make(ep, *device_));
    if (!for_device_) return error(Code::fail, "the provider made no allocator for its '{}' memory", device_->name);
    if (d->constant_memory) {
      TRN_ASSIGN(for_constants_, make(ep, *d->constant_memory));
    }
    if (d->host_memory) {
      TRN_ASSIGN(for_host_, make(ep, *d->host_memory));
    }
  }
  if (!device_) return {};
  transfer_ = library.transfer(factory_);
  if (!transfer_ || !transfer_->CanCopy || !transfer_->CopyTensors)
    return error(Code::fail, "the provider has '{}' memory, but copies nothing to or from it", device_->name);
  const OrtMemoryInfo& host = *cpu_memory();
  if (!transfer_->CanCopy(transfer_, device_of(host), device_of(*device_)) ||
      !transfer_->CanCopy(transfer_, device_of(*device_), device_of(host)))
    return error(Code::fail, "the provider cannot copy between '{}' memory and the host", device_->name);
  return {};
}

Result<OrtValue> DeviceMemory::allocate(DType dtype, std::span<const int64_t> dims, bool constant) const {
  if (on_host()) {
    TRN_ASSIGN(Tensor t, Tensor::allocate(dtype, dims));
    return OrtValue{std::move(t), nullptr};
  }
  OrtAllocator* from = constant && for_constants_ ? for_constants_ : for_device_;
  const int64_t count = element_count(dims);
  const auto bytes = count < 0 ? std::nullopt : storage_bytes(dtype, count);
  if (!bytes || dtype == DType::string)
    return invalid_argument("{} of shape {} cannot lie in '{}' memory", dtype_name(dtype), shape_text(dims),
                            device_->name);
  void* data = *bytes ? from->Alloc(from, *bytes) : nullptr;
  if (*bytes && !data)
    return error(Code::fail, "the provider has no {} bytes of '{}' memory for a tensor of {} {}", *bytes, device_->name,
                 dtype_name(dtype), shape_text(dims));
  std::shared_ptr<const void> keep(data, [from](const void* p) {
    if (p) from->Free(from, const_cast<void*>(p));
  });
  return OrtValue{Tensor::borrow(dtype, dims, data, std::move(keep)), device_};
}

Status copy_tensors(OrtDataTransferImpl& transfer, std::span<const OrtValue* const> from, std::span<OrtValue* const> to,
                    OrtSyncStream* stream) {
  std::vector<const OrtValue*> sources;
  std::vector<OrtValue*> targets;
  for (size_t i = 0; i < from.size(); ++i) {
    if (!from[i]->value.tensor().bytes()) continue;
    sources.push_back(from[i]);
    targets.push_back(to[i]);
  }
  if (sources.empty()) return {};
  std::vector<OrtSyncStream*> streams(stream ? sources.size() : 0, stream);
  return guarded([&] {
           return from_ort(transfer.CopyTensors(&transfer, sources.data(), targets.data(),
                                                stream ? streams.data() : nullptr, sources.size()));
         })
      .with_context(fmt::format("copying {} tensors from '{}' to '{}' memory", sources.size(),
                                memory_of(*sources[0]).name, memory_of(*targets[0]).name));
}

Status DeviceMemory::copy(std::span<const OrtValue* const> from, std::span<OrtValue* const> to) const {
  return copy_tensors(*transfer_, from, to, nullptr);
}

OrtAllocator* DeviceMemory::default_allocator() const { return for_device_ ? for_device_ : abi::default_allocator(); }

Result<OrtAllocator*> DeviceMemory::allocator(const OrtMemoryInfo& memory) const {
  if (device_ && is_device(&memory)) {
    if (memory.device_type == device_->device_type && memory.vendor_id == device_->vendor_id &&
        memory.device_id == device_->device_id)
      return for_device_;
    return invalid_argument("the kernel has no '{}' memory; its device has '{}'", memory.name, device_->name);
  }
  if (is_device(&memory)) return invalid_argument("the kernel runs on the host, which has no '{}' memory", memory.name);
  if (memory.device_mem_type == OrtDeviceMemoryType_HOST_ACCESSIBLE && for_host_) return for_host_;
  return abi::default_allocator();
}

}  // namespace trunnion::abi
