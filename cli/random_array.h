// Seeded random inputs, the same on every machine.
#pragma once
#include <cstdint>
#include <string>

#include "array.h"

namespace trunnion::cli {

struct Range {
  double low = 0, high = 1;
};

// Reals lie in [low, high), integers are those of the range with both ends, as far as the type has them. Depends on the
// seed and on `name` only, not on what else is random. Fails for text and for a range without a value of the type.
Array random_array(DataType type, Shape shape, Range range, uint64_t seed, const std::string& name);

}  // namespace trunnion::cli
