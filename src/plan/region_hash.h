// What a compiling provider is given of a region, as a hash: nodes, attributes, types and names, and the elements of
// constants. Equal hashes: the same engine.
#pragma once
#include <optional>

#include "base/hash.h"
#include "ep/provider.h"

namespace trunnion::plan {

// Nothing where an attribute is of a kind that has no content to hash.
std::optional<Hash128> hash_of(const ep::Region& region);

}  // namespace trunnion::plan
