// A compiled RE2 expression of libtrunnion_extras.so.
#pragma once
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "ops/extras_library.h"

namespace trunnion::ops {

class Regex {
 public:
  enum class Prefer : bool { first, longest };  // of the alternatives that match at a place

  // `attribute` names what the pattern comes from, for the error.
  static Result<Regex> compile(std::string_view attribute, std::string_view pattern, Prefer prefer) {
    TRN_ASSIGN(const TrunnionExtras* extras, load_extras(TRUNNION_EXTRAS_RE2));
    TrunnionExtrasError fault;
    Regex r;
    r.extras_ = extras;
    r.regex_ = {extras->regex_compile(pattern.data(), pattern.size(), prefer == Prefer::longest, &fault),
                extras->regex_release};
    if (!r.regex_)
      return invalid_argument("attribute {} is '{}', which RE2 refuses: {}", attribute, pattern, fault.text);
    return r;
  }

  bool matches(std::string_view text) const {
    return extras_->regex_full_match(regex_.get(), text.data(), text.size()) != 0;
  }
  // Begin and end of the first match from `from` on.
  std::optional<std::pair<size_t, size_t>> find(std::string_view text, size_t from) const {
    std::pair<size_t, size_t> at;
    if (!extras_->regex_find(regex_.get(), text.data(), text.size(), from, &at.first, &at.second)) return {};
    return at;
  }

 private:
  const TrunnionExtras* extras_ = nullptr;
  std::unique_ptr<TrunnionRegex, void (*)(TrunnionRegex*)> regex_{nullptr, nullptr};
};

}  // namespace trunnion::ops
