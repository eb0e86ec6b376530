// DLPack both ways. The structures are those of the DLPack ABI, version 1, declared here from its facts.
#include <vector>

#include "values.h"

namespace trunnion::python {
namespace {

struct Device {
  int32_t type;
  int32_t id;
};
struct DataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};
struct Tensor {
  void* data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; null when C-contiguous
  uint64_t byte_offset;
};
struct Managed {
  Tensor tensor;
  void* context;
  void (*deleter)(Managed*);
};
struct Versioned {
  uint32_t major, minor;
  void* context;
  void (*deleter)(Versioned*);
  uint64_t flags;
  Tensor tensor;
};
constexpr int32_t kCpu = 1, kCudaHost = 3;

// What an exported tensor points to; the Python value stays alive until the consumer is done.
template <class Form>
struct Export {
  Form form{};
  std::vector<int64_t> shape;
  PyObject* value = nullptr;
};

template <class Form>
void release_export(Form* form) {
  auto* made = static_cast<Export<Form>*>(form->context);
  const nb::gil_scoped_acquire gil;  // consumers may release from any thread
  Py_DECREF(made->value);
  delete made;
}

template <class Form>
void drop_unused(PyObject* capsule, const char* name) {
  if (!PyCapsule_IsValid(capsule, name)) return;  // renamed: the consumer owns it
  auto* form = static_cast<Form*>(PyCapsule_GetPointer(capsule, name));
  if (form->deleter) form->deleter(form);
}

constexpr char kName[] = "dltensor", kVersionedName[] = "dltensor_versioned";
void drop_managed(PyObject* capsule) { drop_unused<Managed>(capsule, kName); }
void drop_versioned(PyObject* capsule) { drop_unused<Versioned>(capsule, kVersionedName); }

template <class Form>
Form* make_export(nb::handle self) {
  OrtValue* value = nb::inst_ptr<Value>(self)->handle.get();
  const TensorView view = view_tensor(value);
  const ElementRow& row = element_row(view.type);
  if (row.dlpack < 0) throw nb::buffer_error((std::string("DLPack has no type for tensor(") + row.name + ")").c_str());
  auto made = std::make_unique<Export<Form>>();
  made->shape.assign(view.shape, view.shape + view.rank);
  Tensor& tensor = made->form.tensor;
  check(ort->GetTensorMutableData(value, &tensor.data));
  tensor.device = {kCpu, 0};
  tensor.ndim = static_cast<int32_t>(view.rank);
  tensor.dtype = {static_cast<uint8_t>(row.dlpack), static_cast<uint8_t>(row.bits), 1};
  tensor.shape = made->shape.data();
  made->form.context = made.get();
  made->form.deleter = release_export<Form>;
  made->value = self.inc_ref().ptr();
  return &made.release()->form;
}

ElementType element_type_of(DataType dtype) {
  for (int i = 1; i <= ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E8M0; ++i) {
    const ElementRow& row = element_row(static_cast<ElementType>(i));
    if (row.dlpack == dtype.code && row.bits == dtype.bits && dtype.lanes == 1) return static_cast<ElementType>(i);
  }
  throw nb::buffer_error(("ONNX has no element type for DLPack code " + std::to_string(dtype.code) + ", " +
                          std::to_string(dtype.bits) + " bits, " + std::to_string(dtype.lanes) + " lanes")
                             .c_str());
}

bool is_contiguous(const Tensor& tensor) {
  int64_t expected = 1;
  for (int32_t i = tensor.ndim - 1; tensor.strides && i >= 0; --i) {
    if (tensor.shape[i] != 1 && tensor.strides[i] != expected) return false;
    expected *= tensor.shape[i];
  }
  return true;
}

// Takes the tensor out of the capsule; null, with the capsule untouched, when it is not contiguous.
template <class Form>
ValuePtr import_form(nb::handle capsule, const char* name, const char* used_name, nb::object& owner) {
  auto* form = static_cast<Form*>(PyCapsule_GetPointer(capsule.ptr(), name));
  if (!form) throw nb::python_error();
  const Tensor& tensor = form->tensor;
  if (tensor.device.type != kCpu && tensor.device.type != kCudaHost) {
    throw nb::buffer_error(("the tensor is on DLPack device type " + std::to_string(tensor.device.type) +
                            "; only CPU memory can be used here")
                               .c_str());
  }
  if (!is_contiguous(tensor)) return {};
  const ElementType type = element_type_of(tensor.dtype);
  size_t count = 1;
  for (int32_t i = 0; i < tensor.ndim; ++i) count *= static_cast<size_t>(tensor.shape[i]);
  ValuePtr value =
      tensor_over(static_cast<char*>(tensor.data) + tensor.byte_offset, storage_size(element_row(type), count),
                  tensor.shape, static_cast<size_t>(tensor.ndim), type);
  owner = nb::capsule(form, [](void* p) noexcept {
    auto* taken = static_cast<Form*>(p);
    if (taken->deleter) taken->deleter(taken);
  });
  PyCapsule_SetName(capsule.ptr(), used_name);
  PyCapsule_SetDestructor(capsule.ptr(), nullptr);
  return value;
}

nb::object capsule_of(nb::handle object) {
  if (PyCapsule_CheckExact(object.ptr())) return nb::borrow(object);
  const nb::object exporter = object.attr("__dlpack__");
  try {
    return exporter(nb::arg("max_version") = nb::make_tuple(1, 0));
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_TypeError)) throw;  // an exporter older than version 1 does not know the argument
  }
  return exporter();
}

}  // namespace

nb::object value_to_dlpack(nb::handle self, bool versioned) {
  if (versioned) {
    Versioned* form = make_export<Versioned>(self);
    form->major = 1;
    return steal(PyCapsule_New(form, kVersionedName, drop_versioned));
  }
  return steal(PyCapsule_New(make_export<Managed>(self), kName, drop_managed));
}

ValuePtr tensor_from_dlpack(nb::handle object, nb::object& owner) {
  const nb::object capsule = capsule_of(object);
  if (PyCapsule_IsValid(capsule.ptr(), kVersionedName)) {
    return import_form<Versioned>(capsule, kVersionedName, "used_dltensor_versioned", owner);
  }
  if (PyCapsule_IsValid(capsule.ptr(), kName)) return import_form<Managed>(capsule, kName, "used_dltensor", owner);
  throw nb::type_error("this is no DLPack capsule, or one that was used already");
}

}  // namespace trunnion::python
