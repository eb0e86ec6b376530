// Tokenizer (com.microsoft 1): splits strings into characters, at separators, or into what an expression matches.
#include <algorithm>
#include <vector>

#include "base/utf8.h"
#include "ops/op.h"
#include "ops/regex.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

constexpr int64_t kGrain = 16;  // strings in one piece of work
constexpr const char* kStart = "\x02";
constexpr const char* kEnd = "\x03";

using Tokens = std::vector<std::string_view>;

enum class Mode : unsigned char { characters, separators, matches };

struct Params {
  Mode mode = Mode::characters;
  std::vector<std::string> expressions;
  bool mark = false;
  std::string pad;
  int64_t least = 1;  // characters in a token
};

Result<Params> read(const ir::Node& n) {
  Params p{.mark = n.attr("mark", 0) != 0, .pad = n.attr("pad_value", ""), .least = n.attr("mincharnum", 0)};
  for (const char* name : {"mark", "pad_value", "mincharnum"})
    if (!n.has_attr(name)) return invalid_argument("attribute {} is missing", name);
  if (p.least < 1) return invalid_argument("attribute mincharnum is {}, it must be positive", p.least);
  bool characters = false;
  if (n.has_attr("separators")) {
    const auto& separators = n.strings("separators");
    if (separators.empty()) return invalid_argument("attribute separators is an empty list");
    p.expressions.assign(separators.begin(), separators.end());
    p.mode = Mode::separators;
    characters = separators.size() == 1 && separators[0].empty();
  } else {
    p.expressions = {n.attr("tokenexp", "")};
    if (p.expressions[0].empty()) return invalid_argument("it has neither attribute separators nor attribute tokenexp");
    p.mode = Mode::matches;
    characters = p.expressions[0] == ".";
  }
  if (characters) p.mode = Mode::characters;
  if (characters && p.least > 1)
    return invalid_argument("attribute mincharnum is {}; where every character is a token it must be 1", p.least);
  return p;
}

// As ONNX Runtime states it: another dimension for the tokens, but none for an input without strings.
Status infer(const ir::Node&, ir::Facts& f) {
  f.set(0, DType::string);
  if (!f.has_rank(0)) return {};
  SymShape y = f.in(0).shape();
  if (y.size() != 1 && y.size() != 2)
    return invalid_argument("input 0 has rank {}, it must have shape [C] or [N, C]", y.size());
  if (std::any_of(y.begin(), y.end(), [](const Dim& d) { return d.is_int(0); }))
    y.back() = 0;
  else
    y.push_back({});
  f.set(0, DType::string, std::move(y));
  return {};
}

int64_t characters_in(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
}

class Tokenizer final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    std::unique_ptr<Tokenizer> k(new Tokenizer);
    TRN_ASSIGN(k->p_, read(n));
    const char* attribute = k->p_.mode == Mode::separators ? "separators" : "tokenexp";
    for (const std::string& expression : k->p_.expressions) {
      if (k->p_.mode == Mode::characters) break;
      TRN_ASSIGN(Regex regex, Regex::compile(attribute, expression, Regex::Prefer::longest));
      k->regexes_.push_back(std::move(regex));
    }
    return std::unique_ptr<Kernel>(std::move(k));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView& x = ctx.in(0);
    if (x.rank != 1 && x.rank != 2)
      return invalid_argument("input 0 has rank {}, it must have shape [C] or [N, C]", x.rank);
    const std::string* texts = x.as<const std::string>();
    for (int64_t i = 0; i < x.count; ++i)
      if (const size_t at = utf8_error_offset(texts[i]); at != std::string_view::npos)
        return invalid_argument("input 0 is no valid UTF-8 at element {}, byte {}", i, at);
    std::vector<Tokens> rows(static_cast<size_t>(x.count));
    ctx.parallel_for(x.count, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) rows[static_cast<size_t>(i)] = split(texts[i]);
    });
    size_t most = 0;
    for (const Tokens& row : rows) most = std::max(most, row.size());
    if (most > 0 && p_.mark) most += 2;

    Shape dims(x.shape());
    if (x.count == 0)
      dims.back() = 0;
    else
      dims.push_back(static_cast<int64_t>(most));
    TRN_ASSIGN(TensorView * y, ctx.allocate_output(0, DType::string, dims));
    if (most == 0) return {};
    std::string* to = y->as<std::string>();
    for (const Tokens& row : rows) {
      std::string* const next = to + most;
      if (p_.mark) *to++ = kStart;
      for (std::string_view token : row) *to++ = token;
      if (p_.mark) *to++ = kEnd;
      std::fill(to, next, p_.pad);
      to = next;
    }
    return {};
  }

 private:
  Tokens split(std::string_view text) const {
    Tokens tokens;
    if (p_.mode == Mode::characters) {
      for (size_t n = 0; !text.empty(); text.remove_prefix(n)) {
        n = utf8_character_bytes(text);
        tokens.push_back(text.substr(0, n));
      }
      return tokens;
    }
    if (p_.mode == Mode::matches) {
      add_matches(text, tokens);
      return tokens;
    }
    tokens.push_back(text);
    for (const Regex& separator : regexes_) {
      Tokens parts;
      for (std::string_view token : tokens) cut(token, separator, parts);
      tokens = std::move(parts);
    }
    return tokens;
  }

  void add(std::string_view token, Tokens& to) const {
    if (characters_in(token) >= p_.least) to.push_back(token);
  }

  // Where the search goes on behind a match that took nothing: one character further, which is in no token then.
  static size_t after(std::string_view text, size_t at) {
    return at + std::max<size_t>(1, utf8_character_bytes(text.substr(at)));
  }

  void cut(std::string_view text, const Regex& separator, Tokens& to) const {
    size_t from = 0;
    while (from <= text.size()) {
      const auto match = separator.find(text, from);
      if (!match) {
        add(text.substr(from), to);
        return;
      }
      add(text.substr(from, match->first - from), to);
      from = match->second > match->first ? match->second : after(text, match->first);
    }
  }

  void add_matches(std::string_view text, Tokens& to) const {
    if (characters_in(text) < p_.least) return;
    size_t from = 0;
    while (from <= text.size()) {
      const auto match = regexes_[0].find(text, from);
      if (!match) return;
      const size_t before = to.size();
      add(text.substr(match->first, match->second - match->first), to);
      from = to.size() > before ? match->second : after(text, match->first);
    }
  }

  Params p_;
  std::vector<Regex> regexes_;
};

constexpr OpDef kDefs[] = {{"Tokenizer",
                            infer,
                            cpu<Tokenizer>(DType::string),
                            {.reviewed = 1, .dynamic = true},
                            "com.microsoft",
                            "com.microsoft::Tokenizer 1 (X:T) -> (Y:T) {mark!:i, mincharnum!:i, pad_value!:s, "
                            "separators:ss, tokenexp:s} T=string"}};

}  // namespace

TRUNNION_OPS(tokenizer, kDefs);

}  // namespace trunnion::ops
