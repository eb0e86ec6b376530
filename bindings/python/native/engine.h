// The engine as this module sees it: the table of its C ABI, its errors as Python exceptions, owners of its handles.
#pragma once
#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <string_view>

#include "trunnion/ort_abi.h"

namespace trunnion::python {

namespace nb = nanobind;

// The functions of the library that load() opened; null before.
extern const OrtApi* ort;

// Opens the shared library at `path` and keeps it for the life of the process. Raises ImportError.
void load(const std::string& path);
// The path given to load(), and what the library exports by `name` (null where it does not).
const std::string& library_path();
void* library_symbol(const char* name);

// Throws the Python exception of a status and releases it. The GIL must be held.
[[noreturn]] void raise(OrtStatus* status);
[[noreturn]] void raise(OrtErrorCode code, const std::string& message);
inline void check(OrtStatus* status) {
  if (status) [[unlikely]]
    raise(status);
}

// The process's environment, made on first use and never released: sessions may outlive the interpreter.
OrtEnv* environment();
OrtAllocator* cpu_allocator();
const OrtMemoryInfo* cpu_memory();

// A string that the engine's allocator made: copied, then freed.
std::string take_string(char* text);

// Owners of handles; the deleter is the ABI's release function.
template <class T, void (*Release)(T*)>
struct Releaser {
  void operator()(T* handle) const { Release(handle); }
};
#define TRN_OWNER(Name, Type, Function)                     \
  inline void release_##Name(Type* h) { ort->Function(h); } \
  using Name = std::unique_ptr<Type, Releaser<Type, release_##Name>>
TRN_OWNER(ValuePtr, OrtValue, ReleaseValue);
TRN_OWNER(TypeInfoPtr, OrtTypeInfo, ReleaseTypeInfo);
TRN_OWNER(ShapeInfoPtr, OrtTensorTypeAndShapeInfo, ReleaseTensorTypeAndShapeInfo);
TRN_OWNER(SessionOptionsPtr, OrtSessionOptions, ReleaseSessionOptions);
TRN_OWNER(RunOptionsPtr, OrtRunOptions, ReleaseRunOptions);
TRN_OWNER(LoraAdapterPtr, OrtLoraAdapter, ReleaseLoraAdapter);
TRN_OWNER(MemoryInfoPtr, OrtMemoryInfo, ReleaseMemoryInfo);
TRN_OWNER(BindingPtr, OrtIoBinding, ReleaseIoBinding);
TRN_OWNER(MetadataPtr, OrtModelMetadata, ReleaseModelMetadata);
TRN_OWNER(PairsPtr, OrtKeyValuePairs, ReleaseKeyValuePairs);
#undef TRN_OWNER

// A Python str as UTF-8; lone surrogates stand for the bytes they came from. The view lives as long as `text`, unless
// it had to be encoded, then as long as `storage`.
std::string_view utf8(nb::handle text, nb::object& storage);
std::string utf8(nb::handle text);
nb::object to_str(std::string_view bytes);
// The same for a path or an entry, which ends at a null character: ValueError for a text that holds one.
std::string text_for_c(nb::handle text);

// A new reference returned by the C API of Python or numpy; null becomes the pending exception.
inline nb::object steal(PyObject* result) {
  if (!result) throw nb::python_error();
  return nb::steal(result);
}

// Each part of the module adds itself.
void add_environment(nb::module_& m);
void add_values(nb::module_& m);
void add_options(nb::module_& m);
void add_session(nb::module_& m);
void add_io_binding(nb::module_& m);
void add_devices(nb::module_& m);
void add_sparse(nb::module_& m);
void add_extras(nb::module_& m);

}  // namespace trunnion::python
