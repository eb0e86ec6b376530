// Regular expressions by RE2, as the table shows them.
#pragma once
#include "extras/extras.h"

namespace trunnion::extras {

TrunnionRegex* compile(const char* pattern, size_t bytes, int32_t longest, TrunnionExtrasError* error);
void release(TrunnionRegex* regex);
int32_t full_match(const TrunnionRegex* regex, const char* text, size_t bytes);
int32_t find(const TrunnionRegex* regex, const char* text, size_t bytes, size_t from, size_t* begin, size_t* end);

}  // namespace trunnion::extras
