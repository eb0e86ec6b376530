// OrtStatus: error codes and texts, and how the engine's Status becomes one.
#include "abi/handles.h"
#include "abi/slots.h"

namespace trunnion::abi {

OrtStatus* out_of_memory() noexcept {
  static OrtStatus status{Status(Code::runtime_exception, "std::bad_alloc: out of memory")};
  return &status;
}

OrtStatus* to_ort(Status status) noexcept {
  if (status.ok()) return nullptr;
  auto* out = new (std::nothrow) OrtStatus{std::move(status)};
  return out ? out : out_of_memory();
}

OrtStatus* from_exception(const char* what) noexcept {
  try {
    return to_ort(Status(Code::runtime_exception, what));
  } catch (...) {
    return out_of_memory();
  }
}

OrtStatus* not_written(const char* name) noexcept {
  try {
    return to_ort(not_implemented("{} is not implemented", name));
  } catch (...) {
    return out_of_memory();
  }
}

ORT_FN_AS(OrtStatus*, CreateStatus, (OrtErrorCode code, const char* msg)) {
  return new OrtStatus{Status(static_cast<Code>(code), msg ? msg : "")};
}

ORT_FN_AS(OrtErrorCode, GetErrorCode, (const OrtStatus* status)) {
  return status ? static_cast<OrtErrorCode>(status->status.code()) : ORT_OK;
}

ORT_FN_AS(const char*, GetErrorMessage, (const OrtStatus* status)) {
  return status ? status->status.message().c_str() : "";
}

ORT_FN_AS(void, ReleaseStatus, (OrtStatus * status)) {
  if (status != out_of_memory()) delete status;
}

}  // namespace trunnion::abi
