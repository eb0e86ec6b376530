#include "onnx/importer.h"

#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "onnx/node_order.h"
#include "schema/schema.h"

namespace trunnion::onnx {
namespace {

using OpsetMap = std::map<std::string, int>;

std::string_view plain_domain(std::string_view domain) { return domain == "ai.onnx" ? std::string_view() : domain; }

std::string node_text(const NodeView& n) {
  return n.name.empty() ? std::string(n.op_type) : fmt::format("{} '{}'", n.op_type, n.name);
}

// Names that are visible in a graph, and the way to those of the graphs around it.
struct Scope {
  ir::Graph* graph;
  Scope* parent;
  std::unordered_map<std::string_view, ir::Value*> names;

  ir::Value* find(std::string_view name) {
    if (const auto it = names.find(name); it != names.end()) return it->second;
    if (!parent) return nullptr;
    ir::Value* outer = parent->find(name);
    if (!outer) return nullptr;
    // A constant needs no capture: the body gets one of its own that shares the bytes.
    ir::Value* inner = outer->is_constant() ? graph->add_constant(name, outer->constant()) : graph->capture(outer);
    names.emplace(name, inner);
    return inner;
  }
};

class Importer {
 public:
  Importer(ModelView& view, const TensorSource& source, const ImportOptions& options)
      : view_(view), source_(source), options_(options) {}

  Result<ir::Model> run() {
    ir::Model model;
    model.path = options_.path;
    model.ir_version = view_.ir_version;
    model.producer_name = view_.producer_name;
    model.producer_version = view_.producer_version;
    model.domain = view_.domain;
    model.doc = view_.doc_string;
    model.model_version = view_.model_version;
    model.has_model_version = view_.has_model_version;
    for (const auto& e : view_.metadata_props) model.metadata.emplace_back(e.key, e.value);

    if (view_.ir_version < 1)
      return error(Code::invalid_graph, "Missing or invalid model IR version {}: expected 1 to {}", view_.ir_version,
                   schema::max_ir_version());
    if (view_.ir_version > schema::max_ir_version())
      return error(Code::fail, "Unsupported model IR version: {}, max supported IR version: {}", view_.ir_version,
                   schema::max_ir_version());
    TRN_ASSIGN(model.opset_imports, opsets(view_.opset_imports));
    if (model.opset_imports.empty()) {
      if (view_.ir_version >= 3)
        return invalid_graph("Missing opset in the model: it must import at least one operator set (opset_import)");
      model.opset_imports[""] = 1;
    }
    model.graph = std::make_unique<ir::Graph>();
    Scope scope{model.graph.get(), nullptr, {}};
    TRN_TRY(graph(view_.graph, scope, model.opset_imports, true));
    for (auto& f : view_.functions) {
      auto imported = function(f, model.opset_imports);
      if (!imported.ok()) return imported.status().with_context(fmt::format("function '{}'", f.name));
      model.functions.push_back(std::move(imported).value());
    }
    return model;
  }

 private:
  Result<OpsetMap> opsets(const std::vector<OpsetView>& imports) {
    OpsetMap out;
    for (const auto& o : imports) {
      const auto domain = std::string(plain_domain(o.domain));
      const int newest = schema::newest_opset(domain);
      if (o.version < 1 || o.version > INT32_MAX)
        return invalid_graph("opset version {} of domain '{}' is not valid", o.version, schema::domain_text(domain));
      if (newest > 0 && o.version > newest)
        return error(Code::fail, "the model imports opset {} of domain '{}'; the newest that this version knows is {}",
                     o.version, schema::domain_text(domain), newest);
      out[domain] = static_cast<int>(o.version);
    }
    return out;
  }

  // Adds a name to the scope; a second definition of it is an error.
  static Status define(Scope& scope, std::string_view name, ir::Value* value) {
    if (!scope.names.emplace(name, value).second)
      return invalid_graph(
          "This is an invalid model. Error: Duplicate definition of name ({}): it is defined more than once", name);
    return {};
  }

  Status initializers(const GraphView& view, bool top, std::unordered_map<std::string_view, Tensor>& out) {
    for (const auto& t : view.initializers) {
      if (t.name.empty()) return invalid_graph("an initializer has no name");
      if (out.contains(t.name))
        return invalid_graph("This is an invalid model. Error: initializer '{}' is defined more than once", t.name);
      if (top && options_.replace_initializer)
        if (auto replaced = options_.replace_initializer(t.name)) {
          out.emplace(t.name, *replaced);
          continue;
        }
      TRN_ASSIGN(Tensor tensor, decode_tensor(t, source_, true));
      out.emplace(t.name, std::move(tensor));
    }
    for (const auto& s : view.sparse_initializers) {
      TRN_ASSIGN(SparseTensor sparse, decode_sparse_tensor(s, source_));
      auto dense = densify(sparse);
      if (!dense.ok()) return dense.status().with_context(fmt::format("sparse initializer '{}'", s.values.name));
      if (!out.emplace(s.values.name, std::move(dense).value()).second)
        return invalid_graph("This is an invalid model. Error: initializer '{}' is defined more than once",
                             s.values.name);
    }
    return {};
  }

  Status graph(GraphView& view, Scope& scope, const OpsetMap& imports, bool top) {
    ir::Graph& g = *scope.graph;
    g.name = view.name;
    g.doc = view.doc_string;
    std::unordered_map<std::string_view, Tensor> inits;
    TRN_TRY(initializers(view, top, inits));

    // From IR version 4 on, an initializer that is also an input is a default that the caller may override; before,
    // every initializer had to be listed as input and is a constant.
    for (const auto& in : view.inputs) {
      const auto it = inits.find(in.name);
      if (top && it != inits.end() && view_.ir_version < 4) continue;
      ir::Fact fact;
      auto type = import_type(in.type, options_);
      if (!type.ok()) return type.status().with_context(fmt::format("input '{}'", in.name));
      fact.type = std::move(type).value();
      ir::Value* v = g.add_input(in.name, std::move(fact));
      if (it != inits.end()) {
        if (v->fact.dtype() != DType::undefined && v->fact.dtype() != it->second.dtype())
          return invalid_graph("Type Error: input '{}' is declared {}, its initializer is tensor({})", in.name,
                               v->fact.type.text(), dtype_name(it->second.dtype()));
        g.set_constant(v, it->second);
      }
      TRN_TRY(define(scope, in.name, v));
    }
    for (const auto& t : view.initializers)
      if (!scope.names.contains(t.name)) TRN_TRY(define(scope, t.name, g.add_constant(t.name, inits.at(t.name))));
    for (const auto& s : view.sparse_initializers)
      if (!scope.names.contains(s.values.name))
        TRN_TRY(define(scope, s.values.name, g.add_constant(s.values.name, inits.at(s.values.name))));

    std::unordered_map<std::string_view, const ValueInfoView*> declared;
    for (const auto& v : view.value_infos) declared.emplace(v.name, &v);
    for (const auto& v : view.outputs) declared[v.name] = &v;
    TRN_TRY(nodes(view.nodes, scope, imports, declared));

    for (const auto& out : view.outputs) {
      ir::Value* v = scope.find(out.name);
      if (!v)
        return invalid_graph("the graph output '{}' is not produced by any node, nor an input or initializer",
                             out.name);
      g.add_output(v);
      if (!v->producer()) {  // a constant or an input handed through: the declaration is still binding
        TRN_ASSIGN(Type type, import_type(out.type, options_));
        if (!same_kind(type, v->fact.type))
          return invalid_graph("Type Error: output '{}' is declared {}, but it is {}", out.name, type.text(),
                               v->fact.type.text());
      }
    }
    return {};
  }

  Status nodes(std::vector<NodeView>& views, Scope& scope, const OpsetMap& imports,
               const std::unordered_map<std::string_view, const ValueInfoView*>& declared) {
    TRN_ASSIGN(const auto order, node_order(views));
    for (int i : order) {
      NodeView& n = views[static_cast<size_t>(i)];
      if (auto s = node(n, scope, imports, declared); !s.ok()) return s.with_context(node_text(n));
    }
    return {};
  }

  Status node(NodeView& n, Scope& scope, const OpsetMap& imports,
              const std::unordered_map<std::string_view, const ValueInfoView*>& declared) {
    const auto domain = plain_domain(n.domain);
    const auto import = imports.find(std::string(domain));
    int opset = import == imports.end() ? 0 : import->second;
    if (import == imports.end()) {
      // ONNX demands an import for every domain; for those of ONNX that is an error, others are taken as version 1.
      if (schema::newest_opset(domain) > 0)
        return invalid_graph("operator {} is of domain '{}', for which the model imports no opset", n.op_type,
                             schema::domain_text(domain));
      opset = 1;
    }
    std::vector<ir::Value*> inputs;
    for (auto name : n.inputs) {
      if (name.empty()) {
        inputs.push_back(nullptr);
        continue;
      }
      ir::Value* v = scope.find(name);
      if (!v)
        return invalid_graph(
            "Invalid model. Node input '{}' is not a graph input, initializer, or output of a previous node.", name);
      inputs.push_back(v);
    }
    std::vector<ir::Attr> attrs;
    std::unordered_set<std::string_view> seen;
    for (auto& a : n.attributes) {
      if (!seen.insert(a.name).second) return invalid_graph("attribute '{}' is given twice", a.name);
      auto attr = attribute(a, scope, imports);
      if (!attr.ok()) return attr.status().with_context(fmt::format("attribute '{}'", a.name));
      attrs.push_back(std::move(attr).value());
    }
    ir::Node* made =
        scope.graph->add_node(n.op_type, domain, opset, inputs, n.outputs, std::move(attrs), nullptr, n.name);
    scope.graph->set_node_identity(made, n.name, n.overload);
    made->doc = n.doc_string;
    if (!n.name.empty()) made->origins.emplace_back(n.name);
    for (size_t k = 0; k < n.outputs.size(); ++k) {
      if (n.outputs[k].empty()) continue;
      ir::Value* v = made->output(static_cast<int>(k));
      TRN_TRY(define(scope, n.outputs[k], v));
      if (const auto it = declared.find(n.outputs[k]); it != declared.end()) {
        auto type = import_type(it->second->type, options_);
        if (!type.ok()) return type.status().with_context(fmt::format("value '{}'", n.outputs[k]));
        v->fact.type = std::move(type).value();
      }
    }
    return {};
  }

  Result<std::shared_ptr<ir::Graph>> body(GraphView& view, Scope& scope, const OpsetMap& imports) {
    auto g = std::make_shared<ir::Graph>();
    Scope inner{g.get(), &scope, {}};
    auto s = graph(view, inner, imports, false);
    if (!s.ok()) return s.with_context(fmt::format("body '{}'", view.name));
    return g;
  }

  // Lists are taken out of the view: those of a forest are most of its model.
  Result<ir::Attr> attribute(AttrView& a, Scope& scope, const OpsetMap& imports) {
    ir::Attr out;
    out.name = a.name;
    if (!a.ref_attr_name.empty()) {
      out.ref = a.ref_attr_name;
      return out;
    }
    switch (a.type) {
      case AttrType::f:
        out.data = a.f;
        break;
      case AttrType::i:
        out.data = a.i;
        break;
      case AttrType::s:
        out.data = std::string(a.s);
        break;
      case AttrType::floats:
        out.data = std::move(a.floats);
        break;
      case AttrType::ints:
        out.data = std::move(a.ints);
        break;
      case AttrType::strings:
        out.data = ir::Attr::Strings(a.strings.begin(), a.strings.end());
        break;
      case AttrType::t: {
        TRN_ASSIGN(Tensor t, decode_tensor(a.tensors[0], source_));
        out.data = std::move(t);
        break;
      }
      case AttrType::tensors: {
        std::vector<Tensor> tensors;
        for (const auto& t : a.tensors) {
          TRN_ASSIGN(Tensor tensor, decode_tensor(t, source_));
          tensors.push_back(std::move(tensor));
        }
        out.data = std::move(tensors);
        break;
      }
      case AttrType::g: {
        TRN_ASSIGN(auto g, body(a.graphs[0], scope, imports));
        out.data = std::move(g);
        break;
      }
      case AttrType::graphs: {
        std::vector<std::shared_ptr<ir::Graph>> graphs;
        for (auto& g : a.graphs) {
          TRN_ASSIGN(auto one, body(g, scope, imports));
          graphs.push_back(std::move(one));
        }
        out.data = std::move(graphs);
        break;
      }
      case AttrType::sparse_tensor: {
        TRN_ASSIGN(SparseTensor s, decode_sparse_tensor(a.sparse_tensors[0], source_));
        out.data.emplace<trunnion::Value>(std::move(s));
        break;
      }
      case AttrType::sparse_tensors: {
        std::vector<trunnion::Value> values;
        for (const auto& s : a.sparse_tensors) {
          TRN_ASSIGN(SparseTensor sparse, decode_sparse_tensor(s, source_));
          values.emplace_back(std::move(sparse));
        }
        out.data = std::move(values);
        break;
      }
      case AttrType::tp: {
        TRN_ASSIGN(Type t, import_type(a.types[0]));
        out.data = std::move(t);
        break;
      }
      case AttrType::type_protos: {
        std::vector<Type> types;
        for (const auto& t : a.types) {
          TRN_ASSIGN(Type type, import_type(t));
          types.push_back(std::move(type));
        }
        out.data = std::move(types);
        break;
      }
      case AttrType::undefined:
        return invalid_graph("it has no type");
    }
    return out;
  }

  Result<ir::Function> function(FunctionView& f, const OpsetMap& model_imports) {
    ir::Function out;
    out.domain = plain_domain(f.domain);
    out.name = f.name;
    out.overload = f.overload;
    out.attribute_names.assign(f.attributes.begin(), f.attributes.end());
    TRN_ASSIGN(out.opset_imports, opsets(f.opset_imports));
    if (out.opset_imports.empty()) out.opset_imports = model_imports;
    out.body = std::make_shared<ir::Graph>();
    out.body->name = f.name;
    Scope scope{out.body.get(), nullptr, {}};
    for (auto& a : f.attribute_protos) {
      TRN_ASSIGN(ir::Attr attr, attribute(a, scope, out.opset_imports));
      out.attribute_defaults.push_back(std::move(attr));
    }
    for (auto name : f.inputs) TRN_TRY(define(scope, name, out.body->add_input(name, {})));
    std::unordered_map<std::string_view, const ValueInfoView*> declared;
    TRN_TRY(nodes(f.nodes, scope, out.opset_imports, declared));
    for (auto name : f.outputs) {
      ir::Value* v = scope.find(name);
      if (!v) return invalid_graph("the output '{}' is not produced in the body", name);
      out.body->add_output(v);
    }
    return out;
  }

  ModelView& view_;
  const TensorSource& source_;
  const ImportOptions& options_;
};

}  // namespace

Result<Type> import_type(const TypeView& view, const ImportOptions& options) {
  Type type;
  type.denotation = view.denotation;
  const auto element = [&]() -> Result<DType> {
    if (view.elem_type == 0) return DType::undefined;
    const auto dtype = dtype_from_code(view.elem_type);
    if (!dtype)
      return invalid_graph("the element type {} does not exist: expected a TensorProto.DataType from 1 to {}",
                           view.elem_type, kDTypeCount - 1);
    return *dtype;
  };
  switch (view.kind) {
    case TypeView::Kind::none:
      return type;
    case TypeView::Kind::tensor:
    case TypeView::Kind::sparse_tensor: {
      type.kind = view.kind == TypeView::Kind::tensor ? Type::Kind::tensor : Type::Kind::sparse_tensor;
      TRN_ASSIGN(type.dtype, element());
      if (view.has_shape) {
        SymShape shape;
        for (const auto& d : view.dims) {
          std::optional<int64_t> fixed;
          if (options.override_dimension && d.kind != DimView::Kind::value)
            fixed = options.override_dimension(d.param, d.denotation);
          if (fixed)
            shape.emplace_back(*fixed);
          else if (d.kind == DimView::Kind::value && d.value >= 0)
            shape.emplace_back(d.value);
          else if (d.kind == DimView::Kind::param && !d.param.empty())
            shape.push_back(Dim::symbol(d.param));
          else
            shape.emplace_back();
        }
        type.shape = std::move(shape);
      }
      return type;
    }
    case TypeView::Kind::sequence:
    case TypeView::Kind::optional: {
      type.kind = view.kind == TypeView::Kind::sequence ? Type::Kind::sequence : Type::Kind::optional;
      break;
    }
    case TypeView::Kind::map: {
      type.kind = Type::Kind::map;
      TRN_ASSIGN(type.dtype, element());
      break;
    }
    case TypeView::Kind::opaque:
      type.kind = Type::Kind::opaque;
      return type;
  }
  if (!view.inner.empty()) {
    TRN_ASSIGN(Type inner, import_type(view.inner[0], options));
    type.inner = std::make_shared<const Type>(std::move(inner));
  }
  return type;
}

Result<ir::Model> import_model(ModelView view, const TensorSource& source, const ImportOptions& options) {
  auto model = Importer(view, source, options).run();
  if (!model.ok())
    return model.status().with_context(options.path.empty() ? "Load model from memory failed"
                                                            : "Load model from " + options.path + " failed");
  return model;
}

}  // namespace trunnion::onnx
