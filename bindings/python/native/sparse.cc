// Sparse tensors: made from numpy arrays (copied), their parts seen as arrays in place. SparseTensor's Python methods
// are in trunnion/_sparse.py; the native class is that of OrtValue.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include "values.h"

namespace trunnion::python {
namespace {

using Dims = std::vector<int64_t>;

// An array as the engine reads it in place.
struct Part {
  Part(nb::handle object, ElementType type) : array(as_array(object, type)) {
    PyArrayObject* raw = reinterpret_cast<PyArrayObject*>(array.ptr());
    data = PyArray_DATA(raw);
    for (int i = 0; i < PyArray_NDIM(raw); ++i) dims.push_back(PyArray_DIM(raw, i));
    count = static_cast<size_t>(PyArray_SIZE(raw));
    this->type = element_type_of(PyArray_DESCR(raw));
  }
  nb::object array;
  void* data = nullptr;
  Dims dims;
  size_t count = 0;
  ElementType type;
};

constexpr ElementType kInt64 = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, kInt32 = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32;
constexpr ElementType kAsGiven = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;

ValuePtr empty_sparse(const Dims& shape, const Part& values) {
  const ElementRow& row = element_row(values.type);
  if (row.bits < 8) throw nb::type_error("a sparse tensor's values must be numbers that numpy has a dtype for");
  OrtValue* made = nullptr;
  check(ort->CreateSparseTensorAsOrtValue(cpu_allocator(), shape.data(), shape.size(), values.type, &made));
  return ValuePtr(made);
}

nb::object from_coo(const Dims& shape, nb::handle values_in, nb::handle indices_in) {
  const Part values(values_in, kAsGiven), indices(indices_in, kInt64);
  ValuePtr made = empty_sparse(shape, values);
  check(ort->FillSparseTensorCoo(made.get(), cpu_memory(), values.dims.data(), values.dims.size(), values.data,
                                 static_cast<int64_t*>(indices.data), indices.count));
  return wrap_sparse(std::move(made));
}

nb::object from_csr(const Dims& shape, nb::handle values_in, nb::handle inner_in, nb::handle outer_in) {
  const Part values(values_in, kAsGiven), inner(inner_in, kInt64), outer(outer_in, kInt64);
  ValuePtr made = empty_sparse(shape, values);
  check(ort->FillSparseTensorCsr(made.get(), cpu_memory(), values.dims.data(), values.dims.size(), values.data,
                                 static_cast<int64_t*>(inner.data), inner.count, static_cast<int64_t*>(outer.data),
                                 outer.count));
  return wrap_sparse(std::move(made));
}

nb::object from_blocks(const Dims& shape, nb::handle values_in, nb::handle indices_in) {
  const Part values(values_in, kAsGiven), indices(indices_in, kInt32);
  ValuePtr made = empty_sparse(shape, values);
  check(ort->FillSparseTensorBlockSparse(made.get(), cpu_memory(), values.dims.data(), values.dims.size(), values.data,
                                         indices.dims.data(), indices.dims.size(),
                                         static_cast<int32_t*>(indices.data)));
  return wrap_sparse(std::move(made));
}

Dims dims_of(OrtTensorTypeAndShapeInfo* owned, ElementType& type) {
  const ShapeInfoPtr info(owned);
  size_t rank = 0;
  check(ort->GetDimensionsCount(owned, &rank));
  Dims dims(rank);
  check(ort->GetDimensions(owned, dims.data(), rank));
  check(ort->GetTensorElementType(owned, &type));
  return dims;
}

nb::object array_over(const void* data, const Dims& dims, ElementType type, nb::handle owner) {
  PyArray_Descr* dtype = borrow_dtype(type);
  Py_INCREF(dtype);
  std::vector<npy_intp> shape(dims.begin(), dims.end());
  nb::object array = steal(PyArray_NewFromDescr(&PyArray_Type, dtype, static_cast<int>(shape.size()), shape.data(),
                                                nullptr, const_cast<void*>(data), NPY_ARRAY_CARRAY_RO, nullptr));
  PyObject* base = owner.inc_ref().ptr();
  if (PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(array.ptr()), base) < 0) throw nb::python_error();
  return array;
}

nb::object values_of(nb::handle_t<Value> self) {
  const OrtValue* value = nb::inst_ptr<Value>(self)->handle.get();
  OrtTensorTypeAndShapeInfo* info = nullptr;
  check(ort->GetSparseTensorValuesTypeAndShape(value, &info));
  ElementType type = kAsGiven;
  const Dims dims = dims_of(info, type);
  const void* data = nullptr;
  check(ort->GetSparseTensorValues(value, &data));
  return array_over(data, dims, type, self);
}

nb::object indices_of(nb::handle_t<Value> self, int which) {
  const OrtValue* value = nb::inst_ptr<Value>(self)->handle.get();
  const auto format = static_cast<OrtSparseIndicesFormat>(which);
  OrtTensorTypeAndShapeInfo* info = nullptr;
  check(ort->GetSparseTensorIndicesTypeShape(value, format, &info));
  ElementType type = kAsGiven;
  const Dims dims = dims_of(info, type);
  const void* data = nullptr;
  size_t count = 0;
  check(ort->GetSparseTensorIndices(value, format, &count, &data));
  return array_over(data, dims, type, self);
}

int format_of(const Value& self) {
  OrtSparseFormat format = ORT_SPARSE_UNDEFINED;
  check(ort->GetSparseTensorFormat(self.handle.get(), &format));
  return static_cast<int>(format);
}

}  // namespace

void add_sparse(nb::module_& m) {
  m.def("sparse_from_coo", &from_coo);
  m.def("sparse_from_csr", &from_csr);
  m.def("sparse_from_blocks", &from_blocks);
  m.def("sparse_values", &values_of);
  m.def("sparse_indices", &indices_of);
  m.def("sparse_format", &format_of);
  m.def("as_sparse", [](const Value& value) { return wrap_sparse(value.handle, value.owner); });
}

}  // namespace trunnion::python
