// SessionOptions and RunOptions: thin methods over the ABI's setters. Defaults, names and getters of session options
// are Python's (trunnion/_options.py), because the ABI has no getters for them.
#include "options.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "values.h"

namespace trunnion::python {

PairArrays::PairArrays(nb::handle dict) {
  const size_t count = nb::len(dict);
  texts_.reserve(2 * count);  // so that pointers into it stay valid
  for (nb::handle item : nb::iter(dict.attr("items")())) {
    texts_.push_back(utf8(nb::str(item[0])));
    keys_.push_back(texts_.back().c_str());
    texts_.push_back(utf8(nb::str(item[1])));
    values_.push_back(texts_.back().c_str());
  }
}

namespace {

Options make_options() {
  OrtSessionOptions* made = nullptr;
  check(ort->CreateSessionOptions(&made));
  return {SessionOptionsPtr(made), {}};
}

Options clone(const Options& self) {
  OrtSessionOptions* made = nullptr;
  check(ort->CloneSessionOptions(self.handle.get(), &made));
  return {SessionOptionsPtr(made), self.owners};
}

void set_profiling(Options& self, bool on, nb::str given) {
  OrtSessionOptions* options = self.handle.get();
  const std::string prefix = text_for_c(given);
  check(on ? ort->EnableProfiling(options, prefix.c_str()) : ort->DisableProfiling(options));
}

void set_memory_pattern(Options& self, bool on) {
  check(on ? ort->EnableMemPattern(self.handle.get()) : ort->DisableMemPattern(self.handle.get()));
}

void set_cpu_arena(Options& self, bool on) {
  check(on ? ort->EnableCpuMemArena(self.handle.get()) : ort->DisableCpuMemArena(self.handle.get()));
}

void add_initializer(Options& self, const std::string& name, nb::handle_t<Value> value) {
  check(ort->AddInitializer(self.handle.get(), name.c_str(), nb::inst_ptr<Value>(value)->handle.get()));
  self.owners.push_back(nb::borrow(value));
}

void add_external_initializers(Options& self, const std::vector<std::string>& names, nb::list values) {
  std::vector<const char*> texts;
  std::vector<const OrtValue*> handles;
  if (names.size() != nb::len(values)) throw nb::value_error("names and values differ in number");
  for (size_t i = 0; i < names.size(); ++i) {
    const Value* value = as_value(values[i]);
    if (!value) throw nb::type_error("external initializers are given as OrtValues");
    texts.push_back(names[i].c_str());
    handles.push_back(value->handle.get());
  }
  check(ort->AddExternalInitializers(self.handle.get(), texts.data(), handles.data(), handles.size()));
  self.owners.push_back(values);
}

void add_external_files(Options& self, const std::vector<std::string>& names, const std::vector<nb::object>& buffers,
                        const std::vector<size_t>& lengths) {
  if (names.size() != buffers.size() || names.size() != lengths.size()) {
    throw nb::value_error("names, buffers and lengths differ in number");
  }
  std::vector<const char*> texts;
  std::vector<char*> data;
  for (size_t i = 0; i < names.size(); ++i) {
    auto* view = new Py_buffer;
    if (PyObject_GetBuffer(buffers[i].ptr(), view, PyBUF_SIMPLE) < 0) {
      delete view;
      throw nb::python_error();
    }
    self.owners.push_back(nb::capsule(view, [](void* p) noexcept {
      PyBuffer_Release(static_cast<Py_buffer*>(p));
      delete static_cast<Py_buffer*>(p);
    }));
    if (lengths[i] > static_cast<size_t>(view->len)) throw nb::value_error("a length exceeds its buffer");
    texts.push_back(names[i].c_str());
    data.push_back(static_cast<char*>(view->buf));
  }
  check(ort->AddExternalInitializersFromFilesInMemory(self.handle.get(), texts.data(), data.data(), lengths.data(),
                                                      names.size()));
}

void append_provider(Options& self, const std::string& name, nb::dict options) {
  const PairArrays pairs(options);
  check(ort->SessionOptionsAppendExecutionProvider(self.handle.get(), name.c_str(), pairs.keys(), pairs.values(),
                                                   pairs.size()));
}

void append_devices(Options& self, const std::vector<uintptr_t>& devices, nb::dict options) {
  const PairArrays pairs(options);
  std::vector<const OrtEpDevice*> handles;
  for (uintptr_t device : devices) handles.push_back(reinterpret_cast<const OrtEpDevice*>(device));
  check(ort->SessionOptionsAppendExecutionProvider_V2(self.handle.get(), environment(), handles.data(), handles.size(),
                                                      pairs.keys(), pairs.values(), pairs.size()));
}

// A setter of the table that takes one value of type T.
template <class T, class Given = T>
auto setter(OrtStatus* (*OrtApi::*slot)(OrtSessionOptions*, T)) {
  return [slot](Options& self, Given value) { check((ort->*slot)(self.handle.get(), static_cast<T>(value))); };
}
auto text_setter(OrtStatus* (*OrtApi::*slot)(OrtSessionOptions*, const char*)) {
  return [slot](Options& self, nb::str value) { check((ort->*slot)(self.handle.get(), text_for_c(value).c_str())); };
}

RunOptions make_run_options() {
  OrtRunOptions* made = nullptr;
  check(ort->CreateRunOptions(&made));
  return {RunOptionsPtr(made)};
}

void set_terminate(RunOptions& self, bool on) {
  check(on ? ort->RunOptionsSetTerminate(self.handle.get()) : ort->RunOptionsUnsetTerminate(self.handle.get()));
  self.terminate = on;
}

int get_severity(const RunOptions& self) {
  int level = 0;
  check(ort->RunOptionsGetRunLogSeverityLevel(self.handle.get(), &level));
  return level;
}

int get_verbosity(const RunOptions& self) {
  int level = 0;
  check(ort->RunOptionsGetRunLogVerbosityLevel(self.handle.get(), &level));
  return level;
}

nb::object get_tag(const RunOptions& self) {
  const char* tag = nullptr;
  check(ort->RunOptionsGetRunTag(self.handle.get(), &tag));
  return to_str(tag ? tag : "");
}

nb::object get_run_entry(const RunOptions& self, const std::string& key) {
  const char* value = ort->GetRunConfigEntry(self.handle.get(), key.c_str());
  if (!value) throw std::runtime_error("RunOptions does not have configuration with key: " + key);
  return to_str(value);
}

void add_session_options(nb::module_& m) {
  nb::class_<Options>(m, "Options")
      .def("clone", &clone)
      .def("set_graph_optimization_level",
           setter<GraphOptimizationLevel, int>(&OrtApi::SetSessionGraphOptimizationLevel))
      .def("set_execution_mode", setter<ExecutionMode, int>(&OrtApi::SetSessionExecutionMode))
      .def("set_intra_op_num_threads", setter(&OrtApi::SetIntraOpNumThreads))
      .def("set_inter_op_num_threads", setter(&OrtApi::SetInterOpNumThreads))
      .def("set_log_severity_level", setter(&OrtApi::SetSessionLogSeverityLevel))
      .def("set_log_verbosity_level", setter(&OrtApi::SetSessionLogVerbosityLevel))
      .def("set_use_deterministic_compute", setter(&OrtApi::SetDeterministicCompute))
      .def("set_load_cancellation_flag", setter(&OrtApi::SessionOptionsSetLoadCancellationFlag))
      .def("set_provider_selection_policy",
           setter<OrtExecutionProviderDevicePolicy, int>(&OrtApi::SessionOptionsSetEpSelectionPolicy))
      .def("set_logid", text_setter(&OrtApi::SetSessionLogId))
      .def("set_optimized_model_filepath", text_setter(&OrtApi::SetOptimizedModelFilePath))
      .def("register_custom_ops_library", text_setter(&OrtApi::RegisterCustomOpsLibrary_V2))
      .def("set_profiling", &set_profiling)
      .def("set_enable_mem_pattern", &set_memory_pattern)
      .def("set_enable_cpu_mem_arena", &set_cpu_arena)
      .def("disable_per_session_threads",
           [](Options& self) { check(ort->DisablePerSessionThreads(self.handle.get())); })
      .def("add_config_entry",
           [](Options& self, nb::str key, nb::str value) {
             check(ort->AddSessionConfigEntry(self.handle.get(), text_for_c(key).c_str(), text_for_c(value).c_str()));
           })
      .def("add_free_dimension_by_name",
           [](Options& self, nb::str name, int64_t extent) {
             check(ort->AddFreeDimensionOverrideByName(self.handle.get(), text_for_c(name).c_str(), extent));
           })
      .def("add_free_dimension_by_denotation",
           [](Options& self, const std::string& denotation, int64_t extent) {
             check(ort->AddFreeDimensionOverride(self.handle.get(), denotation.c_str(), extent));
           })
      .def("add_initializer", &add_initializer)
      .def("add_external_initializers", &add_external_initializers)
      .def("add_external_files", &add_external_files)
      .def("append_provider", &append_provider)
      .def("append_devices", &append_devices);
  m.def("make_options", &make_options);
}

void load_adapter(LoraAdapter& self, nb::str path) {
  OrtLoraAdapter* made = nullptr;
  check(ort->CreateLoraAdapter(text_for_c(path).c_str(), nullptr, &made));
  self.handle.reset(made);
}

void add_adapter(RunOptions& self, const LoraAdapter& adapter) {
  if (!adapter.handle) throw std::runtime_error("the adapter is empty: Load() gives it a file");
  check(ort->RunOptionsAddActiveLoraAdapter(self.handle.get(), adapter.handle.get()));
}

void add_run_options(nb::module_& m) {
  nb::class_<LoraAdapter>(m, "LoraAdapter",
                          "Parameters of a file (.onnx_adapter) that runs feed in addition to their inputs.")
      .def(nb::init<>())
      .def("Load", &load_adapter, nb::arg("path"), "Maps the file.");
  nb::class_<RunOptions>(m, "RunOptions", nb::is_weak_referenceable(),
                         "Settings of one or several runs; may be shared by threads.")
      .def("__init__", [](RunOptions* self) { new (self) RunOptions(make_run_options()); })
      .def_prop_rw(
          "log_severity_level", &get_severity,
          [](RunOptions& self, int level) { check(ort->RunOptionsSetRunLogSeverityLevel(self.handle.get(), level)); },
          "0 verbose, 1 info, 2 warning, 3 error, 4 fatal; -1 (default): the session's.")
      .def_prop_rw(
          "log_verbosity_level", &get_verbosity,
          [](RunOptions& self, int level) { check(ort->RunOptionsSetRunLogVerbosityLevel(self.handle.get(), level)); },
          "Verbosity of verbose lines; default 0.")
      .def_prop_rw(
          "logid", &get_tag,
          [](RunOptions& self, const std::string& tag) {
            check(ort->RunOptionsSetRunTag(self.handle.get(), tag.c_str()));
          },
          "Tag of the log lines of these runs; default ''.")
      .def_prop_rw(
          "terminate", [](const RunOptions& self) { return self.terminate; }, &set_terminate,
          "Set to True, from any thread, to stop the runs that use these options: they raise Fail.")
      .def_rw("only_execute_path_to_fetches", &RunOptions::only_execute_path_to_fetches,
              "Accepted for compatibility; results do not depend on it.")
      .def(
          "add_run_config_entry",
          [](RunOptions& self, nb::str key, nb::str value) {
            check(ort->AddRunConfigEntry(self.handle.get(), text_for_c(key).c_str(), text_for_c(value).c_str()));
          },
          nb::arg("key"), nb::arg("value"), "Sets one configuration entry.")
      .def("add_active_adapter", &add_adapter, nb::arg("adapter"),
           "Feeds the adapter's parameters in the runs that use these options.")
      .def("get_run_config_entry", &get_run_entry, nb::arg("key"),
           "The entry's value; RuntimeError when it was not set.");
}

}  // namespace

void add_options(nb::module_& m) {
  add_session_options(m);
  add_run_options(m);
}

}  // namespace trunnion::python
