// The exported table. Here stops what the libraries throw when memory runs out.
#include <cstdio>
#include <utility>

#include "extras/image.h"
#include "extras/parts.h"
#include "extras/regex.h"

namespace trunnion::extras {
namespace {

// fn()'s answer, or `otherwise` when it threw.
template <class F, class R>
R guarded(F fn, R otherwise) noexcept {
  try {
    return fn();
  } catch (...) {
    return otherwise;
  }
}

TrunnionRegex* regex_compile(const char* pattern, size_t bytes, int32_t longest, TrunnionExtrasError* error) noexcept {
  *error = {TRUNNION_EXTRAS_RE2, ""};
  const auto work = [&] { return compile(pattern, bytes, longest, error); };
  TrunnionRegex* regex = guarded(work, static_cast<TrunnionRegex*>(nullptr));
  if (!regex && !error->text[0]) std::snprintf(error->text, sizeof(error->text), "not enough memory");
  return regex;
}

int32_t regex_full_match(const TrunnionRegex* regex, const char* text, size_t bytes) noexcept {
  return guarded([&] { return full_match(regex, text, bytes); }, int32_t{0});
}

int32_t regex_find(const TrunnionRegex* regex, const char* text, size_t bytes, size_t from, size_t* begin,
                   size_t* end) noexcept {
  return guarded([&] { return find(regex, text, bytes, from, begin, end); }, int32_t{0});
}

TrunnionExtrasResult image_decode(const TrunnionImage* image, TrunnionExtrasError* error) noexcept {
  *error = {TRUNNION_EXTRAS_PARTS, ""};
  const TrunnionExtrasResult result = guarded([&] { return decode_image(*image, *error); }, TRUNNION_EXTRAS_FAILED);
  if (result == TRUNNION_EXTRAS_FAILED && !error->text[0])
    std::snprintf(error->text, sizeof(error->text), "not enough memory");
  return result;
}

constexpr TrunnionExtras make_table() {
  TrunnionExtras t{TRUNNION_EXTRAS_VERSION, kParts};
  if constexpr (TRUNNION_WITH_RE2) {
    t.regex_compile = regex_compile;
    t.regex_release = release;
    t.regex_full_match = regex_full_match;
    t.regex_find = regex_find;
  }
  t.image_decode = image_decode;
  return t;
}

constexpr TrunnionExtras kTable = make_table();

}  // namespace
}  // namespace trunnion::extras

extern "C" __attribute__((visibility("default"))) const TrunnionExtras* trunnion_extras(void) {
  return &trunnion::extras::kTable;
}
