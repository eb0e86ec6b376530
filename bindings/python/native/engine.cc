// Opening the library, and statuses as exceptions. The exception classes are trunnion.errors'.
#include "engine.h"

#include <dlfcn.h>

namespace trunnion::python {

const OrtApi* ort = nullptr;

namespace {

// The newest table of which this module uses entries, and the oldest that has them all.
constexpr uint32_t kOldestApi = 24;

void* g_handle = nullptr;
std::string g_path;  // of the library in g_handle

}  // namespace

void load(const std::string& path) {
  if (ort) {
    if (path == g_path) return;
    throw nb::import_error(("trunnion already uses " + g_path).c_str());
  }
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) throw nb::import_error(("trunnion's engine cannot be loaded: " + std::string(dlerror())).c_str());
  using GetBase = const OrtApiBase* (*)();
  const auto get_base = reinterpret_cast<GetBase>(dlsym(handle, "OrtGetApiBase"));
  if (!get_base) throw nb::import_error((path + " does not export OrtGetApiBase").c_str());
  const OrtApiBase* base = get_base();
  const OrtApi* table = nullptr;
  std::string_view version = base->GetVersionString();
  unsigned minor = 0;
  if (sscanf(version.data(), "%*u.%u", &minor) != 1 || minor < kOldestApi || !(table = base->GetApi(minor))) {
    throw nb::import_error(
        (path + " is version " + std::string(version) + "; 1." + std::to_string(kOldestApi) + " or newer is needed")
            .c_str());
  }
  g_handle = handle;
  g_path = path;
  ort = table;
}

const std::string& library_path() { return g_path; }

void* library_symbol(const char* name) { return g_handle ? dlsym(g_handle, name) : nullptr; }

void raise(OrtErrorCode code, const std::string& message) {
  nb::object error =
      nb::module_::import_("trunnion.errors").attr("from_status")(static_cast<int>(code), to_str(message));
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  throw nb::python_error();
}

void raise(OrtStatus* status) {
  const OrtErrorCode code = ort->GetErrorCode(status);
  const std::string message = ort->GetErrorMessage(status);
  ort->ReleaseStatus(status);
  raise(code, message);
}

OrtAllocator* cpu_allocator() {
  static OrtAllocator* const allocator = [] {
    OrtAllocator* made = nullptr;
    check(ort->GetAllocatorWithDefaultOptions(&made));
    return made;
  }();
  return allocator;
}

const OrtMemoryInfo* cpu_memory() {
  static const OrtMemoryInfo* const memory = [] {
    OrtMemoryInfo* made = nullptr;
    check(ort->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &made));
    return made;
  }();
  return memory;
}

std::string take_string(char* text) {
  std::string copy = text ? text : "";
  if (text) check(ort->AllocatorFree(cpu_allocator(), text));
  return copy;
}

std::string_view utf8(nb::handle text, nb::object& storage) {
  Py_ssize_t size = 0;
  if (const char* data = PyUnicode_AsUTF8AndSize(text.ptr(), &size)) return {data, static_cast<size_t>(size)};
  PyErr_Clear();
  storage = steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogateescape"));
  return {PyBytes_AS_STRING(storage.ptr()), static_cast<size_t>(PyBytes_GET_SIZE(storage.ptr()))};
}

std::string utf8(nb::handle text) {
  nb::object storage;
  return std::string(utf8(text, storage));
}

std::string text_for_c(nb::handle text) {
  std::string bytes = utf8(text);
  if (bytes.find('\0') != bytes.npos) throw nb::value_error("embedded null character");
  return bytes;
}

nb::object to_str(std::string_view bytes) {
  return steal(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "surrogateescape"));
}

}  // namespace trunnion::python
