#include "schema/row.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"

namespace trunnion::schema {
namespace {

using Form = TypeSet::Form;

struct NamedTypes {
  std::string_view name;
  DTypes types;
};

// float6 codes have a bit here before the engine can hold such tensors.
constexpr std::string_view kElementNames[] = {
    "",           "f32", "u8",  "i8",     "u16",    "i16",  "i32",  "i64",      "string",     "bool",
    "f16",        "f64", "u32", "u64",    "c64",    "c128", "bf16", "f8e4m3fn", "f8e4m3fnuz", "f8e5m2",
    "f8e5m2fnuz", "u4",  "i4",  "f4e2m1", "f8e8m0", "u2",   "i2",   "f6e2m3",   "f6e3m2"};

constexpr DTypes kHalfToDouble = DType::f16 | DType::f32 | DType::f64;
constexpr DTypes kNum = kHalfToDouble | kIntegers;
constexpr NamedTypes kGroups[] = {
    {"float", kHalfToDouble},
    {"int", kSignedIntegers},
    {"uint", kUnsignedIntegers},
    {"num", kNum},
    {"basic", kNum | DType::boolean | DType::string | kComplex},
    {"f8", DType::f8e4m3fn | DType::f8e4m3fnuz | DType::f8e5m2 | DType::f8e5m2fnuz},
};

struct NamedKind {
  std::string_view name;
  AttrType type;
};
constexpr NamedKind kKinds[] = {
    {"f", AttrType::f},
    {"i", AttrType::i},
    {"s", AttrType::s},
    {"t", AttrType::t},
    {"g", AttrType::g},
    {"fs", AttrType::floats},
    {"is", AttrType::ints},
    {"ss", AttrType::strings},
    {"ts", AttrType::tensors},
    {"gs", AttrType::graphs},
    {"st", AttrType::sparse_tensor},
    {"sts", AttrType::sparse_tensors},
    {"tp", AttrType::tp},
    {"tps", AttrType::type_protos},
};

std::optional<DTypes> elements_named(std::string_view name) {
  for (const auto& g : kGroups)
    if (g.name == name) return g.types;
  for (size_t i = 1; i < std::size(kElementNames); ++i)
    if (kElementNames[i] == name) return DTypes::from_bits(1u << i);
  return std::nullopt;
}

class RowParser {
 public:
  explicit RowParser(std::string_view text) : text_(text) {}

  Result<Schema> parse() {
    TRN_TRY(head());
    TRN_TRY(params(s_.inputs));
    if (!eat('-') || !eat('>')) return fail("'->'");
    TRN_TRY(params(s_.outputs));
    if (eat('{')) TRN_TRY(attributes());
    while (!at_end()) TRN_TRY(constraint());
    TRN_TRY(resolve(s_.inputs, 0));
    TRN_TRY(resolve(s_.outputs, s_.inputs.size()));
    std::sort(s_.attributes.begin(), s_.attributes.end(), [](const Attr& a, const Attr& b) { return a.name < b.name; });
    count(s_.inputs, s_.min_inputs, s_.max_inputs);
    count(s_.outputs, s_.min_outputs, s_.max_outputs);
    return std::move(s_);
  }

 private:
  Status fail(std::string_view wanted) const {
    return invalid_argument("signature '{}': expected {} at column {}", text_, wanted, pos_ + 1);
  }
  void skip_spaces() {
    while (pos_ < text_.size() && text_[pos_] == ' ') ++pos_;
  }
  bool at_end() {
    skip_spaces();
    return pos_ == text_.size();
  }
  bool eat(char c) {
    skip_spaces();
    if (pos_ == text_.size() || text_[pos_] != c) return false;
    ++pos_;
    return true;
  }
  // Letters, digits, '_' and '.'; empty when there is none.
  std::string_view word() {
    skip_spaces();
    const size_t begin = pos_;
    while (pos_ < text_.size()) {
      const char c = text_[pos_];
      const bool part =
          (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
      if (!part) break;
      ++pos_;
    }
    return text_.substr(begin, pos_ - begin);
  }
  template <class T>
  bool number(T& out) {
    skip_spaces();
    const auto [end, code] = std::from_chars(text_.data() + pos_, text_.data() + text_.size(), out);
    if (code != std::errc()) return false;
    pos_ = static_cast<size_t>(end - text_.data());
    return true;
  }

  Status head() {
    s_.op = word();
    if (eat(':')) {
      if (!eat(':')) return fail("'::'");
      s_.domain = s_.op == "ai.onnx" ? std::string_view() : s_.op;
      s_.op = word();
    }
    if (s_.op.empty()) return fail("an operator name");
    if (!number(s_.since) || s_.since < 1) return fail("a version");
    for (std::string_view flag = word(); !flag.empty(); flag = word()) {
      if (flag == "deprecated")
        s_.deprecated = true;
      else if (flag == "experimental")
        s_.experimental = true;
      else if (flag == "function")
        s_.function = true;
      else if (flag == "context_function")
        s_.context_function = true;
      else
        return fail("a flag or '('");
    }
    return {};
  }

  Status params(std::vector<Param>& out) {
    if (!eat('(')) return fail("'('");
    if (eat(')')) return {};
    do {
      Param p;
      p.name = word();
      if (p.name.empty()) return fail("a parameter name");
      if (eat('?')) {
        p.kind = Param::Kind::optional;
      } else if (eat('*')) {
        p.kind = Param::Kind::variadic;
        p.min_arity = 0;
      } else if (eat('+')) {
        p.kind = Param::Kind::variadic;
        if (pos_ < text_.size() && text_[pos_] >= '0' && text_[pos_] <= '9' && !number(p.min_arity))
          return fail("a count");
      }
      if (p.kind == Param::Kind::variadic) p.homogeneous = !eat('~');
      if (!eat(':')) return fail("':'");
      skip_spaces();
      const bool constraint = pos_ < text_.size() && text_[pos_] >= 'A' && text_[pos_] <= 'Z';
      type_names_.push_back(constraint ? word() : std::string_view());
      if (!constraint) TRN_TRY(types(p.types, 0));
      out.push_back(p);
    } while (eat(','));
    return eat(')') ? Status{} : fail("')'");
  }

  Status attributes() {
    do {
      Attr a;
      a.name = eat('*') ? std::string_view("*") : word();
      if (a.name.empty()) return fail("an attribute name");
      a.required = eat('!');
      if (!eat(':')) return fail("':'");
      const std::string_view kind = word();
      for (const auto& k : kKinds)
        if (k.name == kind) a.type = k.type;
      if (a.type == AttrType::undefined) return fail("an attribute kind");
      if (eat('=')) {
        a.has_default = true;
        TRN_TRY(default_value(a));
      }
      s_.attributes.push_back(std::move(a));
    } while (eat(','));
    return eat('}') ? Status{} : fail("'}'");
  }

  bool quoted(std::string_view& out) {
    if (!eat('\'')) return false;
    const size_t end = text_.find('\'', pos_);
    if (end == std::string_view::npos) return false;
    out = text_.substr(pos_, end - pos_);
    pos_ = end + 1;
    return true;
  }

  template <class T, class Read>
  Status list(std::vector<T>& out, Read read) {
    if (!eat('[')) return fail("'['");
    if (eat(']')) return {};
    do {
      T value{};
      if (!read(value)) return fail("a list element");
      out.push_back(value);
    } while (eat(','));
    return eat(']') ? Status{} : fail("']'");
  }

  Status default_value(Attr& a) {
    switch (a.type) {
      case AttrType::f:
        return number(a.f) ? Status{} : fail("a number");
      case AttrType::i:
        return number(a.i) ? Status{} : fail("an integer");
      case AttrType::s:
        return quoted(a.s) ? Status{} : fail("a string in single quotes");
      case AttrType::floats:
        return list(a.floats, [this](float& v) { return number(v); });
      case AttrType::ints:
        return list(a.ints, [this](int64_t& v) { return number(v); });
      case AttrType::strings:
        return list(a.strings, [this](std::string_view& v) { return quoted(v); });
      default:
        return fail("no default for this kind");
    }
  }

  Status constraint() {
    Constraint c;
    c.name = word();
    if (c.name.empty()) return fail("a constraint");
    if (!eat('=')) return fail("'='");
    TRN_TRY(types(c.types, 0));
    s_.constraints.push_back(c);
    return {};
  }

  Status types(TypeSet& out, int depth) {
    do TRN_TRY(type(out, depth));
    while (eat('|'));
    return {};
  }

  Status type(TypeSet& out, int depth) {
    const std::string_view name = word();
    if (const auto elements = elements_named(name)) {
      out.add(Form::tensor, *elements);
      return {};
    }
    if (name == "map") {
      if (!eat('(')) return fail("'('");
      const std::string_view key = word();
      if (key != "i64" && key != "string") return fail("i64 or string as a map's key");
      if (!eat(',')) return fail("','");
      TypeSet value;
      TRN_TRY(types(value, 2));
      out.add(key == "i64" ? Form::map_int64 : Form::map_string, value.tensors());
      return eat(')') ? Status{} : fail("')'");
    }
    if ((name != "seq" && name != "opt" && name != "sparse") || depth > 1) return fail("a type");
    if (!eat('(')) return fail("'('");
    TypeSet in;
    TRN_TRY(types(in, depth + 1));
    if (name == "seq") {
      out.add(Form::sequence, in.tensors());
      out.add(Form::sequence_map_int64, in.of(Form::map_int64));
      out.add(Form::sequence_map_string, in.of(Form::map_string));
    } else if (name == "opt") {
      out.add(Form::optional, in.tensors());
      out.add(Form::optional_sequence, in.of(Form::sequence));
    } else {
      out.add(Form::sparse_tensor, in.tensors());
    }
    return eat(')') ? Status{} : fail("')'");
  }

  // Binds parameters to constraints; `first` is the index of their first entry in type_names_.
  Status resolve(std::vector<Param>& params, size_t first) {
    for (size_t i = 0; i < params.size(); ++i) {
      const std::string_view name = type_names_[first + i];
      if (name.empty()) continue;
      for (size_t c = 0; c < s_.constraints.size() && params[i].constraint < 0; ++c)
        if (s_.constraints[c].name == name) params[i].constraint = static_cast<int>(c);
      if (params[i].constraint < 0)
        return invalid_argument("signature '{}': parameter '{}' has type {}, which is not defined", text_,
                                params[i].name, name);
      params[i].types = s_.constraints[params[i].constraint].types;
    }
    return {};
  }

  static void count(const std::vector<Param>& params, int& least, int& most) {
    least = 0;
    most = static_cast<int>(params.size());
    for (int i = 0; i < static_cast<int>(params.size()); ++i) {
      const Param& p = params[i];
      if (p.kind == Param::Kind::single) least = i + 1;
      if (p.kind == Param::Kind::variadic) {
        least = i + p.min_arity;
        most = Schema::kUnbounded;
      }
    }
  }

  std::string_view text_;
  size_t pos_ = 0;
  Schema s_;
  std::vector<std::string_view> type_names_;  // constraint name of each parameter, inputs first; empty: fixed type
};

}  // namespace

Result<Schema> parse_row(std::string_view text) { return RowParser(text).parse(); }

}  // namespace trunnion::schema
