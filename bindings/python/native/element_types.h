// Element types: ONNX's names and codes, numpy's dtypes (ml_dtypes for those that numpy lacks), DLPack's codes.
#pragma once
#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>

#include "numpy_api.h"
#include "trunnion/ort_abi.h"

namespace trunnion::python {

using ElementType = ONNXTensorElementDataType;

struct ElementRow {
  const char* name;      // in "tensor(float)"
  int onnx;              // TensorProto.DataType: what Python users see; the ABI's own numbers differ above 23
  int numpy;             // NPY_*, or -1: ml_dtypes
  const char* ml_dtype;  // its name there
  int bits;              // of one element; 0 for strings
  int dlpack;            // DLDataTypeCode, or -1
};

// Never null; an unknown type gives the row of UNDEFINED.
const ElementRow& element_row(ElementType type);

// Codes of TensorProto.DataType; ValueError when unknown.
ElementType from_onnx_code(int code);

// The dtype of arrays of this type (object for strings). RuntimeError when ml_dtypes is needed and missing.
PyArray_Descr* borrow_dtype(ElementType type);

// The type of an array's elements; UNDEFINED when ONNX has none for it.
ElementType element_type_of(PyArray_Descr* dtype);

// What a user may give for an element type: a numpy dtype or anything that numpy.dtype() takes, or an ONNX code.
ElementType element_type_from(nanobind::handle object);

// True for 4- and 2-bit types, which the engine packs and ml_dtypes keeps one a byte.
inline bool is_packed(const ElementRow& row) { return row.bits > 0 && row.bits < 8; }

// Bytes of `count` elements as the engine stores them.
inline size_t storage_size(const ElementRow& row, size_t count) {
  return (count * static_cast<size_t>(row.bits) + 7) / 8;
}

// Between one element a byte and several; `bits` is 2 or 4. The first element takes the low bits.
void pack_elements(const uint8_t* from, size_t count, int bits, uint8_t* to);
void unpack_elements(const uint8_t* from, size_t count, int bits, bool is_signed, uint8_t* to);

}  // namespace trunnion::python
