// IOBinding: inputs and outputs bound by name to memory that stays from run to run.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "interrupt.h"
#include "options.h"
#include "session.h"
#include "values.h"

namespace trunnion::python {
namespace {

// The engine's binding borrows the user's memory; the owners, by name and in the order of binding, keep it alive.
struct Binding {
  std::shared_ptr<LoadedModel> model;
  BindingPtr handle;
  std::vector<std::pair<std::string, nb::object>> inputs, outputs;
};

Binding make_binding(nb::handle session) {
  std::shared_ptr<LoadedModel> model = model_of(session);
  OrtIoBinding* made = nullptr;
  check(ort->CreateIoBinding(model->handle, &made));
  return {std::move(model), BindingPtr(made), {}, {}};
}

void remember(std::vector<std::pair<std::string, nb::object>>& owners, const std::string& name, nb::object owner) {
  const auto found = std::find_if(owners.begin(), owners.end(), [&](const auto& entry) { return entry.first == name; });
  if (found == owners.end()) {
    owners.emplace_back(name, std::move(owner));
  } else {
    found->second = std::move(owner);
  }
}

void bind_input(Binding& self, nb::handle_t<Value> value, const std::string& name) {
  check(ort->BindInput(self.handle.get(), name.c_str(), nb::inst_ptr<Value>(value)->handle.get()));
  remember(self.inputs, name, nb::borrow(value));
}

// Anything that run() takes for this input.
void bind_python_input(Binding& self, const std::string& name, nb::handle given) {
  const nb::object key = to_str(name);
  const Port* port = self.model->find_input(key);
  if (!port) raise(ORT_INVALID_ARGUMENT, "Failed to find NodeArg with name: " + name + " in the def list");
  std::vector<nb::object> keep;
  ValuePtr value = value_from_python(given, port->type, keep);
  check(ort->BindInput(self.handle.get(), name.c_str(), value.get()));
  nb::list owners;
  for (const nb::object& owner : keep) owners.append(owner);
  remember(self.inputs, name, owners);
}

void bind_output(Binding& self, nb::handle_t<Value> value, const std::string& name) {
  check(ort->BindOutput(self.handle.get(), name.c_str(), nb::inst_ptr<Value>(value)->handle.get()));
  remember(self.outputs, name, nb::borrow(value));
}

void bind_output_to_device(Binding& self, const std::string& name, uintptr_t memory) {
  const auto* info = memory ? reinterpret_cast<const OrtMemoryInfo*>(memory) : cpu_memory();
  check(ort->BindOutputToDevice(self.handle.get(), name.c_str(), info));
  remember(self.outputs, name, nb::none());
}

// The bound outputs in the order in which they were bound.
nb::list get_outputs(const Binding& self) {
  OrtValue** values = nullptr;
  size_t count = 0;
  check(ort->GetBoundOutputValues(self.handle.get(), cpu_allocator(), &values, &count));
  std::vector<ValuePtr> owned(values, values + count);
  if (values) check(ort->AllocatorFree(cpu_allocator(), values));
  nb::list result;
  for (size_t i = 0; i < count; ++i) {
    result.append(wrap_value(std::move(owned[i]), i < self.outputs.size() ? self.outputs[i].second : nb::object()));
  }
  return result;
}

void run_with(nb::handle session, const Binding& self, nb::handle run_options) {
  const std::shared_ptr<LoadedModel> model = model_of(session);
  InterruptibleRun run(run_options);
  OrtStatus* status = nullptr;
  {
    const nb::gil_scoped_release unlocked;
    status = ort->RunWithBinding(model->handle, run.options(), self.handle.get());
  }
  run.ended(status);
}

void synchronize(const Binding& self, OrtStatus* (*wait)(OrtIoBinding*)) {
  OrtStatus* status = nullptr;
  {
    const nb::gil_scoped_release unlocked;
    status = wait(self.handle.get());
  }
  check(status);
}

}  // namespace

void add_io_binding(nb::module_& m) {
  nb::class_<Binding>(m, "Binding", nb::is_weak_referenceable())
      .def("__init__", [](Binding* self, nb::handle session) { new (self) Binding(make_binding(session)); })
      .def("_bind_input_value",
           [](Binding& self, const std::string& name, nb::handle_t<Value> value) { bind_input(self, value, name); })
      .def("_bind_input", &bind_python_input)
      .def("_bind_output_value",
           [](Binding& self, const std::string& name, nb::handle_t<Value> value) { bind_output(self, value, name); })
      .def("_bind_output_to_device", &bind_output_to_device)
      .def("_get_outputs", &get_outputs)
      .def(
          "_run", [](const Binding& self, nb::handle session, nb::handle options) { run_with(session, self, options); },
          nb::arg("session"), nb::arg("run_options").none())
      .def(
          "synchronize_inputs", [](const Binding& self) { synchronize(self, ort->SynchronizeBoundInputs); },
          "Waits until the bound inputs are on their devices.")
      .def(
          "synchronize_outputs", [](const Binding& self) { synchronize(self, ort->SynchronizeBoundOutputs); },
          "Waits until the bound outputs can be read.")
      .def(
          "clear_binding_inputs",
          [](Binding& self) {
            ort->ClearBoundInputs(self.handle.get());
            self.inputs.clear();
          },
          "Forgets all bound inputs.")
      .def(
          "clear_binding_outputs",
          [](Binding& self) {
            ort->ClearBoundOutputs(self.handle.get());
            self.outputs.clear();
          },
          "Forgets all bound outputs.");
}

}  // namespace trunnion::python
