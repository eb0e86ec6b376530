// UTF-8 by the Unicode standard: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace trunnion {

// Length in bytes of the character that text begins with, or 0 when it is not valid. 0 for empty text too.
size_t utf8_character_bytes(std::string_view text);

// Offset of the first byte that belongs to no valid character; npos when all is valid.
size_t utf8_error_offset(std::string_view text);

inline bool is_valid_utf8(std::string_view text) { return utf8_error_offset(text) == std::string_view::npos; }

}  // namespace trunnion
