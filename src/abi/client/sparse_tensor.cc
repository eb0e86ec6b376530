// OrtValue as a sparse tensor. It is made empty or around the user's values, and gets its indices in a second call.
#include <cstring>

#include "abi/handles.h"
#include "abi/slots.h"

namespace trunnion::abi {
namespace {

using Format = SparseTensor::Format;

Result<const SparseTensor*> sparse_of(const OrtValue* value) {
  if (value->value.kind() != Value::Kind::sparse_tensor) return error(Code::fail, "the value is not a sparse tensor");
  return &value->value.sparse();
}

// The sparse tensor with another content; `value` may not have indices yet.
Result<SparseTensor> open(const OrtValue* value) {
  TRN_ASSIGN(const SparseTensor* s, sparse_of(value));
  if (!value->sparse_open) return error(Code::fail, "the sparse tensor has its indices already");
  return *s;
}

void close(OrtValue* value, SparseTensor s) {
  value->value = Value(std::move(s));
  value->sparse_open = false;
}

Status check_shape(std::span<const int64_t> dims, const char* what) {
  if (element_count(dims) < 0)
    return invalid_argument("{} {}: a dimension is negative, or the size overflows", what, shape_text(dims));
  return {};
}

// A copy of the user's elements; strings come as char pointers.
Result<Tensor> copy_values(DType type, std::span<const int64_t> shape, const void* from) {
  TRN_TRY(check_shape(shape, "values_shape"));
  TRN_ASSIGN(Tensor to, Tensor::allocate(type, shape));
  if (to.count() == 0) return to;
  if (!from) return invalid_argument("argument 'values' must not be NULL");
  if (type == DType::string) {
    const auto* text = static_cast<const char* const*>(from);
    for (int64_t i = 0; i < to.count(); ++i) {
      if (!text[i]) return invalid_argument("value {} is NULL", i);
      to.data<std::string>()[i] = text[i];
    }
  } else {
    std::memcpy(to.raw(), from, to.bytes());
  }
  return to;
}

template <class T>
Result<Tensor> indices(std::initializer_list<int64_t> shape, const T* data, bool copy) {
  const std::span dims(shape.begin(), shape.size());
  if (!data && element_count(dims)) return invalid_argument("the indices must not be NULL");
  if (copy) return Tensor::from<T>(dims, {data, static_cast<size_t>(element_count(dims))});
  return Tensor::borrow(DTypeOf<T>::value, dims, const_cast<T*>(data), nullptr);
}

Status coo(SparseTensor& s, const int64_t* data, size_t count, bool copy) {
  const int64_t nnz = s.values.count(), n = static_cast<int64_t>(count);
  if (n != nnz && n != 2 * nnz)
    return invalid_argument("{} values need {} linear or {} two-dimensional indices, not {}", nnz, nnz, 2 * nnz, n);
  s.format = Format::coo;
  TRN_ASSIGN(s.indices, n == nnz ? indices({nnz}, data, copy) : indices({nnz, 2}, data, copy));
  return {};
}

Status csr(SparseTensor& s, const int64_t* inner, size_t inner_count, const int64_t* outer, size_t outer_count,
           bool copy) {
  if (s.dense_shape.size() != 2)
    return invalid_argument("CSR needs a dense shape of rank 2, not {}", shape_text(s.dense_shape));
  const int64_t nnz = s.values.count(), rows = s.dense_shape[0];
  const auto n = static_cast<int64_t>(inner_count), m = static_cast<int64_t>(outer_count);
  if (n != nnz || (m != rows + 1 && !(m == 0 && nnz == 0)))
    return invalid_argument("CSR of {} values and {} rows needs {} inner and {} outer indices, not {} and {}", nnz,
                            rows, nnz, rows + 1, n, m);
  s.format = Format::csr;
  TRN_ASSIGN(s.indices, indices({n}, inner, copy));
  TRN_ASSIGN(s.outer_indices, indices({m}, outer, copy));
  return {};
}

Status block_sparse(SparseTensor& s, std::span<const int64_t> shape, const int32_t* data, bool copy) {
  if (shape.size() != 2 || shape[0] != 2 || shape[1] < 0)
    return invalid_argument("indices of a block-sparse tensor have the shape {{2,blocks}}, not {}", shape_text(shape));
  s.format = Format::block_sparse;
  TRN_ASSIGN(s.indices, indices({2, shape[1]}, data, copy));
  return {};
}

// The part of the indices that a format code names.
Result<const Tensor*> indices_of(const OrtValue* value, OrtSparseIndicesFormat which) {
  TRN_ASSIGN(const SparseTensor* s, sparse_of(value));
  if (!value->sparse_open) {
    switch (which) {
      case ORT_SPARSE_COO_INDICES:
        if (s->format == Format::coo) return &s->indices;
        break;
      case ORT_SPARSE_CSR_INNER_INDICES:
        if (s->format == Format::csr) return &s->indices;
        break;
      case ORT_SPARSE_CSR_OUTER_INDICES:
        if (s->format == Format::csr) return &s->outer_indices;
        break;
      case ORT_SPARSE_BLOCK_SPARSE_INDICES:
        if (s->format == Format::block_sparse) return &s->indices;
        break;
    }
  }
  return invalid_argument("the sparse tensor has no indices of kind {}", static_cast<int>(which));
}

Status create(std::span<const int64_t> dense_shape, Tensor values, OrtValue** out) {
  TRN_TRY(check_shape(dense_shape, "dense_shape"));
  SparseTensor s;
  s.dense_shape = Shape(dense_shape);
  s.values = std::move(values);
  *out = new OrtValue{Value(std::move(s)), nullptr, true};
  return {};
}

}  // namespace

ORT_FN(IsSparseTensor, (const OrtValue* value, int* out)) {
  TRN_REQUIRE(value, out);
  *out = value->value.kind() == Value::Kind::sparse_tensor;
  return {};
}

ORT_FN(CreateSparseTensorAsOrtValue, (OrtAllocator * allocator, const int64_t* dense_shape, size_t dense_shape_len,
                                      ONNXTensorElementDataType type, OrtValue** out)) {
  TRN_REQUIRE(allocator, dense_shape, out);
  const DType dtype = dtype_of(type);
  if (dtype == DType::undefined) return not_implemented("tensor type {} is not supported", static_cast<int>(type));
  const int64_t none[] = {0};
  TRN_ASSIGN(Tensor values, Tensor::allocate(dtype, none));
  return create({dense_shape, dense_shape_len}, std::move(values), out);
}

ORT_FN(CreateSparseTensorWithValuesAsOrtValue,
       (const OrtMemoryInfo* info, void* p_data, const int64_t* dense_shape, size_t dense_shape_len,
        const int64_t* values_shape, size_t values_shape_len, ONNXTensorElementDataType type, OrtValue** out)) {
  TRN_REQUIRE(info, dense_shape, values_shape, out);
  const DType dtype = dtype_of(type);
  if (dtype == DType::undefined || dtype == DType::string)
    return not_implemented("tensor type {} is not supported around the user's values", static_cast<int>(type));
  const std::span shape(values_shape, values_shape_len);
  TRN_TRY(check_shape(shape, "values_shape"));
  if (element_count(shape)) TRN_REQUIRE(p_data);
  return create({dense_shape, dense_shape_len}, Tensor::borrow(dtype, shape, p_data, nullptr), out);
}

ORT_FN(FillSparseTensorCoo,
       (OrtValue * ort_value, const OrtMemoryInfo* data_mem_info, const int64_t* values_shape, size_t values_shape_len,
        const void* values, const int64_t* indices_data, size_t indices_num)) {
  TRN_REQUIRE(ort_value, data_mem_info, values_shape);
  TRN_ASSIGN(SparseTensor s, open(ort_value));
  TRN_ASSIGN(s.values, copy_values(s.values.dtype(), {values_shape, values_shape_len}, values));
  TRN_TRY(coo(s, indices_data, indices_num, true));
  close(ort_value, std::move(s));
  return {};
}

ORT_FN(FillSparseTensorCsr, (OrtValue * ort_value, const OrtMemoryInfo* data_mem_info, const int64_t* values_shape,
                             size_t values_shape_len, const void* values, const int64_t* inner_indices_data,
                             size_t inner_indices_num, const int64_t* outer_indices_data, size_t outer_indices_num)) {
  TRN_REQUIRE(ort_value, data_mem_info, values_shape);
  TRN_ASSIGN(SparseTensor s, open(ort_value));
  TRN_ASSIGN(s.values, copy_values(s.values.dtype(), {values_shape, values_shape_len}, values));
  TRN_TRY(csr(s, inner_indices_data, inner_indices_num, outer_indices_data, outer_indices_num, true));
  close(ort_value, std::move(s));
  return {};
}

ORT_FN(FillSparseTensorBlockSparse,
       (OrtValue * ort_value, const OrtMemoryInfo* data_mem_info, const int64_t* values_shape, size_t values_shape_len,
        const void* values, const int64_t* indices_shape_data, size_t indices_shape_len, const int32_t* indices_data)) {
  TRN_REQUIRE(ort_value, data_mem_info, values_shape, indices_shape_data);
  TRN_ASSIGN(SparseTensor s, open(ort_value));
  TRN_ASSIGN(s.values, copy_values(s.values.dtype(), {values_shape, values_shape_len}, values));
  TRN_TRY(block_sparse(s, {indices_shape_data, indices_shape_len}, indices_data, true));
  close(ort_value, std::move(s));
  return {};
}

ORT_FN(UseCooIndices, (OrtValue * ort_value, int64_t* indices_data, size_t indices_num)) {
  TRN_REQUIRE(ort_value);
  TRN_ASSIGN(SparseTensor s, open(ort_value));
  TRN_TRY(coo(s, indices_data, indices_num, false));
  close(ort_value, std::move(s));
  return {};
}

ORT_FN(UseCsrIndices,
       (OrtValue * ort_value, int64_t* inner_data, size_t inner_num, int64_t* outer_data, size_t outer_num)) {
  TRN_REQUIRE(ort_value);
  TRN_ASSIGN(SparseTensor s, open(ort_value));
  TRN_TRY(csr(s, inner_data, inner_num, outer_data, outer_num, false));
  close(ort_value, std::move(s));
  return {};
}

ORT_FN(UseBlockSparseIndices,
       (OrtValue * ort_value, const int64_t* indices_shape, size_t indices_shape_len, int32_t* indices_data)) {
  TRN_REQUIRE(ort_value, indices_shape);
  TRN_ASSIGN(SparseTensor s, open(ort_value));
  TRN_TRY(block_sparse(s, {indices_shape, indices_shape_len}, indices_data, false));
  close(ort_value, std::move(s));
  return {};
}

ORT_FN(GetSparseTensorFormat, (const OrtValue* ort_value, OrtSparseFormat* out)) {
  TRN_REQUIRE(ort_value, out);
  TRN_ASSIGN(const SparseTensor* s, sparse_of(ort_value));
  switch (s->format) {
    case Format::coo:
      *out = ORT_SPARSE_COO;
      break;
    case Format::csr:
      *out = ORT_SPARSE_CSRC;
      break;
    case Format::block_sparse:
      *out = ORT_SPARSE_BLOCK_SPARSE;
      break;
  }
  if (ort_value->sparse_open) *out = ORT_SPARSE_UNDEFINED;
  return {};
}

ORT_FN(GetSparseTensorValuesTypeAndShape, (const OrtValue* ort_value, OrtTensorTypeAndShapeInfo** out)) {
  TRN_REQUIRE(ort_value, out);
  TRN_ASSIGN(const SparseTensor* s, sparse_of(ort_value));
  *out = new OrtTensorTypeAndShapeInfo(
      *make_tensor_info(s->values.dtype(), SymShape(s->values.shape().begin(), s->values.shape().end())));
  return {};
}

ORT_FN(GetSparseTensorValues, (const OrtValue* ort_value, const void** out)) {
  TRN_REQUIRE(ort_value, out);
  TRN_ASSIGN(const SparseTensor* s, sparse_of(ort_value));
  if (s->values.dtype() == DType::string) return invalid_argument("use GetStringTensor... functions for strings");
  *out = s->values.raw();
  return {};
}

ORT_FN(GetSparseTensorIndicesTypeShape,
       (const OrtValue* ort_value, OrtSparseIndicesFormat indices_format, OrtTensorTypeAndShapeInfo** out)) {
  TRN_REQUIRE(ort_value, out);
  TRN_ASSIGN(const Tensor* t, indices_of(ort_value, indices_format));
  *out = new OrtTensorTypeAndShapeInfo(*make_tensor_info(t->dtype(), SymShape(t->shape().begin(), t->shape().end())));
  return {};
}

ORT_FN(GetSparseTensorIndices,
       (const OrtValue* ort_value, OrtSparseIndicesFormat indices_format, size_t* num_indices, const void** indices)) {
  TRN_REQUIRE(ort_value, num_indices, indices);
  TRN_ASSIGN(const Tensor* t, indices_of(ort_value, indices_format));
  *num_indices = static_cast<size_t>(t->count());
  *indices = t->raw();
  return {};
}

}  // namespace trunnion::abi
