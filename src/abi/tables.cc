// The tables of function pointers and the symbols that the shared library exports.
#include <cstdio>

#include "abi/handles.h"
#include "abi/slots.h"

#if TRN_CHECK_HANDLES
#define TRN_SLOT(table, name) ::trunnion::abi::CheckedSlot<table##_##name, #table "::" #name>::call
#else
#define TRN_SLOT(table, name) ::trunnion::abi::Slot<table##_##name>::call
#endif
#define TRN_STUB(table, name) ::trunnion::abi::Stub<decltype(table::name), #table "::" #name>::call

#ifdef _WIN32
#define TRN_EXPORT __declspec(dllexport)
#else
#define TRN_EXPORT __attribute__((visibility("default")))
#endif

namespace trunnion::abi {

#include "abi/vtable.inc"

ORT_FN_AS(const OrtTrainingApi*, GetTrainingApi, (uint32_t)) { return nullptr; }
ORT_FN_AS(const OrtModelEditorApi*, GetModelEditorApi, ()) { return &kOrtModelEditorApi; }
ORT_FN_AS(const OrtCompileApi*, GetCompileApi, ()) { return &kOrtCompileApi; }
ORT_FN_AS(const OrtInteropApi*, GetInteropApi, ()) { return &kOrtInteropApi; }
ORT_FN_AS(const OrtEpApi*, GetEpApi, ()) { return &kOrtEpApi; }
ORT_FN_AS(const OrtModelPackageApi*, GetModelPackageApi, ()) { return &kOrtModelPackageApi; }

// Functions of one release that later ones have in a table, under the names that plugins know.
ORT_FN_AS(OrtExperimentalFnPtr, GetExperimentalFunction, (const char* name)) {
#define TRN_EXPERIMENTAL(table, name, slot) \
  { #table "_" #name "_SinceV28", reinterpret_cast < Function>(k##table.slot) }
  using Function = OrtExperimentalFnPtr;
  const struct {
    std::string_view name;
    Function function;
  } functions[] = {
      TRN_EXPERIMENTAL(OrtApi, SessionOptions_SetEpContextDataReadFunc, SessionOptionsSetEpContextDataReadFunc),
      TRN_EXPERIMENTAL(OrtCompileApi, ModelCompilationOptions_SetEpContextDataWriteFunc,
                       ModelCompilationOptions_SetEpContextDataWriteFunc),
      TRN_EXPERIMENTAL(OrtEpApi, SessionOptions_GetEpContextConfig, SessionOptionsGetEpContextConfig),
      TRN_EXPERIMENTAL(OrtEpApi, ReleaseEpContextConfig, ReleaseEpContextConfig),
      TRN_EXPERIMENTAL(OrtEpApi, EpContextConfig_GetEpContextDataReadFunc, EpContextConfigGetEpContextDataReadFunc),
      TRN_EXPERIMENTAL(OrtEpApi, EpContextConfig_GetEpContextDataWriteFunc, EpContextConfigGetEpContextDataWriteFunc),
  };
#undef TRN_EXPERIMENTAL
  for (const auto& f : functions)
    if (name && f.name == name) return f.function;
  return nullptr;
}

ORT_FN_AS(const char*, GetBuildInfoString, ()) { return "trunnion " TRUNNION_VERSION ", ONNX Runtime C API 1.32.0"; }

TABLE_FN_AS(const OrtApi*, OrtApiBase, GetApi, (uint32_t version)) {
  if (version >= 1 && version <= ORT_API_VERSION) return &kOrtApi;
  std::fprintf(stderr, "The requested API version [%u] is not available: this library has versions 1 to %d\n", version,
               ORT_API_VERSION);
  return nullptr;
}

TABLE_FN_AS(const char*, OrtApiBase, GetVersionString, ()) { return "1.32.0"; }

}  // namespace trunnion::abi

extern "C" {

TRN_EXPORT const OrtApiBase* ORT_API_CALL OrtGetApiBase(void) NO_EXCEPTION {
  trunnion::abi::out_of_memory();  // made while there is memory
  return &trunnion::abi::kOrtApiBase;
}

TRN_EXPORT OrtStatus* ORT_API_CALL OrtSessionOptionsAppendExecutionProvider_CPU(OrtSessionOptions* options,
                                                                                int use_arena) {
  if (!options) return trunnion::abi::to_ort(trunnion::invalid_argument("argument 'options' must not be NULL"));
  options->options.cpu_arena = use_arena != 0;
  return nullptr;
}

}  // extern "C"
