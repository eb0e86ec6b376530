// OrtMemoryInfo: where memory lies.
#include "abi/handles.h"
#include "abi/slots.h"

namespace trunnion::abi {
namespace {

struct Device {
  std::string_view name;
  std::string_view canonical;
  OrtMemoryInfoDeviceType type;
  OrtDeviceMemoryType memory;
  uint32_t vendor;  // PCI vendor id
};

constexpr uint32_t kNvidia = 0x10de, kAmd = 0x1002, kMicrosoft = 0x1414, kQualcomm = 0x5143, kIntel = 0x8086,
                   kHuawei = 0x19e5;
constexpr auto kCpu = OrtMemoryInfoDeviceType_CPU, kNpu = OrtMemoryInfoDeviceType_NPU;
constexpr auto kGpu = OrtMemoryInfoDeviceType_GPU;
constexpr auto kPlain = OrtDeviceMemoryType_DEFAULT, kHost = OrtDeviceMemoryType_HOST_ACCESSIBLE;

constexpr Device kDevices[] = {
    {"Cpu", "Cpu", kCpu, kPlain, 0},
    {"Cuda", "Cuda", kGpu, kPlain, kNvidia},
    {"CudaPinned", "CudaPinned", kGpu, kHost, kNvidia},
    {"Hip", "Hip", kGpu, kPlain, kAmd},
    {"HipPinned", "HipPinned", kGpu, kHost, kAmd},
    {"Cann", "Cann", kNpu, kPlain, kHuawei},
    {"CannPinned", "CannPinned", kNpu, kHost, kHuawei},
    {"DML", "DML", kGpu, kPlain, kMicrosoft},
    {"OpenVINO_GPU", "OpenVINO_GPU", kGpu, kPlain, kIntel},
    {"OpenVINO_RT_NPU", "OpenVINO_RT_NPU", kNpu, kPlain, kIntel},
    {"QnnHtpShared", "QnnHtpShared", kCpu, kHost, kQualcomm},
    {"WebGPU_Buffer", "WebGPU_Buf", kGpu, kPlain, 0},
    {"WebGPU_Buf", "WebGPU_Buf", kGpu, kPlain, 0},
    {"WebNN_Tensor", "WebNN_Ten", kGpu, kPlain, 0},
    {"WebNN_Ten", "WebNN_Ten", kGpu, kPlain, 0},
};

}  // namespace

const std::shared_ptr<const OrtMemoryInfo>& cpu_memory() {
  static const std::shared_ptr<const OrtMemoryInfo> info = [] {
    auto cpu = std::make_shared<OrtMemoryInfo>();
    cpu->name = "Cpu";
    return cpu;
  }();
  return info;
}

ORT_FN(CreateMemoryInfo, (const char* name, OrtAllocatorType type, int id, OrtMemType mem_type, OrtMemoryInfo** out)) {
  TRN_REQUIRE(name, out);
  for (const auto& device : kDevices) {
    if (device.name != name) continue;
    auto info = std::make_unique<OrtMemoryInfo>();
    info->name = device.canonical;
    info->allocator_type = type;
    info->device_id = id;
    info->mem_type = mem_type;
    info->device_type = device.type;
    info->device_mem_type = device.memory;
    info->vendor_id = device.vendor;
    *out = info.release();
    return {};
  }
  return invalid_argument("CreateMemoryInfo: no device is called '{}'; CreateMemoryInfo_V2 takes any name", name);
}

ORT_FN(CreateMemoryInfo_V2,
       (const char* name, OrtMemoryInfoDeviceType device_type, uint32_t vendor_id, int32_t device_id,
        OrtDeviceMemoryType mem_type, size_t alignment, OrtAllocatorType allocator_type, OrtMemoryInfo** out)) {
  TRN_REQUIRE(name, out);
  auto info = std::make_unique<OrtMemoryInfo>();
  info->name = name;
  info->allocator_type = allocator_type;
  info->device_id = device_id;
  info->mem_type = mem_type == OrtDeviceMemoryType_HOST_ACCESSIBLE ? OrtMemTypeCPU : OrtMemTypeDefault;
  info->device_type = device_type;
  info->device_mem_type = mem_type;
  info->vendor_id = vendor_id;
  info->alignment = alignment;
  *out = info.release();
  return {};
}

ORT_FN(CreateCpuMemoryInfo, (OrtAllocatorType type, OrtMemType mem_type, OrtMemoryInfo** out)) {
  TRN_REQUIRE(out);
  auto info = std::make_unique<OrtMemoryInfo>(*cpu_memory());
  info->allocator_type = type;
  info->mem_type = mem_type;
  *out = info.release();
  return {};
}

ORT_FN_AS(void, ReleaseMemoryInfo, (OrtMemoryInfo * info)) { delete info; }

ORT_FN(CompareMemoryInfo, (const OrtMemoryInfo* info1, const OrtMemoryInfo* info2, int* out)) {
  TRN_REQUIRE(info1, info2, out);
  *out = *info1 == *info2 ? 0 : -1;
  return {};
}

ORT_FN(MemoryInfoGetName, (const OrtMemoryInfo* ptr, const char** out)) {
  TRN_REQUIRE(ptr, out);
  *out = ptr->name.c_str();
  return {};
}

ORT_FN(MemoryInfoGetId, (const OrtMemoryInfo* ptr, int* out)) {
  TRN_REQUIRE(ptr, out);
  *out = ptr->device_id;
  return {};
}

ORT_FN(MemoryInfoGetMemType, (const OrtMemoryInfo* ptr, OrtMemType* out)) {
  TRN_REQUIRE(ptr, out);
  *out = ptr->mem_type;
  return {};
}

ORT_FN(MemoryInfoGetType, (const OrtMemoryInfo* ptr, OrtAllocatorType* out)) {
  TRN_REQUIRE(ptr, out);
  *out = ptr->allocator_type;
  return {};
}

ORT_FN_AS(void, MemoryInfoGetDeviceType, (const OrtMemoryInfo* ptr, OrtMemoryInfoDeviceType* out)) {
  if (ptr && out) *out = ptr->device_type;
}

ORT_FN_AS(OrtDeviceMemoryType, MemoryInfoGetDeviceMemType, (const OrtMemoryInfo* ptr)) {
  return ptr ? ptr->device_mem_type : OrtDeviceMemoryType_DEFAULT;
}

ORT_FN_AS(uint32_t, MemoryInfoGetVendorId, (const OrtMemoryInfo* ptr)) { return ptr ? ptr->vendor_id : 0; }

}  // namespace trunnion::abi
