// Types and dimensions of the text form.
#include "ir/text.h"
#include "ir/text_data.h"

namespace trunnion::ir::text {
namespace {

bool is_plain_symbol(std::string_view s) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (s.empty() || !letter(s[0]) || s == "max" || s == "min") return false;
  for (const char c : s)
    if (!letter(c) && !(c >= '0' && c <= '9') && c != '.') return false;
  return true;
}

// Sums of products; '/' is floor division, as Dim::text writes it.
class DimParser {
 public:
  explicit DimParser(Lexer& lexer) : lex_(lexer) {}

  Result<Dim> sum(int depth) {
    if (depth > kMaxDepth) return lex_.error_at(lex_.peek().at, "the expression is nested too deeply");
    TRN_ASSIGN(Dim left, product(depth));
    for (;;) {
      if (lex_.accept("+")) {
        TRN_ASSIGN(Dim right, product(depth));
        left = left + right;
      } else if (lex_.accept("-")) {
        TRN_ASSIGN(Dim right, product(depth));
        left = left - right;
      } else if (lex_.peek().kind == Token::Kind::number && lex_.peek().text[0] == '-') {  // N -1
        TRN_ASSIGN(Dim right, product(depth));
        left = left + right;
      } else {
        return left;
      }
    }
  }

 private:
  Result<Dim> product(int depth) {
    TRN_ASSIGN(Dim left, factor(depth));
    for (;;) {
      if (lex_.accept("*")) {
        TRN_ASSIGN(Dim right, factor(depth));
        left = left * right;
      } else if (lex_.accept("/")) {
        TRN_ASSIGN(Dim right, factor(depth));
        left = floor_div(left, right);
      } else {
        return left;
      }
    }
  }

  Result<Dim> factor(int depth) {
    if (depth > kMaxDepth) return lex_.error_at(lex_.peek().at, "the expression is nested too deeply");
    if (lex_.accept("?")) return Dim::unknown();
    if (lex_.accept("-")) {
      TRN_ASSIGN(Dim d, factor(depth + 1));
      return Dim(0) - d;
    }
    if (lex_.accept("(")) {
      TRN_ASSIGN(Dim d, sum(depth + 1));
      TRN_TRY(lex_.expect(")", "the expression"));
      return d;
    }
    if (lex_.peek().kind == Token::Kind::number) {
      TRN_ASSIGN(int64_t value, parse_int(lex_));
      return Dim(value);
    }
    if (lex_.peek().kind == Token::Kind::string) return Dim::symbol(lex_.take().value);
    if (lex_.peek().kind != Token::Kind::word) return lex_.unexpected("a dimension");
    const Token word = lex_.take();
    const bool is_max = word.text == "max";
    if ((!is_max && word.text != "min") || !lex_.accept("(")) return Dim::symbol(word.text);
    TRN_ASSIGN(Dim a, sum(depth + 1));
    TRN_TRY(lex_.expect(",", "the first operand"));
    TRN_ASSIGN(Dim b, sum(depth + 1));
    TRN_TRY(lex_.expect(")", "the second operand"));
    return is_max ? dim_max(a, b) : dim_min(a, b);
  }

  Lexer& lex_;
};

}  // namespace

std::string dim_text(const Dim& dim) {
  if (dim.is_unknown() || dim.is_int()) return dim.text();
  if (const auto symbol = dim.symbol_name()) return is_plain_symbol(*symbol) ? std::string(*symbol) : quoted(*symbol);
  // Symbols in an expression may have names that read as something else: such an expression becomes one symbol.
  const std::string text = dim.text();
  Lexer lexer(text);
  lexer.set_dims(true);
  const auto again = DimParser(lexer).sum(0);
  const bool same = again.ok() && lexer.peek().kind == Token::Kind::end && *again == dim;
  return same ? text : quoted(text);
}

bool begins_type(const Token& token) {
  if (token.kind != Token::Kind::word) return false;
  for (std::string_view w : {"seq", "map", "optional", "sparse_tensor", "opaque", "undefined"})
    if (token.text == w) return true;
  return dtype_from_name(token.text).has_value();
}

Result<Type> parse_type(Lexer& lex, int depth) {
  if (depth > kMaxDepth) return lex.error_at(lex.peek().at, "the type is nested too deeply");
  if (!begins_type(lex.peek())) return lex.unexpected("a type");
  const Token word = lex.take();
  const auto inner = [&]() -> Result<Type> {
    TRN_TRY(lex.expect("(", word.text));
    Type element;
    if (!lex.accept("?")) {
      TRN_ASSIGN(element, parse_type(lex, depth + 1));
    }
    TRN_TRY(lex.expect(")", "the element type"));
    return element;
  };
  if (word.text == "seq" || word.text == "optional") {
    TRN_ASSIGN(Type element, inner());
    return word.text == "seq" ? Type::sequence(std::move(element)) : Type::optional_of(std::move(element));
  }
  if (word.text == "sparse_tensor") {
    TRN_ASSIGN(Type t, inner());
    t.kind = Type::Kind::sparse_tensor;
    return t;
  }
  if (word.text == "opaque") {
    Type t;
    t.kind = Type::Kind::opaque;
    return t;
  }
  if (word.text == "map") {
    TRN_TRY(lex.expect("(", "map"));
    const auto key = lex.peek().kind == Token::Kind::word ? dtype_from_name(lex.peek().text) : std::nullopt;
    if (!key) return lex.unexpected("the type of the map's keys");
    lex.take();
    TRN_TRY(lex.expect(",", "the key type"));
    Type value;
    if (!lex.accept("?")) {
      TRN_ASSIGN(value, parse_type(lex, depth + 1));
    }
    TRN_TRY(lex.expect(")", "the value type"));
    return Type::map(*key, std::move(value));
  }
  Type t = Type::tensor(dtype_from_name(word.text).value_or(DType::undefined));
  if (!lex.peek().is("[")) return t;
  lex.take();
  lex.set_dims(true);
  t.shape.emplace();
  if (!lex.peek().is("]")) {
    do {
      auto d = DimParser(lex).sum(0);
      if (!d.ok()) return d.status();
      t.shape->push_back(std::move(d).value());
    } while (lex.accept(","));
  }
  if (!lex.peek().is("]")) return lex.unexpected("',' or ']' after the dimension");
  lex.set_dims(false);
  lex.take();
  return t;
}

}  // namespace trunnion::ir::text

namespace trunnion::ir {

std::string print_type(const Type& type) {
  const std::string inside = type.inner ? print_type(*type.inner) : "";
  const std::string element = inside.empty() ? "?" : inside;
  switch (type.kind) {
    case Type::Kind::unknown:
      return "";
    case Type::Kind::opaque:
      return "opaque";
    case Type::Kind::sequence:
      return "seq(" + element + ")";
    case Type::Kind::optional:
      return "optional(" + element + ")";
    case Type::Kind::map:
      return fmt::format("map({},{})", dtype_name(type.dtype), element);
    case Type::Kind::tensor:
    case Type::Kind::sparse_tensor:
      break;
  }
  std::string out(dtype_name(type.dtype));
  if (type.shape) {
    out += '[';
    for (size_t i = 0; i < type.shape->size(); ++i) out += (i ? "," : "") + text::dim_text((*type.shape)[i]);
    out += ']';
  }
  return type.kind == Type::Kind::sparse_tensor ? "sparse_tensor(" + out + ")" : out;
}

}  // namespace trunnion::ir
