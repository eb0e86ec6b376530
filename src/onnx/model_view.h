// The messages of onnx.proto as plain structs. Strings and data are views into the bytes that were parsed, which must
// outlive them (a writer fills them with views into whatever it writes). Field names are those of onnx.proto, plural
// where repeated. doc_string is free text; every other string is valid UTF-8.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "onnx/wire.h"
#include "schema/type_set.h"

namespace trunnion::onnx {

using schema::AttrType;

struct StringEntry {
  std::string_view key;
  std::string_view value;
};

struct OpsetView {
  std::string_view domain;
  int64_t version = 0;
};

// The typed value field that a tensor uses; numeric values are the field numbers.
enum class DataField : uint8_t {
  none = 0,
  float_data = 4,
  int32_data = 5,
  int64_data = 7,
  double_data = 10,
  uint64_data = 11,
};

struct TensorProtoView {
  std::string_view name;
  std::string_view doc_string;
  std::vector<int64_t> dims;
  int32_t data_type = 0;
  bool has_segment = false;
  bool has_raw_data = false;
  bool external = false;  // data_location
  DataField data_field = DataField::none;
  PackedField data;  // of data_field
  Bytes raw_data;
  std::vector<std::string_view> string_data;  // any bytes
  std::vector<StringEntry> external_data;
  std::vector<StringEntry> metadata_props;
};

struct SparseTensorView {
  TensorProtoView values;
  TensorProtoView indices;
  std::vector<int64_t> dims;
};

struct DimView {
  enum class Kind : uint8_t { none, value, param };
  Kind kind = Kind::none;
  int64_t value = 0;
  std::string_view param;
  std::string_view denotation;
};

struct TypeView {
  enum class Kind : uint8_t { none, tensor, sequence, map, optional, sparse_tensor, opaque };
  Kind kind = Kind::none;
  int32_t elem_type = 0;  // of tensor and sparse_tensor; the key's type of map
  bool has_shape = false;
  std::vector<DimView> dims;
  std::vector<TypeView> inner;  // none or one: element of sequence and optional, value of map
  std::string_view denotation;
  std::string_view opaque_domain;
  std::string_view opaque_name;
};

struct ValueInfoView {
  std::string_view name;
  TypeView type;
  std::string_view doc_string;
  std::vector<StringEntry> metadata_props;
};

struct GraphView;

struct AttrView {
  std::string_view name;
  std::string_view ref_attr_name;
  std::string_view doc_string;
  AttrType type = AttrType::undefined;  // never undefined after parsing, but for a reference without type
  float f = 0;
  int64_t i = 0;
  std::string_view s;  // any bytes
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::string_view> strings;  // any bytes
  // Single values (TENSOR, GRAPH, ...) are vectors of one.
  std::vector<TensorProtoView> tensors;
  std::vector<GraphView> graphs;
  std::vector<SparseTensorView> sparse_tensors;
  std::vector<TypeView> types;
};

struct NodeView {
  std::string_view name;
  std::string_view op_type;
  std::string_view domain;
  std::string_view overload;
  std::string_view doc_string;
  std::vector<std::string_view> inputs;  // "" where an optional one is left out
  std::vector<std::string_view> outputs;
  std::vector<AttrView> attributes;
  std::vector<StringEntry> metadata_props;
};

struct AnnotationView {
  std::string_view tensor_name;
  std::vector<StringEntry> quant_parameter_tensor_names;
};

struct GraphView {
  std::string_view name;
  std::string_view doc_string;
  std::vector<NodeView> nodes;
  std::vector<TensorProtoView> initializers;
  std::vector<SparseTensorView> sparse_initializers;
  std::vector<ValueInfoView> inputs;
  std::vector<ValueInfoView> outputs;
  std::vector<ValueInfoView> value_infos;
  std::vector<AnnotationView> quantization_annotations;
  std::vector<StringEntry> metadata_props;
};

struct FunctionView {
  std::string_view name;
  std::string_view domain;
  std::string_view overload;
  std::string_view doc_string;
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
  std::vector<std::string_view> attributes;  // without default
  std::vector<AttrView> attribute_protos;    // with default
  std::vector<NodeView> nodes;
  std::vector<OpsetView> opset_imports;
  std::vector<ValueInfoView> value_infos;
  std::vector<StringEntry> metadata_props;
};

struct ModelView {
  int64_t ir_version = 0;
  std::string_view producer_name;
  std::string_view producer_version;
  std::string_view domain;
  std::string_view doc_string;
  int64_t model_version = 0;
  bool has_model_version = false;
  std::vector<OpsetView> opset_imports;
  GraphView graph;
  std::vector<FunctionView> functions;
  std::vector<StringEntry> metadata_props;
  std::vector<Bytes> training_infos;  // TrainingInfoProto, undecoded
};

}  // namespace trunnion::onnx
