#include "abi/plugin/graph_of.h"

#include <set>

#include "abi/kernel_handles.h"
#include "schema/schema.h"

namespace trunnion::abi {
namespace {

// What a body captures goes by the name that it has outside.
const std::string& name_of(const ir::Value& v) {
  if (v.is_capture())
    for (const auto& c : v.graph()->captures())
      if (c.inner == &v) return name_of(*c.outer);
  return v.name();
}

class Maker {
 public:
  Maker(const ir::Model& model, const ir::Graph& graph, const Maker* outer = nullptr)
      : model_(model), source_(graph), outer_(outer) {}

  std::unique_ptr<OrtGraph> make(const GraphParts& parts) {
    to_->name = source_.name;
    to_->path = model_.path;
    to_->ir_version = model_.ir_version;
    for (const auto& [domain, version] : model_.opset_imports) to_->opsets.emplace_back(domain, version);
    for (const ir::Value* v : parts.inputs) {
      port(*v, to_->inputs);
      add_initializer(*v);
    }
    for (const ir::Value* v : parts.outputs) port(*v, to_->outputs);
    for (const ir::Node* n : parts.nodes) add_node(*n);
    link_graph(*to_);
    // A constant that a fused node gets as input is a constant all the same.
    for (size_t i = 0; i < parts.inputs.size(); ++i)
      if (parts.inputs[i]->is_constant()) to_->inputs[i]->input = OrtValueInfo::Input::none;
    for (const auto& v : to_->inner)
      if (v->outer && outer_) v->initializer = outer_->initializer(v->name);
    for (size_t i = 0; i < parts.nodes.size(); ++i) to_->nodes[i]->since = parts.nodes[i]->since();
    return std::move(to_);
  }

 private:
  const OrtValue* initializer(const std::string& name) const {
    const auto it = to_->initializers.find(name);
    if (it != to_->initializers.end()) return it->second.get();
    return outer_ ? outer_->initializer(name) : nullptr;
  }

  static std::unique_ptr<OrtValueInfo> info_of(const ir::Value& v) {
    auto info = std::make_unique<OrtValueInfo>();
    info->name = name_of(v);
    if (v.fact.type.kind != Type::Kind::unknown) info->type = *make_type_info(v.fact.type);
    info->outer = v.is_capture();
    return info;
  }

  void port(const ir::Value& v, std::vector<std::unique_ptr<OrtValueInfo>>& list) {
    list.push_back(info_of(v));
    known_.insert(list.back()->name);
  }

  void add_initializer(const ir::Value& v) {
    if (!v.constant().valid()) return;
    auto& held = to_->initializers[name_of(v)];
    if (!held) held = std::make_shared<OrtValue>(OrtValue{v.constant(), nullptr});
  }

  std::string use(const ir::Value* v) {
    if (!v) return {};
    const std::string& name = name_of(*v);
    if (known_.insert(name).second) {
      to_->inner.push_back(info_of(*v));
      if (v->is_constant()) add_initializer(*v);
    }
    return name;
  }

  void add_node(const ir::Node& n) {
    auto node = std::make_unique<OrtNode>();
    node->op_type = n.op_type();
    node->domain = n.domain();
    node->name = n.name();
    node->id = static_cast<size_t>(n.id());
    for (const ir::Value* v : n.inputs()) node->inputs.push_back(use(v));
    for (const ir::Value* v : n.outputs()) node->outputs.push_back(use(v));
    for (const ir::Attr& a : n.attrs()) {
      if (const auto* body = a.get<std::shared_ptr<ir::Graph>>()) {
        for (const auto& c : (*body)->captures()) use(c.outer);
        node->bodies.emplace_back(a.name, Maker(model_, **body, this).make(whole(**body)));
      }
      node->attributes.push_back(std::make_shared<const OrtOpAttr>(OrtOpAttr{a}));
    }
    // Plugins rely on defaults being there: in ONNX Runtime they are.
    for (const schema::Attr& a : n.schema ? std::span(n.schema->attributes) : std::span<const schema::Attr>()) {
      if (!a.has_default || n.has_attr(a.name)) continue;
      ir::Attr filled{std::string(a.name), default_of(a), {}};
      if (filled.type() != ir::AttrType::undefined)
        node->attributes.push_back(std::make_shared<const OrtOpAttr>(OrtOpAttr{std::move(filled)}));
    }
    to_->nodes.push_back(std::move(node));
  }

  const ir::Model& model_;
  const ir::Graph& source_;
  const Maker* outer_;
  std::unique_ptr<OrtGraph> to_ = std::make_unique<OrtGraph>();
  std::set<std::string> known_;
};

}  // namespace

GraphParts whole(const ir::Graph& graph) {
  GraphParts parts;
  for (const ir::Node* n = graph.first(); n; n = n->next()) parts.nodes.push_back(n);
  parts.inputs.assign(graph.inputs().begin(), graph.inputs().end());
  parts.outputs.assign(graph.outputs().begin(), graph.outputs().end());
  return parts;
}

std::unique_ptr<OrtGraph> graph_of(const ir::Model& model, const ir::Graph& graph, const GraphParts& parts) {
  return Maker(model, graph).make(parts);
}

}  // namespace trunnion::abi
