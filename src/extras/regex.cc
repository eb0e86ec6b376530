#include "extras/regex.h"

#include <re2/re2.h>

#include <cstdio>

struct TrunnionRegex {
  TrunnionRegex(re2::StringPiece pattern, const re2::RE2::Options& options) : re(pattern, options) {}
  re2::RE2 re;
};

namespace trunnion::extras {

TrunnionRegex* compile(const char* pattern, size_t bytes, int32_t longest, TrunnionExtrasError* error) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_longest_match(longest != 0);
  auto* regex = new TrunnionRegex(re2::StringPiece(pattern, bytes), options);
  if (regex->re.ok()) return regex;
  std::snprintf(error->text, sizeof(error->text), "%s", regex->re.error().c_str());
  delete regex;
  return nullptr;
}

void release(TrunnionRegex* regex) { delete regex; }

int32_t full_match(const TrunnionRegex* regex, const char* text, size_t bytes) {
  return re2::RE2::FullMatchN(re2::StringPiece(text, bytes), regex->re, nullptr, 0);
}

int32_t find(const TrunnionRegex* regex, const char* text, size_t bytes, size_t from, size_t* begin, size_t* end) {
  re2::StringPiece match;
  if (!regex->re.Match(re2::StringPiece(text, bytes), from, bytes, re2::RE2::UNANCHORED, &match, 1)) return 0;
  *begin = static_cast<size_t>(match.data() - text);
  *end = *begin + match.size();
  return 1;
}

}  // namespace trunnion::extras
