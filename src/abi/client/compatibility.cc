// Whether a compiled model and a device fit the execution providers that are here.
#include "abi/custom_operators.h"
#include "abi/env.h"
#include "abi/slots.h"
#include "base/mapped_file.h"
#include "onnx/reader.h"

namespace trunnion::abi {
namespace {

// Providers leave what they say of a model that they compiled in its metadata. NULL: nothing is there.
Status compatibility_info(std::span<const std::byte> bytes, const char* path, const char* ep_type,
                          OrtAllocator* allocator, char** out) {
  *out = nullptr;
  TRN_ASSIGN(const auto model, onnx::parse(bytes, path));
  const std::string key = fmt::format("ep_compatibility_info.{}", ep_type);
  for (const auto& entry : model.metadata_props)
    if (entry.key == key) return copy_string(allocator, entry.value, out);
  return {};
}

}  // namespace

ORT_FN(GetCompatibilityInfoFromModel,
       (const ORTCHAR_T* model_path, const char* ep_type, OrtAllocator* allocator, char** compatibility_info)) {
  TRN_REQUIRE(model_path, ep_type, allocator, compatibility_info);
  TRN_ASSIGN(const auto file, MappedFile::open(model_path, OpenMode::map));
  return abi::compatibility_info(file->bytes(), model_path, ep_type, allocator, compatibility_info);
}

ORT_FN(GetCompatibilityInfoFromModelBytes, (const void* model_data, size_t model_data_length, const char* ep_type,
                                            OrtAllocator* allocator, char** compatibility_info)) {
  TRN_REQUIRE(model_data, ep_type, allocator, compatibility_info);
  return abi::compatibility_info({static_cast<const std::byte*>(model_data), model_data_length}, "", ep_type, allocator,
                                 compatibility_info);
}

// A plugin says it itself; the CPU provider compiles nothing that could be out of date.
ORT_FN(GetModelCompatibilityForEpDevices, (const OrtEpDevice* const* ep_devices, size_t num_ep_devices,
                                           const char* compatibility_info, OrtCompiledModelCompatibility* out_status)) {
  TRN_REQUIRE(ep_devices, compatibility_info, out_status);
  if (!num_ep_devices) return invalid_argument("at least one OrtEpDevice is needed");
  for (size_t i = 0; i < num_ep_devices; ++i) {
    TRN_REQUIRE(ep_devices[i]);
    if (ep_devices[i]->ep_name != ep_devices[0]->ep_name)
      return invalid_argument("all devices must be of one execution provider, not of {} and {}", ep_devices[0]->ep_name,
                              ep_devices[i]->ep_name);
  }
  *out_status = OrtCompiledModelCompatibility_EP_NOT_APPLICABLE;
  OrtEpFactory* factory = ep_devices[0]->factory;
  constexpr uint32_t kValidates = 23;
  if (!factory || factory->ort_version_supported < kValidates || !factory->ValidateCompiledModelCompatibilityInfo)
    return {};
  std::vector<const OrtHardwareDevice*> hardware;
  for (size_t i = 0; i < num_ep_devices; ++i) hardware.push_back(ep_devices[i]->device);
  return guarded([&] {
    return from_ort(factory->ValidateCompiledModelCompatibilityInfo(factory, hardware.data(), hardware.size(),
                                                                    compatibility_info, out_status));
  });
}

ORT_FN(GetHardwareDeviceEpIncompatibilityDetails, (const OrtEnv* env, const char* ep_name, const OrtHardwareDevice* hw,
                                                   OrtDeviceEpIncompatibilityDetails** details)) {
  TRN_REQUIRE(env, ep_name, hw, details);
  if (ep_name != kCpuProvider) return invalid_argument("there is no execution provider '{}' here", ep_name);
  auto made = std::make_unique<OrtDeviceEpIncompatibilityDetails>();
  if (hw->type != OrtHardwareDeviceType_CPU) {
    made->reasons = OrtDeviceEpIncompatibility_DEVICE_INCOMPATIBLE;
    made->notes = "the provider runs on CPUs only";
  }
  *details = made.release();
  return {};
}

ORT_FN(DeviceEpIncompatibilityDetails_GetReasonsBitmask,
       (const OrtDeviceEpIncompatibilityDetails* details, uint32_t* reasons_bitmask)) {
  TRN_REQUIRE(details, reasons_bitmask);
  *reasons_bitmask = details->reasons;
  return {};
}

ORT_FN(DeviceEpIncompatibilityDetails_GetNotes,
       (const OrtDeviceEpIncompatibilityDetails* details, const char** notes)) {
  TRN_REQUIRE(details, notes);
  *notes = details->notes.empty() ? nullptr : details->notes.c_str();
  return {};
}

ORT_FN(DeviceEpIncompatibilityDetails_GetErrorCode,
       (const OrtDeviceEpIncompatibilityDetails* details, int32_t* error_code)) {
  TRN_REQUIRE(details, error_code);
  *error_code = details->error_code;
  return {};
}

ORT_FN_AS(void, ReleaseDeviceEpIncompatibilityDetails, (OrtDeviceEpIncompatibilityDetails * details)) {
  delete details;
}

TABLE_FN(OrtEpApi, DeviceEpIncompatibilityDetails_SetDetails,
         (OrtDeviceEpIncompatibilityDetails * details, uint32_t reasons_bitmask, int32_t error_code,
          const char* notes)) {
  TRN_REQUIRE(details);
  details->reasons = reasons_bitmask;
  details->error_code = error_code;
  details->notes = notes ? notes : "";
  return {};
}

// The model that a compiled one without weights takes them from; the bytes stay the caller's.
ORT_FN(SessionOptionsSetWeightlessSourceModelBuffer,
       (OrtSessionOptions * options, const void* source_model_data, size_t source_model_data_length)) {
  TRN_REQUIRE(options, source_model_data);
  options->options.weightless_source = {static_cast<const std::byte*>(source_model_data), source_model_data_length};
  return {};
}

TABLE_FN(OrtEpApi, SessionOptionsGetWeightlessSourceModelBuffer,
         (const OrtSessionOptions* session_options, const void** source_model_data, size_t* source_model_data_length)) {
  TRN_REQUIRE(session_options, source_model_data, source_model_data_length);
  *source_model_data = session_options->options.weightless_source.data();
  *source_model_data_length = session_options->options.weightless_source.size();
  return {};
}

}  // namespace trunnion::abi
