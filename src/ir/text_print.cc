#include <algorithm>
#include <map>

#include "ir/text.h"
#include "ir/text_data.h"

namespace trunnion::ir {
namespace {

using text::name_text;
using text::quoted;

class Printer {
 public:
  explicit Printer(const PrintOptions& options) : options_(options) {}

  std::string run(const Graph& g) {
    g.for_each_node_deep([&](Node* n) {
      int& newest = opsets_[n->domain()];
      newest = std::max(newest, n->opset());
    });
    if (!opsets_.empty()) {
      out_ += "<opset: ";
      const char* comma = "";
      for (const auto& [domain, version] : opsets_) {
        out_ += fmt::format("{}{} {}", comma, quoted(domain), version);
        comma = ", ";
      }
      out_ += ">\n";
    }
    graph(g, 0);
    return std::move(out_) + "\n";
  }

 private:
  void typed_name(const Value& v) {
    const std::string type = print_type(v.fact.type);
    out_ += type.empty() ? name_text(v.name()) : type + " " + name_text(v.name());
  }

  void graph(const Graph& g, int indent) {
    out_ += name_text(g.name);
    if (!g.captures().empty()) {
      const char* comma = "[";
      for (const auto& c : g.captures()) {
        out_ += comma + name_text(c.inner->name());
        if (c.inner->name() != c.outer->name()) out_ += " = " + name_text(c.outer->name());
        comma = ", ";
      }
      out_ += "]";
    }
    out_ += "(";
    for (size_t i = 0; i < g.inputs().size(); ++i) {
      const Value& v = *g.inputs()[i];
      if (i) out_ += ", ";
      typed_name(v);
      if (!v.constant().valid()) continue;
      const std::string own = print_type(constant_type(v.constant()));  // the input's shape may have symbols
      out_ += " = " + (own == print_type(v.fact.type) ? "" : own + " ") + tensor(v.constant());
    }
    out_ += ") => (";
    for (size_t i = 0; i < g.outputs().size(); ++i) {
      if (i) out_ += ", ";
      typed_name(*g.outputs()[i]);
    }
    out_ += ") {\n";
    const std::string margin(static_cast<size_t>(indent) + 2, ' ');
    g.for_each_value([&](Value* v) {
      if (!v->is_constant()) return;
      out_ += margin + print_type(constant_type(v->constant())) + " " + name_text(v->name()) + " = " +
              text::literal_text(v->constant(), options_.max_elements) + "\n";
    });
    for (const Node* n = g.first(); n; n = n->next()) {
      out_ += margin;
      node(*n, indent + 2);
      out_ += "\n";
    }
    out_ += std::string(static_cast<size_t>(indent), ' ') + "}";
  }

  void node(const Node& n, int indent) {
    if (!n.name().empty()) out_ += "[" + name_text(n.name()) + "] ";
    if (n.outputs().empty()) out_ += "()";
    for (size_t i = 0; i < n.outputs().size(); ++i) {
      const Value* v = n.outputs()[i];
      if (i) out_ += ", ";
      if (!v)
        out_ += "_";
      else if (options_.inner_types)
        typed_name(*v);
      else
        out_ += name_text(v->name());
    }
    out_ += " = " + op(n);
    if (n.opset() != opsets_[n.domain()]) out_ += fmt::format("@{}", n.opset());
    attributes(n, indent);
    out_ += "(";
    for (size_t i = 0; i < n.inputs().size(); ++i)
      out_ += (i ? ", " : "") + (n.inputs()[i] ? name_text(n.inputs()[i]->name()) : "_");
    out_ += ")";
    const bool told = std::any_of(n.origins.begin(), n.origins.end(), [](const auto& o) { return !o.empty(); });
    if (options_.origins && told && !(n.origins.size() == 1 && n.origins[0] == n.name())) {
      out_ += "  # of";
      for (const auto& o : n.origins) out_ += " " + quoted(o);
    }
  }

  static std::string op(const Node& n) {
    std::string plain = n.domain().empty() ? n.op_type() : n.domain() + "::" + n.op_type();
    if (!n.overload().empty()) plain += ":" + n.overload();
    const auto has_colon = [](const std::string& s) { return s.find(':') != std::string::npos; };
    if (text::is_plain_name(plain) && !has_colon(n.domain()) && !has_colon(n.op_type()) && !has_colon(n.overload()))
      return plain;
    return quoted(n.domain()) + "::" + quoted(n.op_type()) + (n.overload().empty() ? "" : ":" + quoted(n.overload()));
  }

  // Bodies make the list of attributes one line each.
  void attributes(const Node& n, int indent) {
    if (n.attrs().empty()) return;
    const bool lines = !n.bodies().empty();
    out_ += "<";
    for (size_t i = 0; i < n.attrs().size(); ++i) {
      const Attr& a = n.attrs()[i];
      if (i) out_ += lines ? "," : ", ";
      if (lines) out_ += "\n" + std::string(static_cast<size_t>(indent) + 2, ' ');
      out_ += name_text(a.name) + "=";
      data(a, indent + 2);
    }
    if (lines) out_ += "\n" + std::string(static_cast<size_t>(indent), ' ');
    out_ += ">";
  }

  template <class T, class F>
  void list(const std::vector<T>& values, const char* name, F&& item) {
    if (values.empty()) out_ += name;
    out_ += "[";
    for (size_t i = 0; i < values.size(); ++i) {
      if (i) out_ += ", ";
      item(values[i]);
    }
    out_ += "]";
  }

  void data(const Attr& a, int indent) {
    const auto put_tensor = [&](const Tensor& t) { out_ += print_type(constant_type(t)) + " " + tensor(t); };
    const auto put_graph = [&](const std::shared_ptr<Graph>& g) { graph(*g, indent); };
    const auto put_type = [&](const Type& t) { out_ += "type(" + print_type(t) + ")"; };
    const auto put_sparse = [&](const trunnion::Value& v) {
      if (v.kind() != trunnion::Value::Kind::sparse_tensor) {
        out_ += "none";
        return;
      }
      const SparseTensor& s = v.sparse();
      out_ += fmt::format("sparse([{}], ", fmt::join(s.dense_shape.begin(), s.dense_shape.end(), ","));
      put_tensor(s.values);
      out_ += ", ";
      put_tensor(s.indices);
      out_ += ")";
    };
    if (!a.ref.empty()) {
      out_ += "ref(" + name_text(a.ref) + ")";
      return;
    }
    switch (a.type()) {
      case AttrType::undefined:
        out_ += "none";
        break;
      case AttrType::f:
        out_ += text::float_text(*a.get<float>());
        break;
      case AttrType::i:
        out_ += std::to_string(*a.get<int64_t>());
        break;
      case AttrType::s:
        out_ += quoted(*a.get<std::string>());
        break;
      case AttrType::t:
        put_tensor(*a.get<Tensor>());
        break;
      case AttrType::g:
        put_graph(*a.get<std::shared_ptr<Graph>>());
        break;
      case AttrType::floats:
        list(*a.get<Attr::Floats>(), "floats", [&](float f) { out_ += text::float_text(f); });
        break;
      case AttrType::ints:
        list(*a.get<Attr::Ints>(), "ints", [&](int64_t i) { out_ += std::to_string(i); });
        break;
      case AttrType::strings:
        list(*a.get<Attr::Strings>(), "strings", [&](const std::string& s) { out_ += quoted(s); });
        break;
      case AttrType::tensors:
        list(*a.get<std::vector<Tensor>>(), "tensors", put_tensor);
        break;
      case AttrType::graphs:
        list(*a.get<std::vector<std::shared_ptr<Graph>>>(), "graphs", put_graph);
        break;
      case AttrType::sparse_tensor:
        put_sparse(*a.get<trunnion::Value>());
        break;
      case AttrType::sparse_tensors:
        list(*a.get<std::vector<trunnion::Value>>(), "sparses", put_sparse);
        break;
      case AttrType::tp:
        put_type(*a.get<Type>());
        break;
      case AttrType::type_protos:
        list(*a.get<std::vector<Type>>(), "types", put_type);
        break;
    }
  }

  static Type constant_type(const Tensor& t) {
    return Type::tensor(t.dtype(), SymShape(t.shape().begin(), t.shape().end()));
  }
  std::string tensor(const Tensor& t) const { return text::literal_text(t, options_.max_elements); }

  const PrintOptions& options_;
  std::map<std::string, int> opsets_;
  std::string out_;
};

}  // namespace

std::string print(const Graph& graph, const PrintOptions& options) { return Printer(options).run(graph); }

}  // namespace trunnion::ir
