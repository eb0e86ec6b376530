#include "ir/text_lexer.h"

#include <algorithm>

#include "tensor/dtype.h"

namespace trunnion::ir::text {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

constexpr std::string_view kReserved[] = {"_",       "fill",   "random", "raw",      "ref",           "type",
                                          "ints",    "floats", "sparse", "strings",  "tensors",       "graphs",
                                          "sparses", "types",  "none",   "inf",      "nan",           "true",
                                          "false",   "seq",    "map",    "optional", "sparse_tensor", "opaque"};

}  // namespace

bool Lexer::word_char(size_t i) const {
  if (i >= text_.size()) return false;
  const char c = text_[i];
  if (is_letter(c) || is_digit(c) || c == '.') return true;
  if (dims_) return false;
  if (c == '/' || c == '$' || c == '-') return true;
  const auto plain = [&](size_t k) { return k < text_.size() && text_[k] != ':' && word_char(k); };
  return c == ':' && (plain(i + 1) || (i + 1 < text_.size() && text_[i + 1] == ':' && plain(i + 2)));
}

void Lexer::scan() {
  token_ = Token{};
  for (;;) {
    while (next_ < text_.size() && is_space(text_[next_])) ++next_;
    if (next_ >= text_.size() || text_[next_] != '#') break;
    while (next_ < text_.size() && text_[next_] != '\n') ++next_;
  }
  token_.at = next_;
  if (next_ >= text_.size()) return;
  const char c = text_[next_];
  const char d = next_ + 1 < text_.size() ? text_[next_ + 1] : '\0';
  size_t end = next_ + 1;
  if (c == '"') return scan_string();
  if (is_digit(c) || (c == '-' && (is_digit(d) || text_.substr(next_ + 1, 3) == "inf"))) {
    token_.kind = Token::Kind::number;
    if (d == 'i' && c == '-') {
      end = next_ + 4;
    } else {
      while (end < text_.size() &&
             (is_digit(text_[end]) || text_[end] == '.' || text_[end] == 'e' || text_[end] == 'E' ||
              ((text_[end] == '-' || text_[end] == '+') && (text_[end - 1] == 'e' || text_[end - 1] == 'E'))))
        ++end;
    }
  } else if (is_letter(c) || (!dims_ && (c == '/' || c == '$'))) {
    token_.kind = Token::Kind::word;
    while (word_char(end)) ++end;
  } else {
    token_.kind = Token::Kind::punct;
    for (std::string_view longer : {"=>", "::", "..."})
      if (text_.substr(next_, longer.size()) == longer) end = next_ + longer.size();
    if (std::string_view("()[]{}<>=,:@?*+-/.").find(c) == std::string_view::npos) {
      token_.kind = Token::Kind::bad;
      token_.value = fmt::format("'{}' means nothing here", c);
    }
  }
  token_.text = text_.substr(next_, end - next_);
  next_ = end;
}

void Lexer::scan_string() {
  size_t i = next_ + 1;
  token_.kind = Token::Kind::string;
  for (; i < text_.size() && text_[i] != '"'; ++i) {
    if (text_[i] != '\\') {
      token_.value += text_[i];
      continue;
    }
    const char c = ++i < text_.size() ? text_[i] : '\0';
    const int high = i + 1 < text_.size() ? hex_digit(text_[i + 1]) : -1,
              low = i + 2 < text_.size() ? hex_digit(text_[i + 2]) : -1;
    if (c == 'n') {
      token_.value += '\n';
    } else if (c == 't') {
      token_.value += '\t';
    } else if (c == '\\' || c == '"') {
      token_.value += c;
    } else if (c == 'x' && high >= 0 && low >= 0) {
      token_.value += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      token_.kind = Token::Kind::bad;
      token_.value = "an escape in a string is none of \\n \\t \\\\ \\\" \\xHH";
      break;
    }
  }
  if (i >= text_.size()) {
    token_.kind = Token::Kind::bad;
    token_.value = "the string does not end";
  }
  const size_t end = std::min(text_.size(), i + 1);
  token_.text = text_.substr(next_, end - next_);
  next_ = end;
}

Token Lexer::take() {
  Token t = std::move(token_);
  scan();
  return t;
}

bool Lexer::accept(std::string_view punct) {
  if (!token_.is(punct)) return false;
  scan();
  return true;
}

Status Lexer::expect(std::string_view punct, std::string_view after) {
  if (accept(punct)) return {};
  return unexpected(fmt::format("'{}' after {}", punct, after));
}

void Lexer::set_dims(bool on) {
  if (dims_ == on) return;
  dims_ = on;
  next_ = token_.at;
  scan();
}

Status Lexer::error_at(size_t at, std::string_view message) const {
  const auto before = text_.substr(0, at);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const auto start = before.rfind('\n');
  const size_t column = at - (start == std::string_view::npos ? 0 : start + 1) + 1;
  return error(Code::invalid_graph, "line {}, column {}: {}", line, column, message);
}

Status Lexer::unexpected(std::string_view expected) const {
  if (token_.kind == Token::Kind::bad) return error_at(token_.at, token_.value);
  if (token_.kind == Token::Kind::end)
    return error_at(token_.at, fmt::format("expected {}, found the end of the text", expected));
  const auto shown = token_.text.substr(0, 40);
  return error_at(token_.at, fmt::format("expected {}, found {}{}", expected,
                                         token_.kind == Token::Kind::string ? "" : "'", shown) +
                                 (token_.kind == Token::Kind::string ? "" : "'"));
}

bool is_plain_name(std::string_view name) {
  if (name.empty() || !(is_letter(name[0]) || name[0] == '/' || name[0] == '$')) return false;
  Lexer lexer(name);
  if (lexer.peek().kind != Token::Kind::word || lexer.peek().text.size() != name.size()) return false;
  if (std::find(std::begin(kReserved), std::end(kReserved), name) != std::end(kReserved)) return false;
  return !dtype_from_name(name) && name != "undefined";
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (static_cast<unsigned char>(c) < 32 || c == 127) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace trunnion::ir::text
