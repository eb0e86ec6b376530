// OrtValue as a dense tensor: making it, its bytes, its memory.
#include <cstring>

#include "abi/env.h"
#include "abi/handles.h"
#include "abi/slots.h"

namespace trunnion::abi {
namespace {

struct Layout {
  DType type;
  std::span<const int64_t> dims;
  size_t bytes;
};

Result<Layout> layout_of(ONNXTensorElementDataType type, const int64_t* shape, size_t shape_len) {
  const DType dtype = dtype_of(type);
  if (dtype == DType::undefined) return not_implemented("tensor type {} is not supported", static_cast<int>(type));
  const std::span<const int64_t> dims(shape, shape_len);
  for (int64_t d : dims)
    if (d < 0) return invalid_argument("tried creating a tensor with a negative dimension: {}", shape_text(dims));
  const int64_t count = element_count(dims);
  const auto bytes = count < 0 ? std::nullopt : storage_bytes(dtype, count);
  if (!bytes) return invalid_argument("shape {} of {}: the size overflows", shape_text(dims), dtype_name(dtype));
  return Layout{dtype, dims, *bytes};
}

// Memory out of a user's allocator. Strings always live in the engine's own: their characters would anyway.
Result<Tensor> allocate(OrtAllocator* allocator, const Layout& layout) {
  if (allocator == default_allocator() || layout.type == DType::string)
    return Tensor::allocate(layout.type, layout.dims);
  void* data = layout.bytes ? allocator->Alloc(allocator, layout.bytes) : nullptr;
  if (!data && layout.bytes)
    return error(Code::fail, "the allocator gave no memory for a tensor of {} bytes", layout.bytes);
  std::shared_ptr<const void> keep(data, [allocator](const void* p) {
    if (p) allocator->Free(allocator, const_cast<void*>(p));
  });
  return Tensor::borrow(layout.type, layout.dims, data, std::move(keep));
}

std::shared_ptr<const OrtMemoryInfo> memory_from(const OrtMemoryInfo* info) {
  return info && *info != *cpu_memory() ? std::make_shared<const OrtMemoryInfo>(*info) : nullptr;
}

Result<const Tensor*> dense(const OrtValue* value) {
  if (!value->value.is_tensor()) return error(Code::fail, "the value is not a dense tensor");
  return &value->value.tensor();
}

}  // namespace

ONNXTensorElementDataType ort_type(DType type) {
  switch (type) {
    case DType::f8e8m0:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E8M0;
    case DType::u2:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT2;
    case DType::i2:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_INT2;
    default:
      return static_cast<ONNXTensorElementDataType>(type);
  }
}

DType dtype_of(ONNXTensorElementDataType type) {
  switch (type) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E8M0:
      return DType::f8e8m0;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT2:
      return DType::u2;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT2:
      return DType::i2;
    default:
      return dtype_from_code(static_cast<int64_t>(type)).value_or(DType::undefined);
  }
}

Result<const Tensor*> host_tensor(const OrtValue& value) {
  TRN_ASSIGN(const Tensor* tensor, dense(&value));
  if (on_device(value))
    return error(Code::fail, "the tensor lies in '{}' memory, which the CPU cannot read", value.memory->name);
  return tensor;
}

ORT_FN(CreateTensorAsOrtValue, (OrtAllocator * allocator, const int64_t* shape, size_t shape_len,
                                ONNXTensorElementDataType type, OrtValue** out)) {
  TRN_REQUIRE(allocator, out);
  if (shape_len) TRN_REQUIRE(shape);
  TRN_ASSIGN(const Layout layout, layout_of(type, shape, shape_len));
  TRN_ASSIGN(Tensor tensor, allocate(allocator, layout));
  const auto* info = allocator == default_allocator() ? nullptr : allocator->Info(allocator);
  *out = new OrtValue{std::move(tensor), memory_from(info)};
  return {};
}

Result<std::unique_ptr<OrtValue>> tensor_like(const Tensor& tensor, OrtAllocator* allocator) {
  OrtValue* made = nullptr;
  TRN_TRY(OrtApi_CreateTensorAsOrtValue(allocator, tensor.shape().data(), tensor.shape().size(),
                                        ort_type(tensor.dtype()), &made));
  return std::unique_ptr<OrtValue>(made);
}

void copy_at_host(const Tensor& from, const Tensor& to) {
  if (from.dtype() == DType::string)
    std::ranges::copy(from.span<std::string>(), to.data<std::string>());
  else if (from.bytes())
    std::memmove(to.raw(), from.raw(), from.bytes());
}

ORT_FN(CreateTensorWithDataAsOrtValue,
       (const OrtMemoryInfo* info, void* p_data, size_t p_data_len, const int64_t* shape, size_t shape_len,
        ONNXTensorElementDataType type, OrtValue** out)) {
  TRN_REQUIRE(info, out);
  if (shape_len) TRN_REQUIRE(shape);
  TRN_ASSIGN(const Layout layout, layout_of(type, shape, shape_len));
  if (p_data_len < layout.bytes)
    return invalid_argument("not enough space: expected {}, got {}", layout.bytes, p_data_len);
  if (layout.bytes) TRN_REQUIRE(p_data);
  *out = new OrtValue{Tensor::borrow(layout.type, layout.dims, p_data, nullptr), memory_from(info)};
  return {};
}

ORT_FN(CreateTensorWithDataAndDeleterAsOrtValue,
       (OrtAllocator * deleter, void* p_data, size_t p_data_len, const int64_t* shape, size_t shape_len,
        ONNXTensorElementDataType type, OrtValue** out)) {
  TRN_REQUIRE(deleter, p_data, out);
  if (shape_len) TRN_REQUIRE(shape);
  TRN_ASSIGN(const Layout layout, layout_of(type, shape, shape_len));
  if (p_data_len < layout.bytes)
    return invalid_argument("not enough space: expected {}, got {}", layout.bytes, p_data_len);
  auto memory = memory_from(deleter->Info(deleter));
  auto value = std::make_unique<OrtValue>();
  // From here on nothing fails: the caller owns the data until success.
  struct Keep {
    OrtAllocator* deleter;
    void* data;
    ~Keep() {
      if (data) deleter->Free(deleter, data);
    }
  };
  auto keep = std::make_shared<Keep>(Keep{deleter, nullptr});
  keep->data = p_data;
  value->value = Tensor::borrow(layout.type, layout.dims, p_data, std::shared_ptr<const void>(std::move(keep)));
  value->memory = std::move(memory);
  *out = value.release();
  return {};
}

ORT_FN_AS(void, ReleaseValue, (OrtValue * value)) { delete value; }

ORT_FN(IsTensor, (const OrtValue* value, int* out)) {
  TRN_REQUIRE(value, out);
  *out = value->value.is_tensor();
  return {};
}

ORT_FN(HasValue, (const OrtValue* value, int* out)) {
  TRN_REQUIRE(value, out);
  *out = value->value.has_value();
  return {};
}

ORT_FN(GetTensorMutableData, (OrtValue * value, void** out)) {
  TRN_REQUIRE(value, out);
  TRN_ASSIGN(const Tensor* tensor, dense(value));
  *out = tensor->raw();
  return {};
}

ORT_FN(GetTensorData, (const OrtValue* value, const void** out)) {
  TRN_REQUIRE(value, out);
  TRN_ASSIGN(const Tensor* tensor, dense(value));
  *out = tensor->raw();
  return {};
}

ORT_FN(GetTensorSizeInBytes, (const OrtValue* ort_value, size_t* size)) {
  TRN_REQUIRE(ort_value, size);
  TRN_ASSIGN(const Tensor* tensor, dense(ort_value));
  if (tensor->dtype() == DType::string) return invalid_argument("a tensor of strings has no size in bytes");
  *size = tensor->bytes();
  return {};
}

ORT_FN(GetTensorMemoryInfo, (const OrtValue* value, const OrtMemoryInfo** mem_info)) {
  TRN_REQUIRE(value, mem_info);
  TRN_TRY(dense(value));
  *mem_info = &memory_of(*value);
  return {};
}

ORT_FN(GetTensorElementTypeAndShapeDataReference, (const OrtValue* value, ONNXTensorElementDataType* elem_type,
                                                   const int64_t** shape_data, size_t* shape_data_count)) {
  TRN_REQUIRE(value, elem_type, shape_data, shape_data_count);
  const bool sparse = value->value.kind() == Value::Kind::sparse_tensor;
  if (!sparse && !value->value.is_tensor())
    return invalid_argument("the value is neither a tensor nor a sparse tensor");
  const Shape& shape = sparse ? value->value.sparse().dense_shape : value->value.tensor().shape();
  *elem_type = ort_type(sparse ? value->value.sparse().values.dtype() : value->value.tensor().dtype());
  *shape_data = shape.empty() ? nullptr : shape.data();
  *shape_data_count = shape.size();
  return {};
}

ORT_FN(TensorAt, (OrtValue * value, const int64_t* location_values, size_t location_values_count, void** out)) {
  TRN_REQUIRE(value, out);
  if (location_values_count) TRN_REQUIRE(location_values);
  TRN_ASSIGN(const Tensor* tensor, dense(value));
  if (tensor->dtype() == DType::string || is_sub_byte(tensor->dtype()))
    return invalid_argument("TensorAt: elements of {} have no address", dtype_name(tensor->dtype()));
  const Shape& shape = tensor->shape();
  if (location_values_count != shape.size())
    return invalid_argument("TensorAt: {} indices for a tensor of rank {}", location_values_count, shape.size());
  int64_t offset = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (location_values[i] < 0 || location_values[i] >= shape[i])
      return invalid_argument("TensorAt: index {} of axis {} is not in 0..{}", location_values[i], i, shape[i] - 1);
    offset = offset * shape[i] + location_values[i];
  }
  *out = tensor->data<char>() + static_cast<size_t>(offset) * size_of(tensor->dtype());
  return {};
}

ORT_FN(CopyTensors, (const OrtEnv* env, const OrtValue* const* src_tensors, OrtValue* const* dst_tensors,
                     OrtSyncStream* stream, size_t num_tensors)) {
  TRN_REQUIRE(env);
  if (num_tensors) TRN_REQUIRE(src_tensors, dst_tensors);
  TRN_TRY(check_handles(src_tensors, num_tensors));
  TRN_TRY(check_handles(dst_tensors, num_tensors));
  std::vector<const OrtValue*> from;
  std::vector<OrtValue*> to;
  for (size_t i = 0; i < num_tensors; ++i) {
    TRN_REQUIRE(src_tensors[i], dst_tensors[i]);
    TRN_ASSIGN(const Tensor* source, dense(src_tensors[i]));
    TRN_ASSIGN(const Tensor* target, dense(dst_tensors[i]));
    if (source->dtype() != target->dtype() || !std::ranges::equal(source->shape(), target->shape()))
      return invalid_argument("CopyTensors: tensor {} differs in type or shape: {} {} to {} {}", i,
                              dtype_name(source->dtype()), shape_text(source->shape()), dtype_name(target->dtype()),
                              shape_text(target->shape()));
    if (!on_device(*src_tensors[i]) && !on_device(*dst_tensors[i])) {
      copy_at_host(*source, *target);
      continue;
    }
    from.push_back(src_tensors[i]);
    to.push_back(dst_tensors[i]);
  }
  return env->process->copy(from, to, stream);
}

}  // namespace trunnion::abi
