// Option objects of vendors' providers that this build does not have: none can be made, so nothing can be asked of one.
#include "abi/handles.h"
#include "abi/slots.h"

namespace trunnion::abi {
namespace {

Status absent(std::string_view name) {
  return error(Code::fail, "{} execution provider is not enabled in this build.", name);
}

}  // namespace

ORT_FN(UpdateCUDAProviderOptions, (OrtCUDAProviderOptionsV2*, const char* const*, const char* const*, size_t)) {
  return absent("CUDA");
}
ORT_FN(GetCUDAProviderOptionsAsString, (const OrtCUDAProviderOptionsV2*, OrtAllocator*, char**)) {
  return absent("CUDA");
}
ORT_FN_AS(void, ReleaseCUDAProviderOptions, (OrtCUDAProviderOptionsV2*)) {}
ORT_FN(UpdateCUDAProviderOptionsWithValue, (OrtCUDAProviderOptionsV2*, const char*, void*)) { return absent("CUDA"); }
ORT_FN(GetCUDAProviderOptionsByName, (const OrtCUDAProviderOptionsV2*, const char*, void**)) { return absent("CUDA"); }

ORT_FN(UpdateTensorRTProviderOptions, (OrtTensorRTProviderOptionsV2*, const char* const*, const char* const*, size_t)) {
  return absent("TensorRT");
}
ORT_FN(GetTensorRTProviderOptionsAsString, (const OrtTensorRTProviderOptionsV2*, OrtAllocator*, char**)) {
  return absent("TensorRT");
}
ORT_FN_AS(void, ReleaseTensorRTProviderOptions, (OrtTensorRTProviderOptionsV2*)) {}
ORT_FN(UpdateTensorRTProviderOptionsWithValue, (OrtTensorRTProviderOptionsV2*, const char*, void*)) {
  return absent("TensorRT");
}
ORT_FN(GetTensorRTProviderOptionsByName, (const OrtTensorRTProviderOptionsV2*, const char*, void**)) {
  return absent("TensorRT");
}

ORT_FN(UpdateROCMProviderOptions, (OrtROCMProviderOptions*, const char* const*, const char* const*, size_t)) {
  return absent("ROCM");
}
ORT_FN(GetROCMProviderOptionsAsString, (const OrtROCMProviderOptions*, OrtAllocator*, char**)) {
  return absent("ROCM");
}
ORT_FN_AS(void, ReleaseROCMProviderOptions, (OrtROCMProviderOptions*)) {}

ORT_FN(UpdateCANNProviderOptions, (OrtCANNProviderOptions*, const char* const*, const char* const*, size_t)) {
  return absent("CANN");
}
ORT_FN(GetCANNProviderOptionsAsString, (const OrtCANNProviderOptions*, OrtAllocator*, char**)) {
  return absent("CANN");
}
ORT_FN_AS(void, ReleaseCANNProviderOptions, (OrtCANNProviderOptions*)) {}

ORT_FN(UpdateDnnlProviderOptions, (OrtDnnlProviderOptions*, const char* const*, const char* const*, size_t)) {
  return absent("oneDNN");
}
ORT_FN(GetDnnlProviderOptionsAsString, (const OrtDnnlProviderOptions*, OrtAllocator*, char**)) {
  return absent("oneDNN");
}
ORT_FN_AS(void, ReleaseDnnlProviderOptions, (OrtDnnlProviderOptions*)) {}

}  // namespace trunnion::abi
