#include "onnx/writer.h"

#include "base/error.h"
#include "onnx/wire_writer.h"

namespace trunnion::onnx {
namespace {

// A function per message; field numbers are those of onnx.proto, in ascending order.
void put(WireWriter& w, const StringEntry& e);
void put(WireWriter& w, const OpsetView& o);
void put(WireWriter& w, const TensorProtoView& t);
void put(WireWriter& w, const SparseTensorView& s);
void put(WireWriter& w, const DimView& d);
void put(WireWriter& w, const TypeView& t);
void put(WireWriter& w, const ValueInfoView& v);
void put(WireWriter& w, const AttrView& a);
void put(WireWriter& w, const NodeView& n);
void put(WireWriter& w, const AnnotationView& a);
void put(WireWriter& w, const GraphView& g);
void put(WireWriter& w, const FunctionView& f);

void put(WireWriter& w, const StringEntry& e) {
  w.text(1, e.key);
  w.text(2, e.value);
}

void put(WireWriter& w, const OpsetView& o) {
  w.text(1, o.domain);
  w.integer(2, o.version);
}

template <class T>
void put_one(WireWriter& w, uint32_t field, const T& value) {
  w.message(field, [&](WireWriter& inner) { put(inner, value); });
}
template <class T>
void put_all(WireWriter& w, uint32_t field, const std::vector<T>& values) {
  for (const T& v : values) put_one(w, field, v);
}

void put(WireWriter& w, const TensorProtoView& t) {
  w.integers(1, t.dims);
  w.integer(2, t.data_type);
  const auto data_field = static_cast<uint32_t>(t.data_field);
  const bool has_data = t.data_field != DataField::none && !t.data.empty();
  if (has_data && data_field <= 5) w.bytes(data_field, t.data.bytes());
  w.texts(6, t.string_data);
  if (has_data && data_field == 7) w.bytes(data_field, t.data.bytes());
  w.optional_text(8, t.name);
  if (t.has_raw_data) w.bytes(9, t.raw_data);
  if (has_data && data_field >= 10) w.bytes(data_field, t.data.bytes());
  w.optional_text(12, t.doc_string);
  put_all(w, 13, t.external_data);
  if (t.external) w.integer(14, 1);
  put_all(w, 16, t.metadata_props);
}

void put(WireWriter& w, const SparseTensorView& s) {
  put_one(w, 1, s.values);
  put_one(w, 2, s.indices);
  w.integers(3, s.dims);
}

void put(WireWriter& w, const DimView& d) {
  if (d.kind == DimView::Kind::value) w.integer(1, d.value);
  if (d.kind == DimView::Kind::param) w.text(2, d.param);
  w.optional_text(3, d.denotation);
}

void put_tensor_type(WireWriter& w, const TypeView& t) {
  w.integer(1, t.elem_type);
  if (t.has_shape) w.message(2, [&](WireWriter& shape) { put_all(shape, 1, t.dims); });
}

void put(WireWriter& w, const TypeView& t) {
  using Kind = TypeView::Kind;
  const auto tensor = [&](WireWriter& inner) { put_tensor_type(inner, t); };
  const auto wrapped = [&](WireWriter& inner) { put_all(inner, 1, t.inner); };
  switch (t.kind) {
    case Kind::none:
      break;
    case Kind::tensor:
      w.message(1, tensor);
      break;
    case Kind::sequence:
      w.message(4, wrapped);
      break;
    case Kind::map:
      w.message(5, [&](WireWriter& inner) {
        inner.integer(1, t.elem_type);
        put_all(inner, 2, t.inner);
      });
      break;
    case Kind::opaque:
      w.message(7, [&](WireWriter& inner) {
        inner.optional_text(1, t.opaque_domain);
        inner.optional_text(2, t.opaque_name);
      });
      break;
    case Kind::sparse_tensor:
      w.message(8, tensor);
      break;
    case Kind::optional:
      w.message(9, wrapped);
      break;
  }
  w.optional_text(6, t.denotation);
}

void put(WireWriter& w, const ValueInfoView& v) {
  w.text(1, v.name);
  if (v.type.kind != TypeView::Kind::none || !v.type.denotation.empty()) put_one(w, 2, v.type);
  w.optional_text(3, v.doc_string);
  put_all(w, 4, v.metadata_props);
}

void put(WireWriter& w, const AttrView& a) {
  w.text(1, a.name);
  if (a.ref_attr_name.empty()) {
    switch (a.type) {
      case AttrType::f:
        w.real(2, a.f);
        break;
      case AttrType::i:
        w.integer(3, a.i);
        break;
      case AttrType::s:
        w.text(4, a.s);
        break;
      case AttrType::t:
        put_all(w, 5, a.tensors);
        break;
      case AttrType::g:
        put_all(w, 6, a.graphs);
        break;
      case AttrType::floats:
        w.reals(7, a.floats);
        break;
      case AttrType::ints:
        w.integers(8, a.ints);
        break;
      case AttrType::strings:
        w.texts(9, a.strings);
        break;
      case AttrType::tensors:
        put_all(w, 10, a.tensors);
        break;
      case AttrType::graphs:
        put_all(w, 11, a.graphs);
        break;
      case AttrType::tp:
        put_all(w, 14, a.types);
        break;
      case AttrType::type_protos:
        put_all(w, 15, a.types);
        break;
      case AttrType::sparse_tensor:
        put_all(w, 22, a.sparse_tensors);
        break;
      case AttrType::sparse_tensors:
        put_all(w, 23, a.sparse_tensors);
        break;
      case AttrType::undefined:
        break;
    }
  }
  w.optional_text(13, a.doc_string);
  if (a.type != AttrType::undefined) w.integer(20, static_cast<int64_t>(a.type));
  w.optional_text(21, a.ref_attr_name);
}

void put(WireWriter& w, const NodeView& n) {
  w.texts(1, n.inputs);
  w.texts(2, n.outputs);
  w.optional_text(3, n.name);
  w.text(4, n.op_type);
  put_all(w, 5, n.attributes);
  w.optional_text(6, n.doc_string);
  w.optional_text(7, n.domain);
  w.optional_text(8, n.overload);
  put_all(w, 9, n.metadata_props);
}

void put(WireWriter& w, const AnnotationView& a) {
  w.text(1, a.tensor_name);
  put_all(w, 2, a.quant_parameter_tensor_names);
}

void put(WireWriter& w, const GraphView& g) {
  put_all(w, 1, g.nodes);
  w.text(2, g.name);
  put_all(w, 5, g.initializers);
  w.optional_text(10, g.doc_string);
  put_all(w, 11, g.inputs);
  put_all(w, 12, g.outputs);
  put_all(w, 13, g.value_infos);
  put_all(w, 14, g.quantization_annotations);
  put_all(w, 15, g.sparse_initializers);
  put_all(w, 16, g.metadata_props);
}

void put(WireWriter& w, const FunctionView& f) {
  w.text(1, f.name);
  w.texts(4, f.inputs);
  w.texts(5, f.outputs);
  w.texts(6, f.attributes);
  put_all(w, 7, f.nodes);
  w.optional_text(8, f.doc_string);
  put_all(w, 9, f.opset_imports);
  w.text(10, f.domain);
  put_all(w, 11, f.attribute_protos);
  put_all(w, 12, f.value_infos);
  w.optional_text(13, f.overload);
  put_all(w, 14, f.metadata_props);
}

void put(WireWriter& w, const ModelView& m) {
  w.integer(1, m.ir_version);
  w.optional_text(2, m.producer_name);
  w.optional_text(3, m.producer_version);
  w.optional_text(4, m.domain);
  if (m.has_model_version) w.integer(5, m.model_version);
  w.optional_text(6, m.doc_string);
  put_one(w, 7, m.graph);
  put_all(w, 8, m.opset_imports);
  put_all(w, 14, m.metadata_props);
  for (const Bytes& t : m.training_infos) w.bytes(20, t);
  put_all(w, 25, m.functions);
}

}  // namespace

uint64_t serialized_bytes(const ModelView& model) {
  WireWriter count;
  put(count, model);
  return count.size();
}

Result<std::vector<std::byte>> serialize(const ModelView& model) {
  const uint64_t size = serialized_bytes(model);
  if (size > kMaxModelBytes)
    return invalid_argument("the model has {} bytes, protobuf allows {}: its weights must go to external data", size,
                            kMaxModelBytes);
  std::vector<std::byte> out;
  out.reserve(size);
  WireWriter writer(out);
  put(writer, model);
  return out;
}

std::vector<std::byte> serialize_tensor(const TensorProtoView& tensor) {
  std::vector<std::byte> out;
  WireWriter writer(out);
  put(writer, tensor);
  return out;
}

void ExternalFile::take(GraphView& graph, uint64_t threshold) {
  for (TensorProtoView& t : graph.initializers) {
    if (!t.has_raw_data || t.external || t.raw_data.empty() || t.raw_data.size() < threshold) continue;
    const uint64_t offset = (size_ + kAlignment - 1) / kAlignment * kAlignment;
    pieces_.push_back({offset, t.raw_data});
    size_ = offset + t.raw_data.size();
    t.external = true;
    t.external_data = {{"location", location_},
                       {"offset", keep(std::to_string(offset))},
                       {"length", keep(std::to_string(t.raw_data.size()))}};
    t.has_raw_data = false;
    t.raw_data = {};
  }
  for (NodeView& n : graph.nodes)
    for (AttrView& a : n.attributes)
      for (GraphView& body : a.graphs) take(body, threshold);
}

std::vector<std::byte> ExternalFile::content() const {
  std::vector<std::byte> out;
  out.reserve(size_);
  for (const Piece& p : pieces_) {
    out.resize(p.offset);
    out.insert(out.end(), p.bytes.begin(), p.bytes.end());
  }
  return out;
}

}  // namespace trunnion::onnx
