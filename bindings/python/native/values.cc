// Conversion of values of every kind, and the native part of OrtValue.
#include "values.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>

namespace trunnion::python {
namespace {

PyObject* g_value_class = nullptr;   // trunnion.OrtValue, never released
PyObject* g_sparse_class = nullptr;  // trunnion.SparseTensor

nb::object wrap_as(PyObject* type, std::shared_ptr<OrtValue> handle, nb::object owner) {
  nb::object object = nb::inst_alloc(nb::handle(type));
  new (nb::inst_ptr<Value>(object)) Value{std::move(handle), std::move(owner)};
  nb::inst_mark_ready(object);
  return object;
}

bool has(nb::handle object, const char* name) { return PyObject_HasAttrString(object.ptr(), name); }

// What has a dtype of its own keeps it; lists and numbers take `type`.
nb::object array_of(nb::handle object, ElementType type) {
  if (PyArray_Check(object.ptr())) return nb::borrow(object);
  return as_array(object, has(object, "__array__") ? ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED : type);
}

ValuePtr tensor_from_python(nb::handle object, ElementType type, nb::object& owner) {
  if (!PyArray_Check(object.ptr()) && has(object, "__dlpack__")) {
    if (ValuePtr value = tensor_from_dlpack(object, owner)) return value;
    const nb::object array = nb::module_::import_("numpy").attr("from_dlpack")(object);
    return tensor_from_array(reinterpret_cast<PyArrayObject*>(array.ptr()), owner);
  }
  const nb::object array = array_of(object, type);
  return tensor_from_array(reinterpret_cast<PyArrayObject*>(array.ptr()), owner);
}

ValuePtr tensor_from_python(nb::handle object, ElementType type, std::vector<nb::object>& keep) {
  nb::object owner;
  ValuePtr value = tensor_from_python(object, type, owner);
  if (owner.is_valid()) keep.push_back(std::move(owner));
  return value;
}

ValuePtr combine(const std::vector<ValuePtr>& parts, ONNXType kind) {
  std::vector<const OrtValue*> handles;
  handles.reserve(parts.size() + 1);  // so that data() is an address even when there are none
  for (const ValuePtr& part : parts) handles.push_back(part.get());
  OrtValue* value = nullptr;
  check(ort->CreateValue(handles.data(), parts.size(), kind, &value));
  return ValuePtr(value);
}

ValuePtr sequence_from_python(nb::handle object, const TypeNode& expected, std::vector<nb::object>& keep) {
  std::vector<ValuePtr> parts;
  for (nb::handle item : nb::iter(object)) parts.push_back(value_from_python(item, *expected.inner, keep));
  return combine(parts, ONNX_TYPE_SEQUENCE);
}

ValuePtr map_from_python(nb::handle object, const TypeNode& expected, std::vector<nb::object>& keep) {
  const nb::list keys = nb::steal<nb::list>(steal(PyMapping_Keys(object.ptr())).release());
  const nb::list values = nb::steal<nb::list>(steal(PyMapping_Values(object.ptr())).release());
  std::vector<ValuePtr> parts;
  parts.push_back(tensor_from_python(keys, expected.element, keep));
  parts.push_back(tensor_from_python(values, expected.inner->element, keep));
  return combine(parts, ONNX_TYPE_MAP);
}

std::vector<ValuePtr> elements_of(const OrtValue* value) {
  size_t count = 0;
  check(ort->GetValueCount(value, &count));
  std::vector<ValuePtr> elements;
  for (size_t i = 0; i < count; ++i) {
    OrtValue* element = nullptr;
    check(ort->GetValue(value, static_cast<int>(i), cpu_allocator(), &element));
    elements.emplace_back(element);
  }
  return elements;
}

nb::object list_of_tensor(ValuePtr value) {
  const nb::object array = array_from_tensor(std::move(value));
  return steal(PyArray_ToList(reinterpret_cast<PyArrayObject*>(array.ptr())));
}

nb::object dict_from_map(const OrtValue* value) {
  std::vector<ValuePtr> parts = elements_of(value);
  const nb::object keys = list_of_tensor(std::move(parts.at(0)));
  const nb::object values = list_of_tensor(std::move(parts.at(1)));
  nb::dict result;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(keys.ptr()); ++i) {
    if (PyDict_SetItem(result.ptr(), PyList_GET_ITEM(keys.ptr(), i), PyList_GET_ITEM(values.ptr(), i)) < 0) {
      throw nb::python_error();
    }
  }
  return result;
}

// GetValueType of ONNX Runtime fails for sparse tensors, so they are asked for before it.
ONNXType kind_of(const OrtValue* value) {
  int is_tensor = 0, is_sparse = 0;
  check(ort->IsTensor(value, &is_tensor));
  if (is_tensor) return ONNX_TYPE_TENSOR;
  check(ort->IsSparseTensor(value, &is_sparse));
  if (is_sparse) return ONNX_TYPE_SPARSETENSOR;
  ONNXType kind = ONNX_TYPE_UNKNOWN;
  check(ort->GetValueType(value, &kind));
  return kind;
}

bool has_value(const OrtValue* value) {
  int present = 0;
  check(ort->HasValue(value, &present));
  return present != 0;
}

void require_tensor(const OrtValue* value) {
  int is_tensor = 0;
  check(ort->IsTensor(value, &is_tensor));
  if (!is_tensor) throw std::runtime_error("Only OrtValues that are Tensors have this");
}

// The methods of OrtValue.

nb::object from_array(nb::handle object) {
  nb::object owner;
  ValuePtr value = tensor_from_python(object, ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED, owner);
  return wrap_value(std::move(value), std::move(owner));
}

// None when the tensor's strides forbid sharing its memory.
nb::object from_dlpack(nb::handle object) {
  nb::object owner;
  ValuePtr value = tensor_from_dlpack(object, owner);
  return value ? wrap_value(std::move(value), std::move(owner)) : nb::none();
}

nb::object from_array_as(nb::handle object, int onnx_type) {
  nb::object owner;
  const nb::object array = array_of(object, ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED);
  ValuePtr value =
      tensor_from_bytes_of(reinterpret_cast<PyArrayObject*>(array.ptr()), from_onnx_code(onnx_type), owner);
  return wrap_value(std::move(value), std::move(owner));
}

nb::object from_shape(const std::vector<int64_t>& shape, nb::handle element_type) {
  for (int64_t extent : shape) {
    if (extent < 0) throw nb::value_error("a tensor's dimensions cannot be negative");
  }
  return wrap_value(make_tensor(shape.data(), shape.size(), element_type_from(element_type)));
}

nb::object from_memory(uintptr_t data, const std::vector<int64_t>& shape, nb::handle element_type) {
  const ElementType type = element_type_from(element_type);
  if (element_row(type).bits == 0) throw nb::value_error("memory cannot be given for a tensor of strings");
  size_t count = 1;
  for (int64_t extent : shape) {
    if (extent < 0) throw nb::value_error("a tensor's dimensions cannot be negative");
    count *= static_cast<size_t>(extent);
  }
  return wrap_value(tensor_over(reinterpret_cast<void*>(data), storage_size(element_row(type), count), shape.data(),
                                shape.size(), type));
}

nb::object from_list(nb::list parts) {
  std::vector<const OrtValue*> handles;
  for (nb::handle part : parts) {
    const Value* value = as_value(part);
    if (!value) throw nb::type_error("a sequence is made of OrtValues");
    handles.push_back(value->handle.get());
  }
  OrtValue* value = nullptr;
  check(ort->CreateValue(handles.data(), handles.size(), ONNX_TYPE_SEQUENCE, &value));
  return wrap_value(ValuePtr(value), parts);
}

nb::object to_numpy(nb::handle self) {
  OrtValue* value = nb::inst_ptr<Value>(self)->handle.get();
  if (!has_value(value)) return nb::none();
  require_tensor(value);
  return array_over_tensor(value, self);
}

nb::list elements(const Value& self) {
  nb::list result;
  for (ValuePtr& element : elements_of(self.handle.get())) result.append(wrap_value(std::move(element), self.owner));
  return result;
}

nb::object as_dict(const Value& self) {
  if (kind_of(self.handle.get()) != ONNX_TYPE_MAP) throw std::runtime_error("only a map is a dict");
  return dict_from_map(self.handle.get());
}

std::vector<int64_t> shape(const Value& self) {
  int is_tensor = 0;
  check(ort->IsTensor(self.handle.get(), &is_tensor));
  if (is_tensor) {
    const TensorView view = view_tensor(self.handle.get());
    return {view.shape, view.shape + view.rank};
  }
  OrtTensorTypeAndShapeInfo* raw = nullptr;
  check(ort->GetTensorTypeAndShape(self.handle.get(), &raw));
  const ShapeInfoPtr info(raw);
  size_t rank = 0;
  check(ort->GetDimensionsCount(raw, &rank));
  std::vector<int64_t> dims(rank);
  check(ort->GetDimensions(raw, dims.data(), rank));
  return dims;
}

TypeNode type_of(const Value& self) {
  if (kind_of(self.handle.get()) == ONNX_TYPE_SPARSETENSOR) {
    OrtTensorTypeAndShapeInfo* values = nullptr;
    check(ort->GetSparseTensorValuesTypeAndShape(self.handle.get(), &values));
    const ShapeInfoPtr info(values);
    TypeNode node;
    node.kind = ONNX_TYPE_SPARSETENSOR;
    check(ort->GetTensorElementType(values, &node.element));
    return node;
  }
  OrtTypeInfo* raw = nullptr;
  check(ort->GetTypeInfo(self.handle.get(), &raw));
  const TypeInfoPtr info(raw);
  return parse_type(raw);
}

std::string data_type(const Value& self) { return type_text(type_of(self)); }

int element_type(const Value& self) {
  TypeNode type = type_of(self);
  const TypeNode* node = &type;
  while (node->kind != ONNX_TYPE_TENSOR && node->kind != ONNX_TYPE_SPARSETENSOR && node->inner)
    node = node->inner.get();
  return element_row(node->element).onnx;
}

std::string device_name(const Value& self) {
  if (kind_of(self.handle.get()) == ONNX_TYPE_SPARSETENSOR) return "cpu";  // made here, in CPU memory
  const OrtMemoryInfo* memory = nullptr;
  check(ort->GetTensorMemoryInfo(self.handle.get(), &memory));
  OrtMemoryInfoDeviceType type = OrtMemoryInfoDeviceType_CPU;
  ort->MemoryInfoGetDeviceType(memory, &type);
  switch (type) {
    case OrtMemoryInfoDeviceType_GPU:
      return ort->MemoryInfoGetVendorId(memory) == 0x10DE ? "cuda" : "gpu";
    case OrtMemoryInfoDeviceType_NPU:
      return "npu";
    case OrtMemoryInfoDeviceType_FPGA:
      return "fpga";
    default:
      return "cpu";
  }
}

uintptr_t data_ptr(const Value& self) {
  require_tensor(self.handle.get());
  void* data = nullptr;
  check(ort->GetTensorMutableData(self.handle.get(), &data));
  return reinterpret_cast<uintptr_t>(data);
}

size_t size_in_bytes(const Value& self) {
  require_tensor(self.handle.get());
  size_t size = 0;
  check(ort->GetTensorSizeInBytes(self.handle.get(), &size));
  return size;
}

void update(const Value& self, nb::handle source) {
  std::vector<nb::object> keep;
  ValuePtr made;
  const OrtValue* from = nullptr;
  if (const Value* value = as_value(source)) {
    from = value->handle.get();
  } else {
    made = tensor_from_python(source, ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED, keep);
    from = made.get();
  }
  require_tensor(self.handle.get());
  require_tensor(from);
  const TensorView target = view_tensor(self.handle.get()), given = view_tensor(from);
  if (target.type != given.type) {
    throw std::runtime_error(std::string("The type of the new data, ") + element_row(given.type).name +
                             ", is not the OrtValue's, " + element_row(target.type).name);
  }
  if (element_row(target.type).bits == 0) throw std::runtime_error("update_inplace does not take strings");
  if (target.count() != given.count()) {
    throw std::runtime_error("The input size of numpy arrays does not match the size of the OrtValue.");
  }
  void* to = nullptr;
  const void* data = nullptr;
  check(ort->GetTensorMutableData(self.handle.get(), &to));
  check(ort->GetTensorData(from, &data));
  const size_t bytes = storage_size(element_row(target.type), target.count());
  if (bytes > 0) std::memmove(to, data, bytes);
}

}  // namespace

nb::object wrap_value(std::shared_ptr<OrtValue> handle, nb::object owner) {
  return wrap_as(g_value_class, std::move(handle), std::move(owner));
}

nb::object wrap_sparse(std::shared_ptr<OrtValue> handle, nb::object owner) {
  return wrap_as(g_sparse_class, std::move(handle), std::move(owner));
}

Value* as_value(nb::handle object) { return nb::isinstance<Value>(object) ? nb::inst_ptr<Value>(object) : nullptr; }

ValuePtr value_from_python(nb::handle object, const TypeNode& expected, std::vector<nb::object>& keep) {
  if (PyArray_Check(object.ptr())) return tensor_from_python(object, ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED, keep);
  switch (expected.kind) {
    case ONNX_TYPE_SEQUENCE:
      return sequence_from_python(object, expected, keep);
    case ONNX_TYPE_MAP:
      if (PyDict_Check(object.ptr()) || has(object, "items")) {
        return map_from_python(object, expected, keep);
      }
      throw nb::type_error("an input of map type takes a dict");
    case ONNX_TYPE_OPTIONAL:
      return object.is_none() ? ValuePtr() : value_from_python(object, *expected.inner, keep);
    default:
      break;
  }
  if (object.is_none()) throw nb::value_error("None is given where a tensor is needed");
  return tensor_from_python(object, expected.element, keep);
}

nb::object python_from_value(ValuePtr value) {
  if (!value || !has_value(value.get())) return nb::none();
  switch (kind_of(value.get())) {
    case ONNX_TYPE_TENSOR:
      return array_from_tensor(std::move(value));
    case ONNX_TYPE_SPARSETENSOR:
      return wrap_sparse(std::move(value));
    case ONNX_TYPE_MAP:
      return dict_from_map(value.get());
    case ONNX_TYPE_SEQUENCE: {
      nb::list result;
      for (ValuePtr& element : elements_of(value.get())) result.append(python_from_value(std::move(element)));
      return result;
    }
    default:
      return wrap_value(std::move(value));
  }
}

void add_values(nb::module_& m) {
  nb::class_<Value>(m, "OrtValue", nb::is_weak_referenceable())
      .def("numpy", [](nb::handle_t<Value> self) { return to_numpy(self); })
      .def("shape", &shape)
      .def("data_type", &data_type)
      .def("element_type", &element_type)
      .def("device_name", &device_name)
      .def("data_ptr", &data_ptr)
      .def("tensor_size_in_bytes", &size_in_bytes)
      .def("has_value", [](const Value& self) { return has_value(self.handle.get()); })
      .def("is_tensor", [](const Value& self) { return kind_of(self.handle.get()) == ONNX_TYPE_TENSOR; })
      .def("is_sparse_tensor", [](const Value& self) { return kind_of(self.handle.get()) == ONNX_TYPE_SPARSETENSOR; })
      .def("is_tensor_sequence", [](const Value& self) { return kind_of(self.handle.get()) == ONNX_TYPE_SEQUENCE; })
      .def("_as_dict", &as_dict)
      .def("elements", &elements)
      .def("update_inplace", &update, nb::arg("data"))
      .def("_to_dlpack", [](nb::handle_t<Value> self, bool versioned) { return value_to_dlpack(self, versioned); });
  m.def("set_value_classes", [](nb::handle value, nb::handle sparse) {
    g_value_class = value.inc_ref().ptr();
    g_sparse_class = sparse.inc_ref().ptr();
  });
  m.def("share_value", [](const Value& value) { return wrap_value(value.handle, value.owner); });
  m.def("value_from_array", &from_array);
  m.def("value_from_array_as", &from_array_as);
  m.def("value_from_shape", &from_shape);
  m.def("value_from_memory", &from_memory);
  m.def("value_from_list", &from_list);
  m.def("value_from_dlpack", &from_dlpack);
  m.def("dtype_of",
        [](int onnx_type) { return nb::borrow(reinterpret_cast<PyObject*>(borrow_dtype(from_onnx_code(onnx_type)))); });
  m.def("onnx_type_of", [](nb::handle dtype) { return element_row(element_type_from(dtype)).onnx; });
}

}  // namespace trunnion::python
