// How far apart two results are, and whether that is within a tolerance.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "report.h"

namespace trunnion::cli {

// |a - b| <= absolute * scale + relative * |a| for every element, a being the reference. The scale is 1, or the
// greatest magnitude of the reference: near cancellation single elements say nothing.
struct Tolerance {
  double absolute = 0, relative = 0;
  bool scaled = false;
};

// How an engine may compute: sums in another order; with shortcuts (Winograd); in fewer bits than the model says.
enum class Rounding : uint8_t { order, shortcuts, fewer_bits };

// What a result of this type may differ by; nothing for integers and texts.
Tolerance default_tolerance(DataType type, Rounding rounding);

struct Difference {
  std::string why;              // empty: within the tolerance
  size_t beyond = 0;            // elements that are not
  size_t count = 0;             // elements in all
  double absolute = 0;          // the greatest of all elements
  double relative = 0;          // likewise
  double cosine = 1;            // of the two as vectors
  std::optional<size_t> worst;  // the element that is furthest beyond
  Tolerance tolerance;
  double scale = 1;
};

// Of two values of one output. `given` replaces the default tolerance.
Difference compare(const Result& reference, const Result& candidate, Rounding rounding,
                   const std::optional<Tolerance>& given);

// "max abs 1e-06, max rel 2e-05 (allowed 1e-05 + 0.0001 * |value|)".
std::string describe(const Difference& d);
Json to_json(const Difference& d);

}  // namespace trunnion::cli
