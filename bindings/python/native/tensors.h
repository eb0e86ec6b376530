// numpy arrays and the engine's tensors, each seen as the other.
#pragma once
#include "element_types.h"
#include "engine.h"

namespace trunnion::python {

// A value of a type and shape as the engine reports it; the shape is the engine's, valid while the value is.
struct TensorView {
  ElementType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  const int64_t* shape = nullptr;
  size_t rank = 0;

  size_t count() const {
    size_t n = 1;
    for (size_t i = 0; i < rank; ++i) n *= static_cast<size_t>(shape[i]);
    return n;
  }
};
TensorView view_tensor(const OrtValue* value);

// A tensor over an array's memory when that is C-contiguous, aligned and of native byte order, else over a copy; `keep`
// receives what must live as long as the tensor. Strings and 4- or 2-bit elements are always copied.
// TypeError for a dtype that ONNX lacks.
ValuePtr tensor_from_array(PyArrayObject* array, nb::object& keep);

// A tensor of `type` over the array's bytes, whatever its dtype; element sizes must agree.
ValuePtr tensor_from_bytes_of(PyArrayObject* array, ElementType type, nb::object& keep);

// A tensor over foreign memory of `bytes` bytes.
ValuePtr tensor_over(void* data, size_t bytes, const int64_t* shape, size_t rank, ElementType type);

// A new tensor; its contents are undefined.
ValuePtr make_tensor(const int64_t* shape, size_t rank, ElementType type);

// An array that owns the tensor: no element is copied, except strings and 4- or 2-bit elements.
nb::object array_from_tensor(ValuePtr value);

// An array over the tensor's memory that keeps `owner` alive.
nb::object array_over_tensor(OrtValue* value, nb::handle owner);

// numpy.asarray(object, dtype); `type` UNDEFINED leaves the dtype to numpy.
nb::object as_array(nb::handle object, ElementType type);

}  // namespace trunnion::python
