#include "base/precision.h"

#include <algorithm>

#include "base/error.h"

namespace trunnion {

Result<Precision> parse_precision(std::string_view name) {
  const auto at = std::find(std::begin(kPrecisionNames), std::end(kPrecisionNames), name);
  if (at == std::end(kPrecisionNames))
    return invalid_argument("'{}' is no level of precision: expected {}", name, fmt::join(kPrecisionNames, ", "));
  return static_cast<Precision>(at - std::begin(kPrecisionNames));
}

Result<PrecisionChoice> PrecisionChoice::parse(std::string_view level, std::string_view nodes) {
  PrecisionChoice choice;
  if (!level.empty()) {
    TRN_ASSIGN(choice.level_, parse_precision(level));
  }
  while (!nodes.empty()) {
    const std::string_view part = nodes.substr(0, nodes.find(';'));
    nodes.remove_prefix(std::min(part.size() + 1, nodes.size()));
    if (part.empty()) continue;
    const size_t equals = part.rfind('=');  // names of nodes may have one
    if (equals == std::string_view::npos || equals == 0)
      return invalid_argument("'{}' should be the name of a node, '=' and a level of precision", part);
    TRN_ASSIGN(const Precision p, parse_precision(part.substr(equals + 1)));
    choice.nodes_.emplace_back(part.substr(0, equals), p);
  }
  return choice;
}

bool PrecisionChoice::any(Precision p) const {
  return level_ == p || std::any_of(nodes_.begin(), nodes_.end(), [&](const auto& n) { return n.second == p; });
}

Precision PrecisionChoice::of(std::string_view name, std::span<const std::string> origins) const {
  bool listed = false;
  Precision strictest = Precision::bf16;
  for (const auto& [node, p] : nodes_) {
    if (node != name && std::find(origins.begin(), origins.end(), node) == origins.end()) continue;
    listed = true;
    strictest = std::min(strictest, p);
  }
  return listed ? strictest : level_;
}

}  // namespace trunnion
