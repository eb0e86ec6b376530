// The native part of InferenceSession.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "types.h"

namespace trunnion::python {

// An input, output or overridable initializer.
struct Port {
  nb::object name;
  std::string text;  // the same as UTF-8
  TypeNode type;
};

// A loaded model. Runs hold a reference, so that replacing it (set_providers) cannot pull it from under them.
struct LoadedModel {
  OrtSession* handle = nullptr;
  std::vector<Port> inputs, outputs, initializers;
  nb::dict input_index;  // name -> index into inputs, then initializers
  std::vector<const char*> output_names;
  size_t required = 0;  // inputs that a run must be given: all but optional ones
  std::vector<nb::object> owners;

  LoadedModel() = default;
  LoadedModel(const LoadedModel&) = delete;
  ~LoadedModel();
  const Port* find_input(nb::handle name) const;
};

struct Session {
  std::shared_ptr<LoadedModel> model;
  LoadedModel& loaded() const;
};

// The session's handle behind a Python Session, for io_binding.cc.
std::shared_ptr<LoadedModel> model_of(nb::handle session);

}  // namespace trunnion::python
