#include "onnx/exporter.h"

#include <deque>

#include "base/error.h"
#include "base/os.h"
#include "onnx/model_view.h"
#include "onnx/tensor_data.h"
#include "onnx/writer.h"

namespace trunnion::onnx {
namespace {

// Builds views; what they point to and the IR does not hold (texts of dimensions) is kept here.
class Exporter {
 public:
  ModelView model(const ir::Model& m) {
    ModelView v;
    v.ir_version = m.ir_version;
    v.producer_name = m.producer_name;
    v.producer_version = m.producer_version;
    v.domain = m.domain;
    v.doc_string = m.doc;
    v.model_version = m.model_version;
    v.has_model_version = m.has_model_version;
    for (const auto& [domain, version] : m.opset_imports) v.opset_imports.push_back({domain, version});
    for (const auto& [key, value] : m.metadata) v.metadata_props.push_back({key, value});
    v.graph = graph(*m.graph);
    return v;
  }

 private:
  std::string_view keep(std::string text) { return texts_.emplace_back(std::move(text)); }

  GraphView graph(const ir::Graph& g) {
    GraphView v;
    v.name = g.name.empty() ? std::string_view("graph") : std::string_view(g.name);
    v.doc_string = g.doc;
    for (const ir::Value* in : g.inputs()) {
      v.inputs.push_back(value_info(*in));
      if (in->constant().valid()) v.initializers.push_back(view_tensor(in->name(), in->constant()));
    }
    g.for_each_value([&](ir::Value* value) {
      if (value->is_constant() && !value->unused())
        v.initializers.push_back(view_tensor(value->name(), value->constant()));
    });
    for (const ir::Node* n = g.first(); n; n = n->next()) {
      v.nodes.push_back(node(*n));
      for (const ir::Value* out : n->outputs())
        if (out && out->output_uses() == 0 && out->fact.type.kind != Type::Kind::unknown)
          v.value_infos.push_back(value_info(*out));
    }
    for (const ir::Value* out : g.outputs()) v.outputs.push_back({name_of(out), type(out->fact.type), {}, {}});
    return v;
  }

  // Inside a body an outer value goes by its outer name.
  std::string_view name_of(const ir::Value* v) {
    if (!v) return {};
    while (v->is_capture()) {
      const ir::Value* outer = nullptr;
      for (const auto& c : v->graph()->captures())
        if (c.inner == v) outer = c.outer;
      if (!outer) break;
      v = outer;
    }
    return v->name();
  }

  ValueInfoView value_info(const ir::Value& v) { return {v.name(), type(v.fact.type), {}, {}}; }

  TypeView type(const Type& t) {
    TypeView v;
    v.denotation = t.denotation;
    v.elem_type = static_cast<int32_t>(t.dtype);
    switch (t.kind) {
      case Type::Kind::unknown:
        return v;
      case Type::Kind::tensor:
        v.kind = TypeView::Kind::tensor;
        break;
      case Type::Kind::sparse_tensor:
        v.kind = TypeView::Kind::sparse_tensor;
        break;
      case Type::Kind::sequence:
        v.kind = TypeView::Kind::sequence;
        break;
      case Type::Kind::optional:
        v.kind = TypeView::Kind::optional;
        break;
      case Type::Kind::map:
        v.kind = TypeView::Kind::map;
        break;
      case Type::Kind::opaque:
        v.kind = TypeView::Kind::opaque;
        break;
    }
    if (t.inner) v.inner.push_back(type(*t.inner));
    if (t.shape) {
      v.has_shape = true;
      for (const Dim& d : *t.shape) {
        DimView dim;
        if (d.is_int()) {
          dim.kind = DimView::Kind::value;
          dim.value = d.value();
        } else if (!d.is_unknown()) {
          dim.kind = DimView::Kind::param;
          dim.param = keep(d.text());
        }
        v.dims.push_back(dim);
      }
    }
    return v;
  }

  NodeView node(const ir::Node& n) {
    NodeView v;
    v.name = n.name();
    v.op_type = n.op_type();
    v.domain = n.domain();
    v.overload = n.overload();
    v.doc_string = n.doc;
    for (const ir::Value* in : n.inputs()) v.inputs.push_back(name_of(in));
    for (const ir::Value* out : n.outputs())
      v.outputs.push_back(out ? std::string_view(out->name()) : std::string_view());
    for (const auto& a : n.attrs()) v.attributes.push_back(attribute(a));
    return v;
  }

  SparseTensorView sparse(const SparseTensor& s) {
    SparseTensorView v;
    v.values = view_tensor("", s.values);
    v.indices = view_tensor("", s.indices);
    v.dims.assign(s.dense_shape.begin(), s.dense_shape.end());
    return v;
  }

  AttrView attribute(const ir::Attr& a) {
    AttrView v;
    v.name = a.name;
    v.type = a.type();
    v.ref_attr_name = a.ref;
    if (const auto* f = a.get<float>()) v.f = *f;
    if (const auto* i = a.get<int64_t>()) v.i = *i;
    if (const auto* s = a.get<std::string>()) v.s = *s;
    if (const auto* fs = a.get<ir::Attr::Floats>()) v.floats = *fs;
    if (const auto* is = a.get<ir::Attr::Ints>()) v.ints = *is;
    if (const auto* ss = a.get<ir::Attr::Strings>()) v.strings.assign(ss->begin(), ss->end());
    if (const auto* t = a.get<Tensor>()) v.tensors.push_back(view_tensor("", *t));
    if (const auto* ts = a.get<std::vector<Tensor>>())
      for (const auto& t : *ts) v.tensors.push_back(view_tensor("", t));
    if (const auto* g = a.get<std::shared_ptr<ir::Graph>>()) v.graphs.push_back(graph(**g));
    if (const auto* gs = a.get<std::vector<std::shared_ptr<ir::Graph>>>())
      for (const auto& g : *gs) v.graphs.push_back(graph(*g));
    if (const auto* s = a.get<trunnion::Value>()) v.sparse_tensors.push_back(sparse(s->sparse()));
    if (const auto* list = a.get<std::vector<trunnion::Value>>())
      for (const auto& s : *list) v.sparse_tensors.push_back(sparse(s.sparse()));
    if (const auto* t = a.get<Type>()) v.types.push_back(type(*t));
    if (const auto* ts = a.get<std::vector<Type>>())
      for (const auto& t : *ts) v.types.push_back(type(t));
    return v;
  }

  std::deque<std::string> texts_;
};

// `texts` holds what the entries are views of.
Status place_weights(GraphView& graph, const PlaceFn& place, std::deque<std::string>& texts) {
  for (TensorProtoView& t : graph.initializers) {
    if (!t.has_raw_data || t.external) continue;
    TRN_ASSIGN(const auto where, place(t));
    if (!where) continue;
    t.external = true;
    t.external_data = {{"location", texts.emplace_back(where->location)},
                       {"offset", texts.emplace_back(std::to_string(where->offset))},
                       {"length", texts.emplace_back(std::to_string(where->bytes))}};
    t.has_raw_data = false;
    t.raw_data = {};
  }
  for (NodeView& n : graph.nodes)
    for (AttrView& a : n.attributes)
      for (GraphView& body : a.graphs) TRN_TRY(place_weights(body, place, texts));
  return {};
}

}  // namespace

Result<std::vector<std::byte>> export_bytes(const ir::Model& model, const PlaceFn& place) {
  Exporter exporter;
  ModelView view = exporter.model(model);
  std::deque<std::string> texts;
  if (place) TRN_TRY(place_weights(view.graph, place, texts));
  return serialize(view);
}

Status export_model(const ir::Model& model, const std::string& path, const ExportOptions& options) {
  Exporter exporter;
  ModelView view = exporter.model(model);
  std::string external = options.external_file;
  const auto slash = path.find_last_of('/');
  const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  if (external.empty() && serialized_bytes(view) > kMaxModelBytes) external = path.substr(folder.size()) + ".data";
  if (external.find('/') != std::string::npos)
    return invalid_argument("'{}' must be the name of a file beside '{}', without folders", external, path);

  ExternalFile file(external);
  if (!external.empty()) {
    file.take(view.graph, options.external_threshold);
    if (file.size() > 0) TRN_TRY(os::write_file_atomically(folder + external, file.content()));
  }
  TRN_ASSIGN(const auto bytes, serialize(view));
  auto s = os::write_file_atomically(path, bytes);
  return s.ok() ? s : s.with_context("cannot write the optimized model");
}

}  // namespace trunnion::onnx
