// Names that are near a mistyped one, for error texts.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trunnion {

// Insertions, deletions, substitutions and swaps of neighbours that lead from a to b; `limit + 1` when there are more
// than limit.
size_t edit_distance(std::string_view a, std::string_view b, size_t limit);

// Up to `most` names of the list that are near `name`, nearest first, then in the order of the list. Upper and lower
// case are the same.
std::vector<std::string_view> near_names(std::string_view name, std::span<const std::string_view> list,
                                         size_t most = 3);

// " (did you mean 'a', 'b' or 'c'?)", or empty when nothing is near.
std::string did_you_mean(std::string_view name, std::span<const std::string_view> list);

}  // namespace trunnion
