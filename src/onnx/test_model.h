// Test material: a model in which every message and nearly every field of onnx.proto is used.
#pragma once
#include <array>
#include <cstring>

#include "onnx/model_view.h"

namespace trunnion::onnx {

inline Bytes as_bytes(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }

inline TypeView tensor_type(int32_t elem_type, std::vector<DimView> dims) {
  TypeView t;
  t.kind = TypeView::Kind::tensor;
  t.elem_type = elem_type;
  t.has_shape = true;
  t.dims = std::move(dims);
  return t;
}

inline TypeView wrap(TypeView::Kind kind, TypeView inner) {
  TypeView t;
  t.kind = kind;
  t.inner.push_back(std::move(inner));
  return t;
}

inline TensorProtoView raw_tensor(std::string_view name, int32_t type, std::vector<int64_t> dims,
                                  std::string_view raw) {
  TensorProtoView t;
  t.name = name;
  t.data_type = type;
  t.dims = std::move(dims);
  t.has_raw_data = true;
  t.raw_data = as_bytes(raw);
  return t;
}

inline AttrView attribute(std::string_view name, AttrType type) {
  AttrView a;
  a.name = name;
  a.type = type;
  return a;
}

inline std::vector<AttrView> sample_attributes() {
  std::vector<AttrView> out;
  out.push_back(attribute("f", AttrType::f));
  out.back().f = 0.5f;
  out.back().doc_string = "half";
  out.push_back(attribute("i", AttrType::i));
  out.back().i = -3;
  out.push_back(attribute("s", AttrType::s));
  out.back().s = "NOTSET";
  out.push_back(attribute("t", AttrType::t));
  out.back().tensors.push_back(raw_tensor("", 1, {1}, std::string_view("\0\0\x80\x3f", 4)));
  out.push_back(attribute("g", AttrType::g));
  out.back().graphs.emplace_back();
  out.back().graphs[0].name = "body";
  out.back().graphs[0].nodes.emplace_back();
  out.back().graphs[0].nodes[0].op_type = "Identity";
  out.push_back(attribute("floats", AttrType::floats));
  out.back().floats = {1.5f, -2.0f};
  out.push_back(attribute("ints", AttrType::ints));
  out.back().ints = {1, -1, int64_t{1} << 40};
  out.push_back(attribute("strings", AttrType::strings));
  out.back().strings = {"a", "", "\xff\xfe"};  // bytes, not text
  out.push_back(attribute("tensors", AttrType::tensors));
  out.back().tensors.resize(2);
  out.push_back(attribute("graphs", AttrType::graphs));
  out.back().graphs.resize(1);
  out.push_back(attribute("tp", AttrType::tp));
  out.back().types.push_back(wrap(TypeView::Kind::sequence, tensor_type(7, {})));
  out.push_back(attribute("type_protos", AttrType::type_protos));
  out.back().types.resize(2);
  out.push_back(attribute("sparse", AttrType::sparse_tensor));
  out.back().sparse_tensors.resize(1);
  out.back().sparse_tensors[0].dims = {4};
  out.push_back(attribute("sparses", AttrType::sparse_tensors));
  out.back().sparse_tensors.resize(1);
  out.push_back(attribute("ref", AttrType::i));
  out.back().ref_attr_name = "outer";
  return out;
}

inline ModelView sample_model() {
  ModelView m;
  m.ir_version = 10;
  m.producer_name = "producer";
  m.producer_version = "1.2";
  m.domain = "com.example";
  m.model_version = 7;
  m.has_model_version = true;
  m.doc_string = "doc";
  m.opset_imports = {{"", 17}, {"com.example", 1}};
  m.metadata_props = {{"author", "J\xc3\xb8rn"}};

  GraphView& g = m.graph;
  g.name = "main";
  g.doc_string = "graph doc";
  DimView n{DimView::Kind::param, 0, "N", "DATA_BATCH"}, two{DimView::Kind::value, 2, {}, {}}, any;
  g.inputs.push_back({"x", tensor_type(1, {n, two, any}), "input doc", {{"k", "v"}}});
  g.inputs.push_back(
      {"seq", wrap(TypeView::Kind::optional, wrap(TypeView::Kind::sequence, tensor_type(1, {two}))), {}, {}});
  TypeView map = wrap(TypeView::Kind::map, tensor_type(1, {}));
  map.elem_type = 8;
  g.outputs.push_back({"map", map, {}, {}});
  TypeView sparse = tensor_type(1, {two});
  sparse.kind = TypeView::Kind::sparse_tensor;
  sparse.denotation = "IMAGE";
  g.value_infos.push_back({"sp", sparse, {}, {}});
  TypeView opaque;
  opaque.kind = TypeView::Kind::opaque;
  opaque.opaque_domain = "d";
  opaque.opaque_name = "n";
  g.value_infos.push_back({"op", opaque, {}, {}});
  g.value_infos.push_back({"untyped", {}, {}, {}});

  g.initializers.push_back(raw_tensor("w", 1, {2}, std::string_view("\0\0\x80\x3f\0\0\0\x40", 8)));
  g.initializers.back().doc_string = "weights";
  g.initializers.back().metadata_props = {{"m", "1"}};
  TensorProtoView strings;
  strings.name = "labels";
  strings.data_type = 8;
  strings.dims = {2};
  strings.string_data = {"cat", "\xff"};
  g.initializers.push_back(strings);
  TensorProtoView external;
  external.name = "big";
  external.data_type = 1;
  external.dims = {1024};
  external.external = true;
  external.external_data = {{"location", "w.bin"}, {"offset", "4096"}, {"length", "4096"}};
  g.initializers.push_back(external);
  for (const DataField f : {DataField::int64_data, DataField::uint64_data}) {
    TensorProtoView t;
    t.name = f == DataField::int64_data ? "shape" : "mask";
    t.data_type = f == DataField::int64_data ? 7 : 13;
    t.dims = {2};
    t.data_field = f;
    t.data.append(as_bytes(std::string_view("\x05\xac\x02", 3)));  // 5, 300
    g.initializers.push_back(t);
  }
  SparseTensorView s;
  s.values = raw_tensor("sparse", 1, {1}, std::string_view("\0\0\x80\x3f", 4));
  s.indices = raw_tensor("", 7, {1}, std::string_view("\x02\0\0\0\0\0\0\0", 8));
  s.dims = {2, 2};
  g.sparse_initializers.push_back(s);
  g.quantization_annotations.push_back({"x", {{"SCALE_TENSOR", "w"}}});
  g.metadata_props = {{"g", "m"}};

  NodeView node;
  node.name = "node1";
  node.op_type = "Thing";
  node.domain = "com.example";
  node.overload = "v2";
  node.doc_string = "node doc \xff";  // free text: not checked
  node.inputs = {"x", "", "w"};
  node.outputs = {"y", "z"};
  node.attributes = sample_attributes();
  node.metadata_props = {{"a", "b"}};
  g.nodes.push_back(node);

  FunctionView f;
  f.name = "Fn";
  f.domain = "com.example";
  f.overload = "o";
  f.doc_string = "fn";
  f.inputs = {"a"};
  f.outputs = {"b"};
  f.attributes = {"outer"};
  f.attribute_protos.push_back(attribute("alpha", AttrType::f));
  f.attribute_protos.back().f = 2.0f;
  f.nodes.emplace_back();
  f.nodes[0].op_type = "Neg";
  f.opset_imports = {{"", 17}};
  f.value_infos.push_back({"b", tensor_type(1, {}), {}, {}});
  f.metadata_props = {{"fm", "1"}};
  m.functions.push_back(f);
  return m;
}

}  // namespace trunnion::onnx
