#include "base/edit_distance.h"

#include <algorithm>

#include "base/small_vector.h"

namespace trunnion {
namespace {

constexpr size_t kLongest = 256;  // longer names are not worth a guess; keeps hostile lists cheap

std::string lower(std::string_view s) {
  std::string out(s);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

}  // namespace

size_t edit_distance(std::string_view a, std::string_view b, size_t limit) {
  const size_t far = limit + 1;
  if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) > limit) return far;
  // Three rows of the table: two before, one before, current.
  SmallVector<size_t, 64> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    size_t least = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t d = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) d = std::min(d, before[j - 2] + 1);
      row[j] = d;
      least = std::min(least, d);
    }
    if (least > limit + 1) return far;  // one more than the limit: a swap may still reach back two rows
    std::swap(before, last);
    std::swap(last, row);
  }
  return std::min(last[b.size()], far);
}

std::vector<std::string_view> near_names(std::string_view name, std::span<const std::string_view> list, size_t most) {
  if (name.empty() || name.size() > kLongest) return {};
  struct Candidate {
    size_t distance;
    std::string_view name;
  };
  const size_t limit = std::clamp<size_t>(name.size() / 3, 1, 4);
  const std::string wanted = lower(name);
  std::vector<Candidate> found;
  for (std::string_view candidate : list) {
    if (candidate.empty() || candidate.size() > kLongest) continue;
    size_t distance = edit_distance(wanted, lower(candidate), limit);
    if (distance <= limit) found.push_back({distance, candidate});
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.distance < b.distance; });
  std::vector<std::string_view> names;
  for (size_t i = 0; i < std::min(most, found.size()); ++i) names.push_back(found[i].name);
  return names;
}

std::string did_you_mean(std::string_view name, std::span<const std::string_view> list) {
  std::vector<std::string_view> names = near_names(name, list);
  if (names.empty()) return {};
  std::string text = " (did you mean ";
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += '\'';
    text += names[i];
    text += '\'';
  }
  return text + "?)";
}

}  // namespace trunnion
