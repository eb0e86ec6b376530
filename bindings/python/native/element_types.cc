// The table of element types and the search for a dtype's row.
#include "element_types.h"

#include <cstring>
#include <string>

#include "engine.h"

namespace trunnion::python {
namespace {

// DLPack's type codes.
constexpr int kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kComplex = 5, kBool = 6;
constexpr int kE4M3FN = 10, kE4M3FNUZ = 11, kE5M2 = 12, kE5M2FNUZ = 13, kE8M0FNU = 14;

// In the order of the ABI's enum.
constexpr ElementRow kRows[] = {
    {"undefined", 0, -1, nullptr, 0, -1},
    {"float", 1, NPY_FLOAT32, nullptr, 32, kFloat},
    {"uint8", 2, NPY_UINT8, nullptr, 8, kUInt},
    {"int8", 3, NPY_INT8, nullptr, 8, kInt},
    {"uint16", 4, NPY_UINT16, nullptr, 16, kUInt},
    {"int16", 5, NPY_INT16, nullptr, 16, kInt},
    {"int32", 6, NPY_INT32, nullptr, 32, kInt},
    {"int64", 7, NPY_INT64, nullptr, 64, kInt},
    {"string", 8, NPY_OBJECT, nullptr, 0, -1},
    {"bool", 9, NPY_BOOL, nullptr, 8, kBool},
    {"float16", 10, NPY_HALF, nullptr, 16, kFloat},
    {"double", 11, NPY_FLOAT64, nullptr, 64, kFloat},
    {"uint32", 12, NPY_UINT32, nullptr, 32, kUInt},
    {"uint64", 13, NPY_UINT64, nullptr, 64, kUInt},
    {"complex64", 14, NPY_COMPLEX64, nullptr, 64, kComplex},
    {"complex128", 15, NPY_COMPLEX128, nullptr, 128, kComplex},
    {"bfloat16", 16, -1, "bfloat16", 16, kBfloat},
    {"float8e4m3fn", 17, -1, "float8_e4m3fn", 8, kE4M3FN},
    {"float8e4m3fnuz", 18, -1, "float8_e4m3fnuz", 8, kE4M3FNUZ},
    {"float8e5m2", 19, -1, "float8_e5m2", 8, kE5M2},
    {"float8e5m2fnuz", 20, -1, "float8_e5m2fnuz", 8, kE5M2FNUZ},
    {"uint4", 21, -1, "uint4", 4, -1},
    {"int4", 22, -1, "int4", 4, -1},
    {"float4e2m1", 23, -1, "float4_e2m1fn", 4, -1},
    {"uint2", 25, -1, "uint2", 2, -1},
    {"int2", 26, -1, "int2", 2, -1},
    {"float8e8m0", 24, -1, "float8_e8m0fnu", 8, kE8M0FNU},
};
constexpr int kCount = sizeof(kRows) / sizeof(kRows[0]);

PyArray_Descr* g_dtypes[kCount] = {};  // filled on demand under the GIL, never released

}  // namespace

const ElementRow& element_row(ElementType type) {
  const int index = static_cast<int>(type);
  return kRows[index > 0 && index < kCount ? index : 0];
}

ElementType from_onnx_code(int code) {
  for (int i = 1; i < kCount; ++i) {
    if (kRows[i].onnx == code) return static_cast<ElementType>(i);
  }
  throw nb::value_error(("unknown ONNX element type " + std::to_string(code)).c_str());
}

PyArray_Descr* borrow_dtype(ElementType type) {
  const ElementRow& row = element_row(type);
  PyArray_Descr*& dtype = g_dtypes[&row - kRows];
  if (dtype) return dtype;
  if (row.numpy >= 0) return dtype = PyArray_DescrFromType(row.numpy);
  if (!row.ml_dtype) throw nb::type_error("a tensor of undefined element type has no numpy dtype");
  PyObject* module = PyImport_ImportModule("ml_dtypes");
  if (!module) {
    PyErr_Clear();
    PyErr_Format(PyExc_RuntimeError, "tensor(%s) needs the package ml_dtypes: numpy has no such dtype", row.name);
    throw nb::python_error();
  }
  const nb::object owner = nb::steal(module);
  const nb::object scalar = steal(PyObject_GetAttrString(module, row.ml_dtype));
  PyArray_Descr* found = nullptr;
  if (!PyArray_DescrConverter(scalar.ptr(), &found)) throw nb::python_error();
  return dtype = found;
}

ElementType element_type_of(PyArray_Descr* dtype) {
  switch (dtype->type_num) {
    case NPY_BOOL:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL;
    case NPY_BYTE:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8;
    case NPY_UBYTE:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8;
    case NPY_SHORT:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16;
    case NPY_USHORT:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16;
    case NPY_INT:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32;
    case NPY_UINT:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32;
    case NPY_LONG:
      return sizeof(long) == 8 ? ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64 : ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32;
    case NPY_ULONG:
      return sizeof(long) == 8 ? ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64 : ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32;
    case NPY_LONGLONG:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64;
    case NPY_ULONGLONG:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64;
    case NPY_HALF:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16;
    case NPY_FLOAT:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
    case NPY_DOUBLE:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE;
    case NPY_CFLOAT:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX64;
    case NPY_CDOUBLE:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX128;
    case NPY_OBJECT:
    case NPY_STRING:
    case NPY_UNICODE:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING;
    default:
      break;
  }
  for (int i = 1; i < kCount; ++i) {  // a dtype of ml_dtypes that was met before
    if (kRows[i].ml_dtype && g_dtypes[i] && g_dtypes[i]->typeobj == dtype->typeobj) return static_cast<ElementType>(i);
  }
  const nb::object name = steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(dtype), "name"));
  const std::string text = utf8(name);
  if (text.rfind("StringDType", 0) == 0) return ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING;
  for (int i = 1; i < kCount; ++i) {
    if (kRows[i].ml_dtype && text == kRows[i].ml_dtype) {
      if (!g_dtypes[i]) {
        Py_INCREF(dtype);
        g_dtypes[i] = dtype;
      }
      return static_cast<ElementType>(i);
    }
  }
  return ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
}

ElementType element_type_from(nb::handle object) {
  if (PyLong_Check(object.ptr())) return from_onnx_code(static_cast<int>(PyLong_AsLong(object.ptr())));
  PyArray_Descr* dtype = nullptr;
  if (!PyArray_DescrConverter(object.ptr(), &dtype)) throw nb::python_error();
  const nb::object owner = nb::steal(reinterpret_cast<PyObject*>(dtype));
  const ElementType type = element_type_of(dtype);
  if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED) {
    PyErr_Format(PyExc_TypeError, "ONNX has no element type for %R", dtype);
    throw nb::python_error();
  }
  return type;
}

void pack_elements(const uint8_t* from, size_t count, int bits, uint8_t* to) {
  const size_t per_byte = 8 / static_cast<size_t>(bits);
  const uint8_t mask = static_cast<uint8_t>((1 << bits) - 1);
  for (size_t i = 0; i < count; i += per_byte) {
    uint8_t packed = 0;
    for (size_t k = 0; k < per_byte && i + k < count; ++k) {
      packed = static_cast<uint8_t>(packed | (from[i + k] & mask) << (k * static_cast<size_t>(bits)));
    }
    to[i / per_byte] = packed;
  }
}

void unpack_elements(const uint8_t* from, size_t count, int bits, bool is_signed, uint8_t* to) {
  const size_t per_byte = 8 / static_cast<size_t>(bits);
  const int mask = (1 << bits) - 1, sign = 1 << (bits - 1);
  for (size_t i = 0; i < count; ++i) {
    const int raw = from[i / per_byte] >> (i % per_byte * static_cast<size_t>(bits)) & mask;
    to[i] = static_cast<uint8_t>(is_signed ? (raw ^ sign) - sign : raw);
  }
}

}  // namespace trunnion::python
