// Tokens of the text form, and the errors that name line and column.
#pragma once
#include <string>
#include <string_view>

#include "base/error.h"

namespace trunnion::ir::text {

struct Token {
  enum class Kind : uint8_t { end, word, string, number, punct, bad };
  Kind kind = Kind::end;
  std::string_view text;  // as it stands in the source
  std::string value;      // strings: decoded. bad: what is wrong
  size_t at = 0;          // offset

  bool is(std::string_view punct) const { return kind == Kind::punct && text == punct; }
  bool is_word(std::string_view word) const { return kind == Kind::word && text == word; }
};

// Words are names: letters, digits and _ . / $ - with ':' inside (a:0, domain::Op). While dimensions are read, words
// have letters, digits, _ and . only, so that expressions need no blanks. '#' begins a comment.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) { scan(); }
  const Token& peek() const { return token_; }
  Token take();
  bool accept(std::string_view punct);
  Status expect(std::string_view punct, std::string_view after);
  void set_dims(bool on);  // also reads the current token anew

  Status error_at(size_t at, std::string_view message) const;
  // "expected X, found 'y'" at the current token.
  Status unexpected(std::string_view expected) const;

 private:
  void scan();
  void scan_string();
  bool word_char(size_t i) const;

  std::string_view text_;
  size_t next_ = 0;
  bool dims_ = false;
  Token token_;
};

// Whether the name can stand in the text without quotes.
bool is_plain_name(std::string_view name);
std::string quoted(std::string_view text);
inline std::string name_text(std::string_view name) { return is_plain_name(name) ? std::string(name) : quoted(name); }

}  // namespace trunnion::ir::text
