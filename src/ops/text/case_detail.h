// Upper and lower case of UTF-8 text by Unicode's simple mappings: no locale, no mapping that changes the length in
// characters (the sharp s stays).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace trunnion::ops {

uint32_t lower_character(uint32_t c);
uint32_t upper_character(uint32_t c);

// Bytes that are no valid UTF-8 stay as they are.
std::string change_case(std::string_view text, bool upper);

}  // namespace trunnion::ops
