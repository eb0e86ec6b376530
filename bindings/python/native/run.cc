// run() and its relatives. The path of a plain call (a dict of arrays, all outputs) makes no copy, looks a name up once
// and calls the engine without the GIL.
#include "run.h"

#include <nanobind/stl/string.h>

#include "interrupt.h"
#include "options.h"
#include "values.h"

namespace trunnion::python {
namespace {

constexpr size_t kInline = 16;

// An array of T that is on the stack while it is short.
template <class T>
class Row {
 public:
  explicit Row(size_t size) : size_(size) {
    if (size > kInline) heap_.reset(new T[size]());
    data_ = size > kInline ? heap_.get() : local_;
  }
  T& operator[](size_t i) { return data_[i]; }
  T* data() { return data_; }
  size_t size() const { return size_; }

 private:
  T local_[kInline] = {};
  std::unique_ptr<T[]> heap_;
  T* data_;
  size_t size_;
};

// The inputs of one run, as the ABI takes them.
struct Feeds {
  explicit Feeds(size_t capacity) : names(capacity), values(capacity), made(capacity) {}
  Row<const char*> names;
  Row<const OrtValue*> values;
  Row<ValuePtr> made;            // those that were made for this run
  std::vector<nb::object> keep;  // what the values borrow, and the user's objects
  size_t count = 0;
};

const char* name_text(nb::handle name, std::vector<nb::object>& keep) {
  if (!PyUnicode_Check(name.ptr())) throw nb::type_error("names of inputs and outputs are strings");
  nb::object encoded;
  const std::string_view text = utf8(name, encoded);
  if (text.find('\0') != text.npos) throw nb::value_error("a name of an input or output has no null character");
  // The user's dict or list may let go of the name while the model runs.
  keep.push_back(encoded.is_valid() ? std::move(encoded) : nb::borrow(name));
  return text.data();
}

[[noreturn]] void raise_missing(const LoadedModel& model, nb::handle feed) {
  nb::list missing;
  for (const Port& port : model.inputs) {
    if (port.type.kind != ONNX_TYPE_OPTIONAL && !PyMapping_HasKey(feed.ptr(), port.name.ptr()))
      missing.append(port.name);
  }
  const nb::object names = steal(PyMapping_Keys(feed.ptr()));
  PyErr_Format(PyExc_ValueError, "Required inputs (%R) are missing from input feed (%R).", missing.ptr(), names.ptr());
  throw nb::python_error();
}

// One entry of the feed. Returns whether it satisfies a required input.
bool add_feed(const LoadedModel& model, nb::handle name, nb::handle given, bool values_only, Feeds& feeds) {
  const Port* port = model.find_input(name);
  const bool is_input = port && port >= model.inputs.data() && port < model.inputs.data() + model.inputs.size();
  const bool required = is_input && port->type.kind != ONNX_TYPE_OPTIONAL;
  const size_t i = feeds.count;
  if (i == feeds.names.size()) throw std::runtime_error("input_feed grew while it was read");
  feeds.names[i] = port ? port->text.c_str() : name_text(name, feeds.keep);
  if (const Value* value = as_value(given)) {
    feeds.values[i] = value->handle.get();
    feeds.keep.push_back(nb::borrow(given));
  } else if (values_only) {
    throw nb::type_error("run_with_ort_values takes OrtValues");
  } else if (port && port->type.kind == ONNX_TYPE_OPTIONAL && given.is_none()) {
    return required;  // an optional input without a value is one that is not fed
  } else if (given.is_none()) {
    throw nb::value_error(("Input '" + utf8(name) + "' is None; a value is needed").c_str());
  } else {
    static const TypeNode unknown;  // of an input that the engine will refuse by name
    feeds.made[i] = value_from_python(given, port ? port->type : unknown, feeds.keep);
    feeds.values[i] = feeds.made[i].get();
  }
  ++feeds.count;
  return required;
}

void read_feed(const LoadedModel& model, nb::handle feed, bool values_only, Feeds& feeds) {
  size_t satisfied = 0;
  if (PyDict_CheckExact(feed.ptr())) {
    PyObject *name = nullptr, *given = nullptr;
    for (Py_ssize_t position = 0; PyDict_Next(feed.ptr(), &position, &name, &given);) {
      satisfied += add_feed(model, nb::handle(name), nb::handle(given), values_only, feeds);
    }
  } else {
    for (nb::handle item : nb::iter(steal(PyMapping_Items(feed.ptr())))) {
      satisfied += add_feed(model, item[0], item[1], values_only, feeds);
    }
  }
  if (satisfied < model.required) raise_missing(model, feed);
}

// The names of the wanted outputs; all of the model's when none are given.
class Wanted {
 public:
  Wanted(const LoadedModel& model, nb::handle names) {
    if (!names.is_none()) read(names);
    if (names_.empty()) {
      data_ = model.output_names.data();
      size_ = model.output_names.size();
    } else {
      data_ = names_.data();
      size_ = names_.size();
    }
  }
  const char* const* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  void read(nb::handle names) {
    if (PyUnicode_Check(names.ptr()) || PyBytes_Check(names.ptr())) {
      throw nb::type_error("output_names is a list of names, or None for all outputs");
    }
    items_ = steal(PySequence_Fast(names.ptr(), "output_names is a list of names, or None for all outputs"));
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(items_.ptr());
    for (Py_ssize_t i = 0; i < count; ++i) {
      names_.push_back(name_text(nb::handle(PySequence_Fast_GET_ITEM(items_.ptr(), i)), keep_));
    }
  }

  nb::object items_;
  std::vector<nb::object> keep_;
  std::vector<const char*> names_;
  const char* const* data_ = nullptr;
  size_t size_ = 0;
};

// Runs and hands each output to `convert`.
template <class Convert>
nb::object run_model(const Session& self, nb::handle output_names, nb::handle feed, nb::handle run_options,
                     bool values_only, Convert convert) {
  const std::shared_ptr<LoadedModel> model = self.model;
  self.loaded();
  const bool is_mapping = PyDict_Check(feed.ptr()) || PyObject_HasAttrString(feed.ptr(), "items");
  const Py_ssize_t given = is_mapping ? PyMapping_Size(feed.ptr()) : -1;
  if (given < 0) {
    PyErr_Clear();
    throw nb::type_error("input_feed is a dict of input names and values");
  }
  Feeds feeds(static_cast<size_t>(given));
  read_feed(*model, feed, values_only, feeds);
  const Wanted wanted(*model, output_names);
  InterruptibleRun run(run_options);

  Row<OrtValue*> results(wanted.size());
  OrtStatus* status = nullptr;
  {
    const nb::gil_scoped_release unlocked;
    status = ort->Run(model->handle, run.options(), feeds.names.data(), feeds.values.data(), feeds.count, wanted.data(),
                      wanted.size(), results.data());
  }
  Row<ValuePtr> owned(wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) owned[i].reset(results[i]);
  run.ended(status);
  nb::object list = steal(PyList_New(static_cast<Py_ssize_t>(wanted.size())));
  for (size_t i = 0; i < wanted.size(); ++i) {
    PyList_SET_ITEM(list.ptr(), static_cast<Py_ssize_t>(i), convert(std::move(owned[i])).release().ptr());
  }
  return list;
}

nb::object run(const Session& self, nb::handle output_names, nb::handle input_feed, nb::handle run_options) {
  return run_model(self, output_names, input_feed, run_options, false, [](ValuePtr value) {
    int is_tensor = 0, has_value = 0;
    if (value) {
      check(ort->IsTensor(value.get(), &is_tensor));
      check(ort->HasValue(value.get(), &has_value));  // an optional tensor may have none
    }
    return is_tensor && has_value ? array_from_tensor(std::move(value)) : python_from_value(std::move(value));
  });
}

nb::object run_with_values(const Session& self, nb::handle output_names, nb::handle input_feed,
                           nb::handle run_options) {
  return run_model(self, output_names, input_feed, run_options, true,
                   [](ValuePtr value) { return wrap_value(std::move(value)); });
}

// Fills `fetches`, a list of OrtValues: those present are written in place, missing ones (None) are made.
void run_into(const Session& self, nb::handle run_options, nb::list feed_names, nb::list feeds, nb::list fetch_names,
              nb::list fetches) {
  const std::shared_ptr<LoadedModel> model = self.model;
  self.loaded();
  std::vector<nb::object> keep;
  std::vector<const char*> input_names, output_names;
  std::vector<const OrtValue*> inputs;
  std::vector<OrtValue*> outputs;
  for (nb::handle name : feed_names) input_names.push_back(name_text(name, keep));
  for (nb::handle name : fetch_names) output_names.push_back(name_text(name, keep));
  for (nb::handle feed : feeds) {
    const Value* value = as_value(feed);
    if (!value) throw nb::type_error("feeds are OrtValues");
    inputs.push_back(value->handle.get());
  }
  if (inputs.size() != input_names.size()) throw nb::value_error("feed names and feeds differ in number");
  const size_t given = nb::len(fetches);
  for (size_t i = 0; i < output_names.size(); ++i) {
    const Value* value = i < given ? as_value(fetches[i]) : nullptr;
    outputs.push_back(value ? value->handle.get() : nullptr);
  }
  const std::vector<OrtValue*> before = outputs;
  InterruptibleRun run(run_options);
  OrtStatus* status = nullptr;
  {
    const nb::gil_scoped_release unlocked;
    status = ort->Run(model->handle, run.options(), input_names.data(), inputs.data(), inputs.size(),
                      output_names.data(), output_names.size(), outputs.data());
  }
  std::vector<ValuePtr> made(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] != before[i]) made[i].reset(outputs[i]);
  }
  run.ended(status);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!made[i]) continue;
    nb::object value = wrap_value(std::move(made[i]));
    if (i < given) {
      fetches[i] = value;
    } else {
      fetches.append(value);
    }
  }
}

constexpr char kRunDoc[] =
    "Runs the model and returns its outputs, in the order of output_names.\n\n"
    "output_names: names of the wanted outputs; None or an empty list means all of them.\n"
    "input_feed: dict of input names and values: numpy arrays (read in place when C-contiguous), nested lists or\n"
    "    scalars (they take the input's type), OrtValues, tensors of other packages over DLPack; lists for inputs of\n"
    "    sequence type, dicts for maps, None for an optional input without value.\n"
    "run_options: RunOptions of this run.\n\n"
    "Tensors come as numpy arrays that own the engine's memory (strings as arrays of objects), sequences as lists,\n"
    "maps as dicts. The GIL is released while the model runs; any number of threads may run one session.\n\n"
    "Raises ValueError when an input is missing, and the classes of trunnion.errors: InvalidArgument for unknown "
    "names,\n"
    "wrong types or shapes, Fail when run_options.terminate was set. Ctrl-C stops a run of the main thread.";

}  // namespace

void add_runs(nb::class_<Session>& session) {
  session
      .def("run", &run, nb::arg("output_names").none(), nb::arg("input_feed"),
           nb::arg("run_options").none() = nb::none(), kRunDoc)
      .def("_run_values", &run_with_values, nb::arg("output_names").none(), nb::arg("input_feed"),
           nb::arg("run_options").none())
      .def("_run_into", &run_into, nb::arg("run_options").none(), nb::arg("feed_names"), nb::arg("feeds"),
           nb::arg("fetch_names"), nb::arg("fetches"));
}

}  // namespace trunnion::python
