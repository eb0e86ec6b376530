// What trunnion's library offers beyond the ONNX Runtime ABI (trunnion.h). NotImplemented with another library.
#include <nanobind/stl/string.h>

#include "session.h"
#include "trunnion/trunnion.h"

namespace trunnion::python {
namespace {

const TrunnionApi& extras() {
  using GetApi = const TrunnionApi* (*)(uint32_t);
  static const TrunnionApi* const table = [] {
    const auto get = reinterpret_cast<GetApi>(library_symbol("TrunnionGetApi"));
    return get ? get(TRUNNION_API_VERSION) : nullptr;
  }();
  if (!table) {
    raise(ORT_NOT_IMPLEMENTED, library_path() + " has no TrunnionGetApi: this needs trunnion's own library");
  }
  return *table;
}

using TextOf = OrtStatus* (*)(const OrtSession*, OrtAllocator*, char**);

nb::object text(nb::handle session, TextOf get) {
  const std::shared_ptr<LoadedModel> model = model_of(session);
  char* made = nullptr;
  check(get(model->handle, cpu_allocator(), &made));
  return to_str(take_string(made));
}

}  // namespace

void add_extras(nb::module_& m) {
  m.def("engine_version", [] { return std::string(extras().Version()); });
  m.def("placement_json", [](nb::handle session) { return text(session, extras().SessionPlacementJson); });
  m.def("load_timings_json", [](nb::handle session) { return text(session, extras().SessionLoadTimingsJson); });
  m.def("memory_json", [](nb::handle session) { return text(session, extras().SessionMemoryJson); });
  m.def("graph_text", [](nb::handle session) { return text(session, extras().SessionGraphText); });
}

}  // namespace trunnion::python
