#include "abi/model_writer.h"

#include "base/error.h"
#include "onnx/model_view.h"
#include "onnx/reader.h"
#include "onnx/writer.h"
#include "schema/schema.h"

namespace trunnion::abi {
namespace {

onnx::TypeView type_view(const OrtTypeInfo& info) {
  onnx::TypeView v;
  v.denotation = info.denotation;
  if (info.tensor) {
    v.kind = info.type == ONNX_TYPE_SPARSETENSOR ? onnx::TypeView::Kind::sparse_tensor : onnx::TypeView::Kind::tensor;
    v.elem_type = static_cast<int32_t>(dtype_of(info.tensor->type));
    v.has_shape = info.tensor->has_shape;
    for (size_t i = 0; i < info.tensor->dims.size(); ++i) {
      onnx::DimView d;
      if (info.tensor->dims[i] >= 0) {
        d.kind = onnx::DimView::Kind::value;
        d.value = info.tensor->dims[i];
      } else if (!info.tensor->symbols[i].empty()) {
        d.kind = onnx::DimView::Kind::param;
        d.param = info.tensor->symbols[i];
      }
      v.dims.push_back(d);
    }
  } else if (info.map) {
    v.kind = onnx::TypeView::Kind::map;
    v.elem_type = static_cast<int32_t>(dtype_of(info.map->key_type));
    v.inner.push_back(type_view(*info.map->value));
  } else if (info.sequence) {
    v.kind = onnx::TypeView::Kind::sequence;
    v.inner.push_back(type_view(*info.sequence->element));
  } else if (info.optional) {
    v.kind = onnx::TypeView::Kind::optional;
    v.inner.push_back(type_view(*info.optional->contained));
  }
  return v;
}

onnx::TensorProtoView tensor_view(std::string_view name, const Tensor& tensor) {
  onnx::TensorProtoView v;
  v.name = name;
  v.dims.assign(tensor.shape().begin(), tensor.shape().end());
  v.data_type = static_cast<int32_t>(tensor.dtype());
  if (tensor.dtype() == DType::string) {
    for (const auto& s : tensor.span<std::string>()) v.string_data.push_back(s);
  } else {
    v.has_raw_data = true;
    v.raw_data = {static_cast<const std::byte*>(tensor.raw()), tensor.bytes()};
  }
  return v;
}

Result<onnx::AttrView> attr_view(const ir::Attr& a) {
  onnx::AttrView v;
  v.name = a.name;
  v.type = a.type();
  switch (a.type()) {
    case ir::AttrType::f:
      v.f = *a.get<float>();
      return v;
    case ir::AttrType::i:
      v.i = *a.get<int64_t>();
      return v;
    case ir::AttrType::s:
      v.s = *a.get<std::string>();
      return v;
    case ir::AttrType::floats:
      v.floats = *a.get<ir::Attr::Floats>();
      return v;
    case ir::AttrType::ints:
      v.ints = *a.get<ir::Attr::Ints>();
      return v;
    case ir::AttrType::strings:
      for (const auto& s : *a.get<ir::Attr::Strings>()) v.strings.push_back(s);
      return v;
    case ir::AttrType::t:
      v.tensors.push_back(tensor_view("", *a.get<Tensor>()));
      return v;
    default:
      return not_implemented("attribute '{}' is of type {}, which the model editor does not have", a.name,
                             schema::attr_type_name(a.type()));
  }
}

}  // namespace

namespace {

// Adds the nodes and initializers; inputs and outputs, where the graph has some, take the place of what is there.
Status add_graph(const OrtGraph& graph, onnx::ModelView& m) {
  if (!graph.inputs.empty()) m.graph.inputs.clear();
  if (!graph.outputs.empty()) m.graph.outputs.clear();
  for (const auto& i : graph.inputs) m.graph.inputs.push_back({i->name, type_view(i->type), {}, {}});
  for (const auto& o : graph.outputs) m.graph.outputs.push_back({o->name, type_view(o->type), {}, {}});
  for (const auto& [name, value] : graph.initializers)
    m.graph.initializers.push_back(tensor_view(name, value->value.tensor()));
  for (const auto& n : graph.nodes) {
    onnx::NodeView v;
    v.name = n->name;
    v.op_type = n->op_type;
    v.domain = n->domain;
    v.inputs.assign(n->inputs.begin(), n->inputs.end());
    v.outputs.assign(n->outputs.begin(), n->outputs.end());
    for (const auto& a : n->attributes) {
      TRN_ASSIGN(auto view, attr_view(a->attr));
      v.attributes.push_back(std::move(view));
    }
    m.graph.nodes.push_back(std::move(v));
  }
  return {};
}

}  // namespace

Result<std::vector<std::byte>> model_bytes(const OrtModel& model) {
  onnx::ModelView m;
  m.ir_version = schema::max_ir_version();
  for (const auto& [domain, version] : model.opsets) m.opset_imports.push_back({domain, version});
  m.graph.name = "graph";
  TRN_TRY(add_graph(*model.graph, m));
  return onnx::serialize(m);
}

Result<std::vector<std::byte>> augmented_model(std::span<const std::byte> bytes, const OrtModel& addition) {
  TRN_ASSIGN(onnx::ModelView m, onnx::parse(bytes, ""));
  for (const auto& [domain, version] : addition.opsets) {
    bool known = false;
    for (const auto& import : m.opset_imports) {
      if (schema::domain_text(import.domain) != schema::domain_text(domain)) continue;
      known = true;
      if (import.version != version)
        return invalid_argument("the model imports version {} of domain '{}', what is added to it version {}",
                                import.version, schema::domain_text(domain), version);
    }
    if (!known) m.opset_imports.push_back({domain, version});
  }
  TRN_TRY(add_graph(*addition.graph, m));
  return onnx::serialize(m);
}

}  // namespace trunnion::abi
