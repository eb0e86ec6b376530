// Memory infos, execution-provider devices and hardware devices. Handles that the environment or a session owns travel
// as numbers between here and the Python classes of trunnion/_devices.py.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "values.h"

namespace trunnion::python {
namespace {

struct MemoryInfo {
  MemoryInfoPtr owned;
  const OrtMemoryInfo* handle = nullptr;
};

MemoryInfo make_memory_info(const std::string& name, int allocator, int id, int memory_type) {
  OrtMemoryInfo* made = nullptr;
  check(ort->CreateMemoryInfo(name.c_str(), static_cast<OrtAllocatorType>(allocator), id,
                              static_cast<OrtMemType>(memory_type), &made));
  return {MemoryInfoPtr(made), made};
}

MemoryInfo make_memory_info_v2(const std::string& name, int device_type, uint32_t vendor, int id, int memory_type,
                               size_t alignment, int allocator) {
  OrtMemoryInfo* made = nullptr;
  check(ort->CreateMemoryInfo_V2(name.c_str(), static_cast<OrtMemoryInfoDeviceType>(device_type), vendor, id,
                                 static_cast<OrtDeviceMemoryType>(memory_type), alignment,
                                 static_cast<OrtAllocatorType>(allocator), &made));
  return {MemoryInfoPtr(made), made};
}

nb::object memory_name(const MemoryInfo& self) {
  const char* name = nullptr;
  check(ort->MemoryInfoGetName(self.handle, &name));
  return to_str(name);
}

int memory_device_id(const MemoryInfo& self) {
  int id = 0;
  check(ort->MemoryInfoGetId(self.handle, &id));
  return id;
}

int memory_type(const MemoryInfo& self) {
  OrtMemType type = OrtMemTypeDefault;
  check(ort->MemoryInfoGetMemType(self.handle, &type));
  return type;
}

int allocator_type(const MemoryInfo& self) {
  OrtAllocatorType type = OrtInvalidAllocator;
  check(ort->MemoryInfoGetType(self.handle, &type));
  return type;
}

nb::dict dict_of(const OrtKeyValuePairs* pairs) {
  nb::dict result;
  if (!pairs) return result;
  const char *const *keys = nullptr, *const *values = nullptr;
  size_t count = 0;
  ort->GetKeyValuePairs(pairs, &keys, &values, &count);
  for (size_t i = 0; i < count; ++i) result[to_str(keys[i])] = to_str(values[i]);
  return result;
}

nb::dict describe_hardware(uintptr_t handle) {
  const auto* device = reinterpret_cast<const OrtHardwareDevice*>(handle);
  nb::dict result;
  result["type"] = static_cast<int>(ort->HardwareDevice_Type(device));
  result["vendor"] = to_str(ort->HardwareDevice_Vendor(device));
  result["vendor_id"] = ort->HardwareDevice_VendorId(device);
  result["device_id"] = ort->HardwareDevice_DeviceId(device);
  result["metadata"] = dict_of(ort->HardwareDevice_Metadata(device));
  return result;
}

nb::dict describe_ep_device(uintptr_t handle) {
  const auto* device = reinterpret_cast<const OrtEpDevice*>(handle);
  nb::dict result;
  result["ep_name"] = to_str(ort->EpDevice_EpName(device));
  result["ep_vendor"] = to_str(ort->EpDevice_EpVendor(device));
  result["ep_metadata"] = dict_of(ort->EpDevice_EpMetadata(device));
  result["ep_options"] = dict_of(ort->EpDevice_EpOptions(device));
  result["device"] = reinterpret_cast<uintptr_t>(ort->EpDevice_Device(device));
  return result;
}

std::vector<uintptr_t> ep_devices() {
  const OrtEpDevice* const* devices = nullptr;
  size_t count = 0;
  check(ort->GetEpDevices(environment(), &devices, &count));
  std::vector<uintptr_t> result;
  for (size_t i = 0; i < count; ++i) result.push_back(reinterpret_cast<uintptr_t>(devices[i]));
  return result;
}

std::vector<uintptr_t> hardware_devices() {
  size_t count = 0;
  check(ort->GetNumHardwareDevices(environment(), &count));
  std::vector<const OrtHardwareDevice*> devices(count);
  check(ort->GetHardwareDevices(environment(), devices.data(), count));
  std::vector<uintptr_t> result;
  for (const OrtHardwareDevice* device : devices) result.push_back(reinterpret_cast<uintptr_t>(device));
  return result;
}

uintptr_t ep_memory(uintptr_t device, int type) {
  return reinterpret_cast<uintptr_t>(
      ort->EpDevice_MemoryInfo(reinterpret_cast<const OrtEpDevice*>(device), static_cast<OrtDeviceMemoryType>(type)));
}

void copy_tensors(const std::vector<nb::object>& from, const std::vector<nb::object>& to) {
  if (from.size() != to.size()) throw nb::value_error("source and destination differ in number");
  std::vector<const OrtValue*> sources;
  std::vector<OrtValue*> targets;
  for (size_t i = 0; i < from.size(); ++i) {
    const Value *source = as_value(from[i]), *target = as_value(to[i]);
    if (!source || !target) throw nb::type_error("copy_tensors takes OrtValues");
    sources.push_back(source->handle.get());
    targets.push_back(target->handle.get());
  }
  check(ort->CopyTensors(environment(), sources.data(), targets.data(), nullptr, sources.size()));
}

}  // namespace

void add_devices(nb::module_& m) {
  nb::class_<MemoryInfo>(m, "MemoryInfo")
      .def("__init__", [](MemoryInfo* self, const std::string& name, int allocator, int id,
                          int memory) { new (self) MemoryInfo(make_memory_info(name, allocator, id, memory)); })
      .def_static("_create_v2", &make_memory_info_v2)
      .def_static("_borrow",
                  [](uintptr_t handle) {
                    return MemoryInfo{nullptr, reinterpret_cast<const OrtMemoryInfo*>(handle)};
                  })
      .def_prop_ro("_handle", [](const MemoryInfo& self) { return reinterpret_cast<uintptr_t>(self.handle); })
      .def_prop_ro("name", &memory_name)
      .def_prop_ro("device_id", &memory_device_id)
      .def_prop_ro("_mem_type", &memory_type)
      .def_prop_ro("_allocator_type", &allocator_type)
      .def_prop_ro(
          "_device_mem_type",
          [](const MemoryInfo& self) { return static_cast<int>(ort->MemoryInfoGetDeviceMemType(self.handle)); })
      .def_prop_ro("device_vendor_id", [](const MemoryInfo& self) { return ort->MemoryInfoGetVendorId(self.handle); });
  m.def("describe_hardware", &describe_hardware);
  m.def("describe_ep_device", &describe_ep_device);
  m.def("ep_devices", &ep_devices);
  m.def("hardware_devices", &hardware_devices);
  m.def("ep_memory", &ep_memory);
  m.def("copy_tensors", &copy_tensors);
}

}  // namespace trunnion::python
