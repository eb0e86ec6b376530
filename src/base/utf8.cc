#include "base/utf8.h"

#include <cstring>

namespace trunnion {

size_t utf8_character_bytes(std::string_view text) {
  auto at = [&](size_t i) -> unsigned { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  auto follows = [&](size_t i) { return (at(i) & 0xc0) == 0x80; };
  if (text.empty()) return 0;
  unsigned first = at(0), second = at(1);
  if (first < 0x80) return 1;
  if (first < 0xc2) return 0;  // a continuation byte, or an overlong form of ASCII
  if (first < 0xe0) return follows(1) ? 2 : 0;
  if (first < 0xf0) {
    bool overlong = first == 0xe0 && second < 0xa0;
    bool surrogate = first == 0xed && second > 0x9f;
    return follows(1) && follows(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first > 0xf4) return 0;
  bool overlong = first == 0xf0 && second < 0x90;
  bool too_large = first == 0xf4 && second > 0x8f;
  return follows(1) && follows(2) && follows(3) && !overlong && !too_large ? 4 : 0;
}

size_t utf8_error_offset(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    if (text.size() - i >= 8) {  // most text is ASCII
      uint64_t word;
      std::memcpy(&word, text.data() + i, 8);
      if ((word & 0x8080808080808080u) == 0) {
        i += 8;
        continue;
      }
    }
    size_t bytes = utf8_character_bytes(text.substr(i));
    if (bytes == 0) return i;
    i += bytes;
  }
  return std::string_view::npos;
}

}  // namespace trunnion
