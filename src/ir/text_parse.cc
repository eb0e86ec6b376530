#include <map>

#include "ir/text.h"
#include "ir/text_data.h"
#include "schema/schema.h"

namespace trunnion::ir {
namespace {

using text::begins_type;
using text::Lexer;
using text::Token;

struct Scope {
  Graph* graph;
  Scope* outer;
};

// A value of this graph, or of a graph around it through captures.
Value* look_up(Scope& scope, const std::string& name) {
  if (Value* v = scope.graph->find(name)) return v;
  Value* outer = scope.outer ? look_up(*scope.outer, name) : nullptr;
  return outer ? scope.graph->capture(outer) : nullptr;
}

class Parser {
 public:
  explicit Parser(std::string_view source) : lex_(source) {}

  Result<std::unique_ptr<Graph>> run() {
    if (lex_.peek().is("<")) TRN_TRY(header());
    auto g = std::make_unique<Graph>();
    Scope scope{g.get(), nullptr};
    TRN_ASSIGN(g->name, name("the graph's name"));
    TRN_TRY(graph(scope, 0));
    if (lex_.peek().kind != Token::Kind::end) return lex_.unexpected("the end of the text");
    return g;
  }

 private:
  Result<std::string> name(std::string_view what) {
    if (lex_.peek().kind == Token::Kind::string) return lex_.take().value;
    if (lex_.peek().kind == Token::Kind::word) return std::string(lex_.take().text);
    return lex_.unexpected(what);
  }

  Result<int> opset() {
    const size_t at = lex_.peek().at;
    TRN_ASSIGN(const int64_t v, text::parse_int(lex_));
    if (v < 1 || v > INT32_MAX) return lex_.error_at(at, fmt::format("{} is no opset version", v));
    return static_cast<int>(v);
  }

  Status header() {
    lex_.take();
    if (!lex_.peek().is_word("opset")) return lex_.unexpected("'opset'");
    lex_.take();
    TRN_TRY(lex_.expect(":", "opset"));
    do {
      TRN_ASSIGN(std::string domain, name("a domain"));
      TRN_ASSIGN(opsets_[domain == "ai.onnx" ? std::string() : domain], opset());
    } while (lex_.accept(","));
    return lex_.expect(">", "the opsets");
  }

  Status new_name(const Scope& scope, const std::string& wanted, size_t at) {
    if (wanted.empty()) return lex_.error_at(at, "the name of a value is empty");
    if (scope.graph->find(wanted)) return lex_.error_at(at, fmt::format("'{}' is defined twice", wanted));
    return {};
  }

  // After the name: [captures] (inputs) => (outputs) { statements }
  Status graph(Scope& scope, int depth) {
    Graph& g = *scope.graph;
    if (depth > text::kMaxDepth) return lex_.error_at(lex_.peek().at, "bodies are nested too deeply");
    if (lex_.peek().is("[")) TRN_TRY(captures(scope));
    TRN_TRY(lex_.expect("(", "the graph's name"));
    if (!lex_.peek().is(")")) {
      do {
        TRN_TRY(input(scope));
      } while (lex_.accept(","));
    }
    TRN_TRY(lex_.expect(")", "the inputs"));
    TRN_TRY(lex_.expect("=>", "the inputs"));
    TRN_TRY(lex_.expect("(", "'=>'"));
    struct Output {
      std::string name;
      Type type;
      size_t at;
    };
    std::vector<Output> outputs;
    if (!lex_.peek().is(")")) {
      do {
        Output& o = outputs.emplace_back();
        if (begins_type(lex_.peek())) {
          TRN_ASSIGN(o.type, text::parse_type(lex_));
        }
        o.at = lex_.peek().at;
        TRN_ASSIGN(o.name, name("the name of an output"));
      } while (lex_.accept(","));
    }
    TRN_TRY(lex_.expect(")", "the outputs"));
    TRN_TRY(lex_.expect("{", "the outputs"));
    while (!lex_.peek().is("}")) TRN_TRY(statement(scope, depth));
    lex_.take();
    for (Output& o : outputs) {
      Value* v = g.find(o.name);
      if (!v) return lex_.error_at(o.at, fmt::format("the output '{}' is not defined in the graph", o.name));
      if (v->producer() && o.type.kind != Type::Kind::unknown) v->fact.type = std::move(o.type);
      g.add_output(v);
    }
    return {};
  }

  Status captures(Scope& scope) {
    lex_.take();
    do {
      const size_t at = lex_.peek().at;
      TRN_ASSIGN(const std::string inner, name("the name of a captured value"));
      TRN_TRY(new_name(scope, inner, at));
      std::string outer = inner;
      if (lex_.accept("=")) {
        TRN_ASSIGN(outer, name("the name of an outer value"));
      }
      Value* v = scope.outer ? look_up(*scope.outer, outer) : nullptr;
      if (!v) return lex_.error_at(at, fmt::format("there is no outer value '{}' to capture", outer));
      scope.graph->rename(scope.graph->capture(v), inner);
    } while (lex_.accept(","));
    return lex_.expect("]", "the captures");
  }

  Status input(Scope& scope) {
    Fact fact;
    const size_t type_at = lex_.peek().at;
    if (begins_type(lex_.peek())) {
      TRN_ASSIGN(fact.type, text::parse_type(lex_));
    }
    const size_t at = lex_.peek().at;
    TRN_ASSIGN(const std::string given, name("the name of an input"));
    TRN_TRY(new_name(scope, given, at));
    Type type = fact.type;
    Value* v = scope.graph->add_input(given, std::move(fact));
    if (!lex_.accept("=")) return {};
    if (begins_type(lex_.peek())) {
      TRN_ASSIGN(type, text::parse_type(lex_));
    }
    TRN_ASSIGN(Tensor t, text::parse_literal(lex_, type, type_at));
    scope.graph->set_constant(v, std::move(t));
    return {};
  }

  struct Target {
    std::string name;
    Type type;
    size_t at = 0, type_at = 0;
  };

  Result<Target> target(const Scope& scope) {
    Target t;
    t.type_at = lex_.peek().at;
    if (begins_type(lex_.peek())) {
      TRN_ASSIGN(t.type, text::parse_type(lex_));
    }
    t.at = lex_.peek().at;
    if (lex_.peek().is_word("_")) {
      lex_.take();
      return t;
    }
    TRN_ASSIGN(t.name, name("the name of a value"));
    TRN_TRY(new_name(scope, t.name, t.at));
    return t;
  }

  Status statement(Scope& scope, int depth) {
    std::string node_name;
    std::vector<Target> targets;
    if (lex_.accept("[")) {
      TRN_ASSIGN(node_name, name("the node's name"));
      TRN_TRY(lex_.expect("]", "the node's name"));
    }
    if (lex_.accept("(")) {
      TRN_TRY(lex_.expect(")", "'('"));
    } else {
      do {
        TRN_ASSIGN(Target t, target(scope));
        for (const Target& other : targets)
          if (!t.name.empty() && other.name == t.name)
            return lex_.error_at(t.at, fmt::format("'{}' is defined twice", t.name));
        targets.push_back(std::move(t));
      } while (lex_.accept(","));
    }
    TRN_TRY(lex_.expect("=", "the name of a value"));
    const Token& next = lex_.peek();
    const bool literal = next.is("{") || next.is("...") || next.kind == Token::Kind::number || next.is_word("fill") ||
                         next.is_word("random") || next.is_word("raw") || next.is_word("inf") || next.is_word("nan") ||
                         next.is_word("true") || next.is_word("false") ||
                         (next.kind == Token::Kind::string && targets.size() == 1 &&
                          targets[0].type.dtype == DType::string && targets[0].type.is_tensor());
    if (!literal) return node(scope, depth, node_name, targets);
    if (targets.size() != 1 || targets[0].name.empty() || !node_name.empty()) return lex_.unexpected("an operator");
    TRN_ASSIGN(Tensor t, text::parse_literal(lex_, targets[0].type, targets[0].type_at));
    scope.graph->add_constant(targets[0].name, std::move(t));
    return {};
  }

  struct Op {
    std::string domain, type, overload;
    int opset = 0;
  };

  // domain::Op:overload@opset, or the same with each part quoted.
  Result<Op> op() {
    Op o;
    if (lex_.peek().kind == Token::Kind::string) {
      o.domain = lex_.take().value;
      TRN_TRY(lex_.expect("::", "the domain"));
      TRN_ASSIGN(o.type, name("an operator"));
      if (lex_.accept(":")) {
        TRN_ASSIGN(o.overload, name("the overload's name"));
      }
    } else if (lex_.peek().kind == Token::Kind::word) {
      std::string_view rest = lex_.take().text;
      if (const auto at = rest.find("::"); at != std::string_view::npos) {
        o.domain = rest.substr(0, at);
        rest = rest.substr(at + 2);
      }
      const auto colon = rest.find(':');
      o.type = rest.substr(0, colon);
      if (colon != std::string_view::npos) o.overload = rest.substr(colon + 1);
    } else {
      return lex_.unexpected("an operator or a constant's elements");
    }
    if (o.domain == "ai.onnx") o.domain.clear();
    if (lex_.accept("@")) {
      TRN_ASSIGN(o.opset, opset());
    } else if (const auto it = opsets_.find(o.domain); it != opsets_.end()) {
      o.opset = it->second;
    } else {
      o.opset = std::max(1, schema::newest_opset(o.domain));
    }
    return o;
  }

  Status node(Scope& scope, int depth, const std::string& node_name, const std::vector<Target>& targets) {
    TRN_ASSIGN(const Op o, op());
    std::vector<Attr> attrs;
    if (lex_.accept("<")) {
      const schema::Schema* schema = schema::find(o.domain, o.type, o.opset);
      do {
        const size_t at = lex_.peek().at;
        Attr a;
        TRN_ASSIGN(a.name, name("the name of an attribute"));
        for (const Attr& other : attrs)
          if (other.name == a.name) return lex_.error_at(at, fmt::format("attribute '{}' is given twice", a.name));
        TRN_TRY(lex_.expect("=", "the attribute's name"));
        const auto* expected = schema ? schema->attribute(a.name) : nullptr;
        TRN_TRY(attribute(a, scope, depth, expected ? expected->type : AttrType::undefined));
        attrs.push_back(std::move(a));
      } while (lex_.accept(","));
      TRN_TRY(lex_.expect(">", "the attributes"));
    }
    TRN_TRY(lex_.expect("(", "the operator"));
    std::vector<Value*> inputs;
    if (!lex_.peek().is(")")) {
      do {
        const size_t at = lex_.peek().at;
        if (lex_.peek().is_word("_")) {
          lex_.take();
          inputs.push_back(nullptr);
          continue;
        }
        TRN_ASSIGN(const std::string given, name("the name of an input"));
        Value* v = look_up(scope, given);
        if (!v) return lex_.error_at(at, fmt::format("'{}' is not defined", given));
        inputs.push_back(v);
      } while (lex_.accept(","));
    }
    TRN_TRY(lex_.expect(")", "the inputs"));
    std::vector<std::string_view> names;
    for (const Target& t : targets) {
      if (!t.name.empty()) TRN_TRY(new_name(scope, t.name, t.at));  // the inputs may have captured a value of that name
      names.push_back(t.name);
    }
    Node* n = scope.graph->add_node(o.type, o.domain, o.opset, inputs, names, std::move(attrs), nullptr, node_name);
    scope.graph->set_node_identity(n, node_name, o.overload);
    if (!node_name.empty()) n->origins.push_back(node_name);
    for (size_t i = 0; i < targets.size(); ++i)
      if (Value* v = n->output(static_cast<int>(i))) v->fact.type = targets[i].type;
    return {};
  }

  Result<Tensor> tensor() {
    const size_t at = lex_.peek().at;
    TRN_ASSIGN(const Type type, text::parse_type(lex_));
    return text::parse_literal(lex_, type, at);
  }

  Result<std::shared_ptr<Graph>> body(Scope& scope, int depth, std::string given) {
    auto g = std::make_shared<Graph>();
    g->name = std::move(given);
    Scope inner{g.get(), &scope};
    TRN_TRY(graph(inner, depth + 1));
    return g;
  }

  Result<trunnion::Value> sparse() {
    SparseTensor s;
    TRN_TRY(lex_.expect("(", "sparse"));
    TRN_TRY(lex_.expect("[", "'('"));
    if (!lex_.peek().is("]")) {
      do {
        TRN_ASSIGN(const int64_t d, text::parse_int(lex_));
        s.dense_shape.push_back(d);
      } while (lex_.accept(","));
    }
    TRN_TRY(lex_.expect("]", "the dimensions"));
    TRN_TRY(lex_.expect(",", "the dimensions"));
    TRN_ASSIGN(s.values, tensor());
    TRN_TRY(lex_.expect(",", "the values"));
    TRN_ASSIGN(s.indices, tensor());
    TRN_TRY(lex_.expect(")", "the indices"));
    return trunnion::Value(std::move(s));
  }

  Status attribute(Attr& a, Scope& scope, int depth, AttrType expected) {
    if (lex_.peek().is("[")) return list(a.data, scope, depth, expected);
    if (lex_.peek().is_word("ref")) {
      lex_.take();
      TRN_TRY(lex_.expect("(", "ref"));
      TRN_ASSIGN(a.ref, name("the name of the function's attribute"));
      return lex_.expect(")", "the name");
    }
    if (lex_.peek().is_word("none")) {
      lex_.take();
      return {};
    }
    constexpr std::pair<std::string_view, AttrType> kEmpty[] = {
        {"ints", AttrType::ints},        {"floats", AttrType::floats}, {"strings", AttrType::strings},
        {"tensors", AttrType::tensors},  {"graphs", AttrType::graphs}, {"sparses", AttrType::sparse_tensors},
        {"types", AttrType::type_protos}};
    for (const auto& [word, type] : kEmpty)
      if (lex_.peek().is_word(word)) {
        lex_.take();
        if (!lex_.peek().is("[")) return lex_.unexpected("'[' of an empty list");
        return list(a.data, scope, depth, type);
      }
    TRN_ASSIGN(a.data, item(scope, depth, expected == AttrType::f));
    return {};
  }

  // One value; integers become floats where floats are wanted.
  Result<Attr::Data> item(Scope& scope, int depth, bool as_float) {
    const Token& t = lex_.peek();
    if (t.kind == Token::Kind::number || t.is_word("inf") || t.is_word("nan")) {
      const bool integer = t.kind == Token::Kind::number && t.text.find_first_of(".einE") == std::string_view::npos;
      if (integer && !as_float) {
        TRN_ASSIGN(const int64_t i, text::parse_int(lex_));
        return Attr::Data(i);
      }
      TRN_ASSIGN(const float f, text::parse_float(lex_));
      return Attr::Data(f);
    }
    if (t.is_word("type")) {
      lex_.take();
      TRN_TRY(lex_.expect("(", "type"));
      Type type;
      if (!lex_.peek().is(")")) {
        TRN_ASSIGN(type, text::parse_type(lex_));
      }
      TRN_TRY(lex_.expect(")", "the type"));
      return Attr::Data(std::move(type));
    }
    if (t.is_word("sparse")) {
      lex_.take();
      TRN_ASSIGN(trunnion::Value v, sparse());
      return Attr::Data(std::move(v));
    }
    if (begins_type(t)) {
      TRN_ASSIGN(Tensor value, tensor());
      return Attr::Data(std::move(value));
    }
    if (t.kind != Token::Kind::string && t.kind != Token::Kind::word) return lex_.unexpected("the attribute's value");
    const bool word = t.kind == Token::Kind::word;
    TRN_ASSIGN(std::string text, name("the attribute's value"));
    if (!word && !lex_.peek().is("(") && !lex_.peek().is("[")) return Attr::Data(std::move(text));
    TRN_ASSIGN(auto g, body(scope, depth, std::move(text)));
    return Attr::Data(std::move(g));
  }

  template <class List>
  static bool append(Attr::Data& list, Attr::Data& value) {
    using T = typename List::value_type;
    if (!std::holds_alternative<T>(value)) return false;
    if (!std::holds_alternative<List>(list)) {
      if (!std::holds_alternative<std::monostate>(list)) return false;
      list = List{};
    }
    std::get<List>(list).push_back(std::move(std::get<T>(value)));
    return true;
  }

  Status list(Attr::Data& out, Scope& scope, int depth, AttrType expected) {
    const size_t at = lex_.peek().at;
    lex_.take();
    if (lex_.accept("]")) {
      switch (expected) {
        case AttrType::floats:
          out = Attr::Floats{};
          return {};
        case AttrType::ints:
          out = Attr::Ints{};
          return {};
        case AttrType::strings:
          out = Attr::Strings{};
          return {};
        case AttrType::tensors:
          out = std::vector<Tensor>{};
          return {};
        case AttrType::graphs:
          out = std::vector<std::shared_ptr<Graph>>{};
          return {};
        case AttrType::sparse_tensors:
          out = std::vector<trunnion::Value>{};
          return {};
        case AttrType::type_protos:
          out = std::vector<Type>{};
          return {};
        default:
          return lex_.error_at(
              at, "an empty list needs its kind before it: ints[], floats[], strings[], tensors[], graphs[]");
      }
    }
    do {
      const size_t item_at = lex_.peek().at;
      TRN_ASSIGN(Attr::Data value, item(scope, depth, expected == AttrType::floats));
      if (const auto* f = std::get_if<float>(&value);
          f && std::holds_alternative<Attr::Ints>(out)) {  // [1, 2.5] is a list of floats
        const auto ints = std::get<Attr::Ints>(out);
        out = Attr::Floats(ints.begin(), ints.end());
      } else if (const auto* i = std::get_if<int64_t>(&value); i && std::holds_alternative<Attr::Floats>(out)) {
        value = static_cast<float>(*i);
      }
      if (!append<Attr::Floats>(out, value) && !append<Attr::Ints>(out, value) && !append<Attr::Strings>(out, value) &&
          !append<std::vector<Tensor>>(out, value) && !append<std::vector<std::shared_ptr<Graph>>>(out, value) &&
          !append<std::vector<trunnion::Value>>(out, value) && !append<std::vector<Type>>(out, value))
        return lex_.error_at(item_at, "the elements of a list must be of one kind");
    } while (lex_.accept(","));
    return lex_.expect("]", "the list");
  }

  Lexer lex_;
  std::map<std::string, int> opsets_;
};

}  // namespace

Result<std::unique_ptr<Graph>> parse_graph(std::string_view text) { return Parser(text).run(); }

}  // namespace trunnion::ir
