// OrtTypeInfo and OrtTensorTypeAndShapeInfo: the types of values, inputs and outputs.
#include "abi/handles.h"
#include "abi/slots.h"

namespace trunnion::abi {
namespace {

ONNXType ort_kind(Type::Kind kind) {
  switch (kind) {
    case Type::Kind::tensor:
      return ONNX_TYPE_TENSOR;
    case Type::Kind::sequence:
      return ONNX_TYPE_SEQUENCE;
    case Type::Kind::map:
      return ONNX_TYPE_MAP;
    case Type::Kind::optional:
      return ONNX_TYPE_OPTIONAL;
    case Type::Kind::sparse_tensor:
      return ONNX_TYPE_SPARSETENSOR;
    case Type::Kind::opaque:
      return ONNX_TYPE_OPAQUE;
    case Type::Kind::unknown:
      break;
  }
  return ONNX_TYPE_UNKNOWN;
}

std::shared_ptr<const OrtTypeInfo> inner_info(const Type& type) {
  return make_type_info(type.inner ? *type.inner : Type{});
}

}  // namespace

std::shared_ptr<const OrtTensorTypeAndShapeInfo> make_tensor_info(DType type, const std::optional<SymShape>& shape) {
  auto info = std::make_shared<OrtTensorTypeAndShapeInfo>();
  info->type = ort_type(type);
  info->has_shape = shape.has_value();
  if (!shape) return info;
  for (const Dim& d : *shape) {
    info->dims.push_back(d.is_int() ? d.value() : -1);
    info->symbols.emplace_back(d.symbol_name().value_or(""));
  }
  return info;
}

std::unique_ptr<OrtTypeInfo> make_type_info(const Type& type) {
  auto info = std::make_unique<OrtTypeInfo>();
  info->type = ort_kind(type.kind);
  info->denotation = type.denotation;
  switch (type.kind) {
    case Type::Kind::tensor:
    case Type::Kind::sparse_tensor:
      info->tensor = make_tensor_info(type.dtype, type.shape);
      break;
    case Type::Kind::map:
      info->map = std::make_shared<OrtMapTypeInfo>(OrtMapTypeInfo{ort_type(type.dtype), inner_info(type)});
      break;
    case Type::Kind::sequence:
      info->sequence = std::make_shared<OrtSequenceTypeInfo>(OrtSequenceTypeInfo{inner_info(type)});
      break;
    case Type::Kind::optional:
      info->optional = std::make_shared<OrtOptionalTypeInfo>(OrtOptionalTypeInfo{inner_info(type)});
      break;
    case Type::Kind::opaque:
    case Type::Kind::unknown:
      break;
  }
  return info;
}

Type type_of(const OrtTypeInfo& info) {
  Type type;
  if (info.tensor) {
    std::optional<SymShape> shape;
    if (info.tensor->has_shape) {
      shape.emplace();
      for (size_t i = 0; i < info.tensor->dims.size(); ++i) {
        if (info.tensor->dims[i] >= 0)
          shape->push_back(info.tensor->dims[i]);
        else
          shape->push_back(info.tensor->symbols[i].empty() ? Dim::unknown() : Dim::symbol(info.tensor->symbols[i]));
      }
    }
    type = Type::tensor(dtype_of(info.tensor->type), std::move(shape));
    if (info.type == ONNX_TYPE_SPARSETENSOR) type.kind = Type::Kind::sparse_tensor;
  } else if (info.map) {
    type = Type::map(dtype_of(info.map->key_type), type_of(*info.map->value));
  } else if (info.sequence) {
    type = Type::sequence(type_of(*info.sequence->element));
  } else if (info.optional) {
    type = Type::optional_of(type_of(*info.optional->contained));
  }
  type.denotation = info.denotation;
  return type;
}

ORT_FN(GetTypeInfo, (const OrtValue* value, OrtTypeInfo** out)) {
  TRN_REQUIRE(value, out);
  *out = value->value.has_value() ? make_type_info(value->value.type()).release() : nullptr;
  return {};
}

ORT_FN(GetValueType, (const OrtValue* value, ONNXType* out)) {
  TRN_REQUIRE(value, out);
  *out = ort_kind(value->value.type().kind);
  return {};
}

ORT_FN_AS(void, ReleaseTypeInfo, (OrtTypeInfo * info)) { delete info; }

ORT_FN(GetOnnxTypeFromTypeInfo, (const OrtTypeInfo* type_info, ONNXType* out)) {
  TRN_REQUIRE(type_info, out);
  *out = type_info->type;
  return {};
}

ORT_FN(GetDenotationFromTypeInfo, (const OrtTypeInfo* type_info, const char** denotation, size_t* len)) {
  TRN_REQUIRE(type_info, denotation, len);
  *denotation = type_info->denotation.c_str();
  *len = type_info->denotation.size();
  return {};
}

ORT_FN(CastTypeInfoToTensorInfo, (const OrtTypeInfo* type_info, const OrtTensorTypeAndShapeInfo** out)) {
  TRN_REQUIRE(type_info, out);
  *out = type_info->tensor.get();
  return {};
}

ORT_FN(CastTypeInfoToMapTypeInfo, (const OrtTypeInfo* type_info, const OrtMapTypeInfo** out)) {
  TRN_REQUIRE(type_info, out);
  *out = type_info->map.get();
  return {};
}

ORT_FN(CastTypeInfoToSequenceTypeInfo, (const OrtTypeInfo* type_info, const OrtSequenceTypeInfo** out)) {
  TRN_REQUIRE(type_info, out);
  *out = type_info->sequence.get();
  return {};
}

ORT_FN(CastTypeInfoToOptionalTypeInfo, (const OrtTypeInfo* type_info, const OrtOptionalTypeInfo** out)) {
  TRN_REQUIRE(type_info, out);
  *out = type_info->optional.get();
  return {};
}

ORT_FN(GetMapKeyType, (const OrtMapTypeInfo* map_type_info, ONNXTensorElementDataType* out)) {
  TRN_REQUIRE(map_type_info, out);
  *out = map_type_info->key_type;
  return {};
}

ORT_FN(GetMapValueType, (const OrtMapTypeInfo* map_type_info, OrtTypeInfo** type_info)) {
  TRN_REQUIRE(map_type_info, type_info);
  *type_info = new OrtTypeInfo(*map_type_info->value);
  return {};
}

ORT_FN(GetSequenceElementType, (const OrtSequenceTypeInfo* sequence_type_info, OrtTypeInfo** type_info)) {
  TRN_REQUIRE(sequence_type_info, type_info);
  *type_info = new OrtTypeInfo(*sequence_type_info->element);
  return {};
}

ORT_FN(GetOptionalContainedTypeInfo, (const OrtOptionalTypeInfo* optional_type_info, OrtTypeInfo** out)) {
  TRN_REQUIRE(optional_type_info, out);
  *out = new OrtTypeInfo(*optional_type_info->contained);
  return {};
}

// The parts belong to the OrtTypeInfo they were cast from: there is nothing to release.
ORT_FN_AS(void, ReleaseMapTypeInfo, (OrtMapTypeInfo*)) {}
ORT_FN_AS(void, ReleaseSequenceTypeInfo, (OrtSequenceTypeInfo*)) {}

ORT_FN(GetTensorTypeAndShape, (const OrtValue* value, OrtTensorTypeAndShapeInfo** out)) {
  TRN_REQUIRE(value, out);
  const Type type = value->value.type();
  if (type.kind != Type::Kind::tensor && type.kind != Type::Kind::sparse_tensor)
    return error(Code::fail, "the value is not a tensor");
  *out = new OrtTensorTypeAndShapeInfo(*make_tensor_info(type.dtype, type.shape));
  return {};
}

ORT_FN(CreateTensorTypeAndShapeInfo, (OrtTensorTypeAndShapeInfo * *out)) {
  TRN_REQUIRE(out);
  *out = new OrtTensorTypeAndShapeInfo;
  return {};
}

ORT_FN_AS(void, ReleaseTensorTypeAndShapeInfo, (OrtTensorTypeAndShapeInfo * info)) { delete info; }

ORT_FN(SetTensorElementType, (OrtTensorTypeAndShapeInfo * info, ONNXTensorElementDataType type)) {
  TRN_REQUIRE(info);
  info->type = type;
  return {};
}

ORT_FN(SetDimensions, (OrtTensorTypeAndShapeInfo * info, const int64_t* dim_values, size_t dim_count)) {
  TRN_REQUIRE(info);
  if (dim_count) TRN_REQUIRE(dim_values);
  info->dims.assign(dim_values, dim_values + dim_count);
  info->symbols.assign(dim_count, {});
  info->has_shape = true;
  return {};
}

ORT_FN(SetSymbolicDimensions, (OrtTensorTypeAndShapeInfo * info, const char** dim_params, size_t dim_params_length)) {
  TRN_REQUIRE(info);
  if (dim_params_length) TRN_REQUIRE(dim_params);
  if (!info->has_shape && dim_params_length) {
    info->has_shape = true;
    info->dims.assign(dim_params_length, -1);
    info->symbols.assign(dim_params_length, {});
  }
  for (size_t i = 0; i < std::min(dim_params_length, info->symbols.size()); ++i)
    info->symbols[i] = dim_params[i] ? dim_params[i] : "";
  return {};
}

ORT_FN(GetTensorElementType, (const OrtTensorTypeAndShapeInfo* info, ONNXTensorElementDataType* out)) {
  TRN_REQUIRE(info, out);
  *out = info->type;
  return {};
}

ORT_FN(GetDimensionsCount, (const OrtTensorTypeAndShapeInfo* info, size_t* out)) {
  TRN_REQUIRE(info, out);
  *out = info->dims.size();
  return {};
}

ORT_FN(GetDimensions, (const OrtTensorTypeAndShapeInfo* info, int64_t* dim_values, size_t dim_values_length)) {
  TRN_REQUIRE(info);
  if (dim_values_length) TRN_REQUIRE(dim_values);
  std::copy_n(info->dims.begin(), std::min(dim_values_length, info->dims.size()), dim_values);
  return {};
}

ORT_FN(GetSymbolicDimensions,
       (const OrtTensorTypeAndShapeInfo* info, const char** dim_params, size_t dim_params_length)) {
  TRN_REQUIRE(info);
  if (dim_params_length) TRN_REQUIRE(dim_params);
  for (size_t i = 0; i < std::min(dim_params_length, info->symbols.size()); ++i)
    dim_params[i] = info->symbols[i].c_str();
  return {};
}

ORT_FN(GetTensorShapeElementCount, (const OrtTensorTypeAndShapeInfo* info, size_t* out)) {
  TRN_REQUIRE(info, out);
  const int64_t count = info->has_shape ? element_count(info->dims) : 0;
  if (count < 0)
    return error(Code::fail, "shape {} has a dimension that is not known, or its size overflows",
                 shape_text(info->dims));
  *out = static_cast<size_t>(count);
  return {};
}

ORT_FN_AS(bool, TensorTypeAndShape_HasShape, (const OrtTensorTypeAndShapeInfo* info)) {
  return info && info->has_shape;
}

}  // namespace trunnion::abi
