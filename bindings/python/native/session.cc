// Making sessions and what they know about their model. Runs are in run.cc.
#include "session.h"

#include <nanobind/stl/string.h>

#include "interrupt.h"
#include "options.h"
#include "run.h"
#include "values.h"

namespace trunnion::python {
namespace {

using CountOf = OrtStatus* (*)(const OrtSession*, size_t*);
using NameOf = OrtStatus* (*)(const OrtSession*, size_t, OrtAllocator*, char**);
using TypeOf = OrtStatus* (*)(const OrtSession*, size_t, OrtTypeInfo**);

std::vector<Port> read_ports(const OrtSession* session, CountOf count_of, NameOf name_of, TypeOf type_of) {
  size_t count = 0;
  check(count_of(session, &count));
  std::vector<Port> ports(count);
  for (size_t i = 0; i < count; ++i) {
    char* name = nullptr;
    check(name_of(session, i, cpu_allocator(), &name));
    ports[i].text = take_string(name);
    PyObject* text = to_str(ports[i].text).release().ptr();
    PyUnicode_InternInPlace(&text);
    ports[i].name = nb::steal(text);
    OrtTypeInfo* info = nullptr;
    check(type_of(session, i, &info));
    const TypeInfoPtr owner(info);
    ports[i].type = parse_type(info);
  }
  return ports;
}

void read_interface(LoadedModel& model) {
  const OrtSession* session = model.handle;
  model.inputs = read_ports(session, ort->SessionGetInputCount, ort->SessionGetInputName, ort->SessionGetInputTypeInfo);
  model.outputs =
      read_ports(session, ort->SessionGetOutputCount, ort->SessionGetOutputName, ort->SessionGetOutputTypeInfo);
  model.initializers =
      read_ports(session, ort->SessionGetOverridableInitializerCount, ort->SessionGetOverridableInitializerName,
                 ort->SessionGetOverridableInitializerTypeInfo);
  for (const Port& port : model.outputs) model.output_names.push_back(port.text.c_str());
  size_t index = 0;
  for (const auto* ports : {&model.inputs, &model.initializers}) {
    for (const Port& port : *ports) model.input_index[port.name] = index++;
  }
  for (const Port& port : model.inputs) model.required += port.type.kind != ONNX_TYPE_OPTIONAL;
}

void open(Session& self, const Options& options, std::shared_ptr<LoadedModel> model, OrtStatus* status) {
  check(status);
  model->owners = options.owners;
  read_interface(*model);
  self.model = std::move(model);
}

void open_path(Session& self, const Options& options, nb::str given) {
  OrtEnv* env = environment();
  const std::string path = text_for_c(given);
  catch_interrupts();
  auto model = std::make_shared<LoadedModel>();
  OrtStatus* status = nullptr;
  {
    const nb::gil_scoped_release unlocked;
    status = ort->CreateSession(env, path.c_str(), options.handle.get(), &model->handle);
  }
  open(self, options, std::move(model), status);
}

void open_bytes(Session& self, const Options& options, nb::handle buffer) {
  OrtEnv* env = environment();
  catch_interrupts();
  Py_buffer view;
  if (PyObject_GetBuffer(buffer.ptr(), &view, PyBUF_SIMPLE) < 0) throw nb::python_error();
  auto model = std::make_shared<LoadedModel>();
  OrtStatus* status = nullptr;
  {
    const nb::gil_scoped_release unlocked;
    status =
        ort->CreateSessionFromArray(env, view.buf, static_cast<size_t>(view.len), options.handle.get(), &model->handle);
  }
  PyBuffer_Release(&view);
  open(self, options, std::move(model), status);
}

// (name, type, shape) of each.
nb::list describe(const std::vector<Port>& ports) {
  nb::list result;
  for (const Port& port : ports) {
    result.append(nb::make_tuple(port.name, to_str(type_text(port.type)), shape_list(port.type)));
  }
  return result;
}

nb::object text_of(const OrtModelMetadata* metadata,
                   OrtStatus* (*get)(const OrtModelMetadata*, OrtAllocator*, char**)) {
  char* text = nullptr;
  check(get(metadata, cpu_allocator(), &text));
  return to_str(take_string(text));
}

nb::dict metadata(const Session& self) {
  OrtModelMetadata* raw = nullptr;
  check(ort->SessionGetModelMetadata(self.loaded().handle, &raw));
  const MetadataPtr owner(raw);
  nb::dict result, custom;
  result["producer_name"] = text_of(raw, ort->ModelMetadataGetProducerName);
  result["graph_name"] = text_of(raw, ort->ModelMetadataGetGraphName);
  result["domain"] = text_of(raw, ort->ModelMetadataGetDomain);
  result["description"] = text_of(raw, ort->ModelMetadataGetDescription);
  result["graph_description"] = text_of(raw, ort->ModelMetadataGetGraphDescription);
  int64_t version = 0;
  check(ort->ModelMetadataGetVersion(raw, &version));
  result["version"] = version;
  char** keys = nullptr;
  int64_t count = 0;
  check(ort->ModelMetadataGetCustomMetadataMapKeys(raw, cpu_allocator(), &keys, &count));
  for (int64_t i = 0; i < count; ++i) {
    const std::string key = take_string(keys[i]);
    char* value = nullptr;
    check(ort->ModelMetadataLookupCustomMetadataMap(raw, cpu_allocator(), key.c_str(), &value));
    custom[to_str(key)] = to_str(take_string(value));
  }
  if (keys) check(ort->AllocatorFree(cpu_allocator(), keys));
  result["custom_metadata_map"] = custom;
  return result;
}

nb::object end_profiling(const Session& self) {
  char* name = nullptr;
  check(ort->SessionEndProfiling(self.loaded().handle, cpu_allocator(), &name));
  return to_str(take_string(name));
}

uint64_t profiling_start(const Session& self) {
  uint64_t nanoseconds = 0;
  check(ort->SessionGetProfilingStartTimeNs(self.loaded().handle, &nanoseconds));
  return nanoseconds;
}

// (provider, [(name, domain, op_type)...]) of each subgraph.
nb::list graph_assignment(const Session& self) {
  const OrtEpAssignedSubgraph* const* subgraphs = nullptr;
  size_t count = 0;
  check(ort->Session_GetEpGraphAssignmentInfo(self.loaded().handle, &subgraphs, &count));
  nb::list result;
  for (size_t i = 0; i < count; ++i) {
    const char *provider = nullptr, *name = nullptr, *domain = nullptr, *op_type = nullptr;
    const OrtEpAssignedNode* const* nodes = nullptr;
    size_t node_count = 0;
    check(ort->EpAssignedSubgraph_GetEpName(subgraphs[i], &provider));
    check(ort->EpAssignedSubgraph_GetNodes(subgraphs[i], &nodes, &node_count));
    nb::list described;
    for (size_t k = 0; k < node_count; ++k) {
      check(ort->EpAssignedNode_GetName(nodes[k], &name));
      check(ort->EpAssignedNode_GetDomain(nodes[k], &domain));
      check(ort->EpAssignedNode_GetOperatorType(nodes[k], &op_type));
      described.append(nb::make_tuple(to_str(name), to_str(domain), to_str(op_type)));
    }
    result.append(nb::make_tuple(to_str(provider), described));
  }
  return result;
}

void set_dynamic_options(const Session& self, nb::dict options) {
  const PairArrays pairs(options);
  check(ort->SetEpDynamicOptions(self.loaded().handle, pairs.keys(), pairs.values(), pairs.size()));
}

nb::list memory_infos(const Session& self, bool of_inputs) {
  const LoadedModel& model = self.loaded();
  std::vector<const OrtMemoryInfo*> infos((of_inputs ? model.inputs : model.outputs).size());
  check(of_inputs ? ort->SessionGetMemoryInfoForInputs(model.handle, infos.data(), infos.size())
                  : ort->SessionGetMemoryInfoForOutputs(model.handle, infos.data(), infos.size()));
  nb::list result;
  for (const OrtMemoryInfo* info : infos) result.append(reinterpret_cast<uintptr_t>(info));
  return result;
}

nb::list input_devices(const Session& self) {
  const LoadedModel& model = self.loaded();
  std::vector<const OrtEpDevice*> devices(model.inputs.size());
  check(ort->SessionGetEpDeviceForInputs(model.handle, devices.data(), devices.size()));
  nb::list result;
  for (const OrtEpDevice* device : devices) result.append(reinterpret_cast<uintptr_t>(device));
  return result;
}

}  // namespace

LoadedModel::~LoadedModel() {
  if (!handle) return;
  const nb::gil_scoped_release unlocked;  // releasing may log, or join threads that do
  ort->ReleaseSession(handle);
}

const Port* LoadedModel::find_input(nb::handle name) const {
  PyObject* found = PyDict_GetItemWithError(input_index.ptr(), name.ptr());
  if (!found) {
    if (PyErr_Occurred()) throw nb::python_error();
    return nullptr;
  }
  const size_t index = PyLong_AsSize_t(found);
  return index < inputs.size() ? &inputs[index] : &initializers[index - inputs.size()];
}

LoadedModel& Session::loaded() const {
  if (!model) throw std::runtime_error("the session has no model: its constructor did not finish");
  return *model;
}

std::shared_ptr<LoadedModel> model_of(nb::handle session) {
  if (!nb::isinstance<Session>(session)) throw nb::type_error("an InferenceSession is needed");
  Session* self = nb::inst_ptr<Session>(session);
  self->loaded();
  return self->model;
}

void add_session(nb::module_& m) {
  nb::class_<Session> session(m, "Session", nb::is_weak_referenceable());
  session.def(nb::init<>())
      .def("_open_path", &open_path)
      .def("_open_bytes", &open_bytes)
      .def("_inputs", [](const Session& self) { return describe(self.loaded().inputs); })
      .def("_outputs", [](const Session& self) { return describe(self.loaded().outputs); })
      .def("_initializers", [](const Session& self) { return describe(self.loaded().initializers); })
      .def("_metadata", &metadata)
      .def("_end_profiling", &end_profiling)
      .def("_profiling_start", &profiling_start)
      .def("_graph_assignment", &graph_assignment)
      .def("_set_dynamic_options", &set_dynamic_options)
      .def("_memory_infos", &memory_infos)
      .def("_input_devices", &input_devices)
      .def("_release_captured_graph",
           [](const Session& self, int id) { check(ort->SessionReleaseCapturedGraph(self.loaded().handle, id)); });
  add_runs(session);
}

}  // namespace trunnion::python
