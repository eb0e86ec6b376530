// Pieces of JSON, as reports put them together.
#pragma once
#include <string>
#include <string_view>

#include "tensor/type.h"

namespace trunnion::session {

// A string with quotes.
std::string json_text(std::string_view text);

// A list of what `text` makes of the elements.
template <class Range, class F>
std::string json_list(const Range& range, F&& text) {
  std::string s = "[";
  for (const auto& e : range) {
    if (s.size() > 1) s += ',';
    s += text(e);
  }
  return s + "]";
}

// Dimensions as numbers, symbols as texts; null for those that are not known, and where the rank is not.
std::string json_shape(const Type& type);

}  // namespace trunnion::session
