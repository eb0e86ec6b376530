// Tensors and arrays. The fast path is a numeric C-contiguous array: one call of the ABI, no copy.
#include "tensors.h"

#include <cstring>
#include <vector>

namespace trunnion::python {
namespace {

static_assert(sizeof(npy_intp) == sizeof(int64_t), "shapes are passed between numpy and the engine as they are");

const int64_t* shape_of(PyArrayObject* array) { return reinterpret_cast<const int64_t*>(PyArray_SHAPE(array)); }
size_t rank_of(PyArrayObject* array) { return static_cast<size_t>(PyArray_NDIM(array)); }
npy_intp* numpy_shape(const TensorView& view) {
  return const_cast<npy_intp*>(reinterpret_cast<const npy_intp*>(view.shape));
}

// The array itself when the engine can read it in place, else a copy that it can.
nb::object readable(PyArrayObject* array) {
  if (PyArray_ISCARRAY_RO(array)) return nb::borrow(reinterpret_cast<PyObject*>(array));
  PyArray_Descr* dtype = PyArray_DESCR(array);
  if (PyArray_ISBYTESWAPPED(array)) {
    dtype = PyArray_DescrNewByteorder(dtype, NPY_NATIVE);
    if (!dtype) throw nb::python_error();
  } else {
    Py_INCREF(dtype);
  }
  return steal(PyArray_FromArray(array, dtype, NPY_ARRAY_CARRAY_RO));  // takes the dtype
}

void fill_strings(OrtValue* value, const std::vector<std::string_view>& texts) {
  bool has_nul = false;
  std::vector<const char*> pointers(texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    pointers[i] = texts[i].data();
    has_nul = has_nul || texts[i].find('\0') != std::string_view::npos;
  }
  if (!has_nul) return check(ort->FillStringTensor(value, pointers.data(), pointers.size()));
  for (size_t i = 0; i < texts.size(); ++i) {
    char* buffer = nullptr;
    check(ort->GetResizedStringTensorElementBuffer(value, i, texts[i].size(), &buffer));
    if (!texts[i].empty()) std::memcpy(buffer, texts[i].data(), texts[i].size());
  }
}

// Elements that are not str or bytes count as str(element).
ValuePtr string_tensor(PyArrayObject* array) {
  const nb::object objects = steal(PyArray_FromArray(array, PyArray_DescrFromType(NPY_OBJECT), NPY_ARRAY_CARRAY_RO));
  PyArrayObject* elements = reinterpret_cast<PyArrayObject*>(objects.ptr());
  PyObject* const* items = static_cast<PyObject**>(PyArray_DATA(elements));
  const size_t count = static_cast<size_t>(PyArray_SIZE(elements));
  std::vector<nb::object> storage;
  std::vector<std::string_view> texts(count);
  for (size_t i = 0; i < count; ++i) {
    PyObject* item = items[i];
    if (PyBytes_Check(item)) {
      texts[i] = {PyBytes_AS_STRING(item), static_cast<size_t>(PyBytes_GET_SIZE(item))};
      continue;
    }
    if (!PyUnicode_Check(item)) {
      storage.push_back(steal(PyObject_Str(item)));
      item = storage.back().ptr();
    }
    nb::object encoded;
    texts[i] = utf8(item, encoded);
    if (encoded.is_valid()) storage.push_back(std::move(encoded));
  }
  ValuePtr value = make_tensor(shape_of(array), rank_of(array), ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING);
  fill_strings(value.get(), texts);
  return value;
}

nb::object string_array(const OrtValue* value, const TensorView& view) {
  const nb::object array = steal(PyArray_EMPTY(static_cast<int>(view.rank), numpy_shape(view), NPY_OBJECT, 0));
  const size_t count = view.count();
  if (count == 0) return array;
  size_t total = 0;
  check(ort->GetStringTensorDataLength(value, &total));
  std::vector<char> bytes(total + 1);
  std::vector<size_t> starts(count + 1, total);
  check(ort->GetStringTensorContent(value, bytes.data(), total, starts.data(), count));
  starts[count] = total;
  PyObject** items = static_cast<PyObject**>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(array.ptr())));
  for (size_t i = 0; i < count; ++i) {
    nb::object text = to_str({bytes.data() + starts[i], starts[i + 1] - starts[i]});
    PyObject* old = items[i];
    items[i] = text.release().ptr();
    Py_XDECREF(old);
  }
  return array;
}

nb::object unpacked_array(OrtValue* value, const TensorView& view, const ElementRow& row) {
  PyArray_Descr* dtype = borrow_dtype(view.type);
  Py_INCREF(dtype);
  nb::object array = steal(PyArray_Empty(static_cast<int>(view.rank), numpy_shape(view), dtype, 0));
  void* data = nullptr;
  check(ort->GetTensorMutableData(value, &data));
  unpack_elements(static_cast<const uint8_t*>(data), view.count(), row.bits, row.name[0] == 'i',
                  static_cast<uint8_t*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(array.ptr()))));
  return array;
}

void release_in_capsule(PyObject* capsule) {
  ort->ReleaseValue(static_cast<OrtValue*>(PyCapsule_GetPointer(capsule, nullptr)));
}

// An array over `data` whose base is `base` (stolen).
nb::object array_over(const TensorView& view, void* data, nb::object base) {
  PyArray_Descr* dtype = borrow_dtype(view.type);
  Py_INCREF(dtype);
  nb::object array = steal(PyArray_NewFromDescr(&PyArray_Type, dtype, static_cast<int>(view.rank), numpy_shape(view),
                                                nullptr, data, NPY_ARRAY_CARRAY, nullptr));
  if (PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(array.ptr()), base.release().ptr()) < 0) {
    throw nb::python_error();
  }
  return array;
}

}  // namespace

TensorView view_tensor(const OrtValue* value) {
  TensorView view;
  check(ort->GetTensorElementTypeAndShapeDataReference(value, &view.type, &view.shape, &view.rank));
  return view;
}

ValuePtr tensor_over(void* data, size_t bytes, const int64_t* shape, size_t rank, ElementType type) {
  OrtValue* value = nullptr;
  check(ort->CreateTensorWithDataAsOrtValue(cpu_memory(), data, bytes, shape, rank, type, &value));
  return ValuePtr(value);
}

ValuePtr make_tensor(const int64_t* shape, size_t rank, ElementType type) {
  OrtValue* value = nullptr;
  check(ort->CreateTensorAsOrtValue(cpu_allocator(), shape, rank, type, &value));
  return ValuePtr(value);
}

ValuePtr tensor_from_array(PyArrayObject* array, nb::object& keep) {
  const ElementType type = element_type_of(PyArray_DESCR(array));
  if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) return string_tensor(array);
  if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED) {
    PyErr_Format(PyExc_TypeError, "ONNX has no element type for arrays of %R", PyArray_DESCR(array));
    throw nb::python_error();
  }
  nb::object source = readable(array);
  PyArrayObject* contiguous = reinterpret_cast<PyArrayObject*>(source.ptr());
  const ElementRow& row = element_row(type);
  if (is_packed(row)) {
    ValuePtr value = make_tensor(shape_of(array), rank_of(array), type);
    void* data = nullptr;
    check(ort->GetTensorMutableData(value.get(), &data));
    pack_elements(static_cast<const uint8_t*>(PyArray_DATA(contiguous)), static_cast<size_t>(PyArray_SIZE(contiguous)),
                  row.bits, static_cast<uint8_t*>(data));
    return value;
  }
  ValuePtr value = tensor_over(PyArray_DATA(contiguous), static_cast<size_t>(PyArray_NBYTES(contiguous)),
                               shape_of(contiguous), rank_of(contiguous), type);
  keep = std::move(source);
  return value;
}

ValuePtr tensor_from_bytes_of(PyArrayObject* array, ElementType type, nb::object& keep) {
  const ElementRow& row = element_row(type);
  if (element_type_of(PyArray_DESCR(array)) == type) return tensor_from_array(array, keep);
  const int bytes = (row.bits + 7) / 8;
  if (bytes == 0 || PyArray_ITEMSIZE(array) != bytes) {
    PyErr_Format(PyExc_ValueError, "elements of %R have %d bytes, those of tensor(%s) have %d", PyArray_DESCR(array),
                 static_cast<int>(PyArray_ITEMSIZE(array)), row.name, bytes);
    throw nb::python_error();
  }
  keep = readable(array);
  PyArrayObject* contiguous = reinterpret_cast<PyArrayObject*>(keep.ptr());
  return tensor_over(PyArray_DATA(contiguous), storage_size(row, static_cast<size_t>(PyArray_SIZE(contiguous))),
                     shape_of(contiguous), rank_of(contiguous), type);
}

nb::object array_from_tensor(ValuePtr value) {
  const TensorView view = view_tensor(value.get());
  if (view.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) return string_array(value.get(), view);
  const ElementRow& row = element_row(view.type);
  if (is_packed(row)) return unpacked_array(value.get(), view, row);
  void* data = nullptr;
  check(ort->GetTensorMutableData(value.get(), &data));
  if (!data || view.count() == 0) {
    PyArray_Descr* dtype = borrow_dtype(view.type);
    Py_INCREF(dtype);
    return steal(PyArray_Empty(static_cast<int>(view.rank), numpy_shape(view), dtype, 0));
  }
  nb::object capsule = steal(PyCapsule_New(value.get(), nullptr, release_in_capsule));
  value.release();
  return array_over(view, data, std::move(capsule));
}

nb::object array_over_tensor(OrtValue* value, nb::handle owner) {
  const TensorView view = view_tensor(value);
  if (view.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) return string_array(value, view);
  const ElementRow& row = element_row(view.type);
  if (is_packed(row)) return unpacked_array(value, view, row);
  void* data = nullptr;
  check(ort->GetTensorMutableData(value, &data));
  if (!data || view.count() == 0) {
    PyArray_Descr* dtype = borrow_dtype(view.type);
    Py_INCREF(dtype);
    return steal(PyArray_Empty(static_cast<int>(view.rank), numpy_shape(view), dtype, 0));
  }
  return array_over(view, data, nb::borrow(owner));
}

nb::object as_array(nb::handle object, ElementType type) {
  PyArray_Descr* dtype = nullptr;
  if (type != ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED) {
    dtype = borrow_dtype(type);
    Py_INCREF(dtype);
  }
  return steal(PyArray_FromAny(object.ptr(), dtype, 0, 0, NPY_ARRAY_CARRAY_RO, nullptr));  // takes the dtype
}

}  // namespace trunnion::python
