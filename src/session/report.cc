// What a session tells of itself: placement in one line, the graph as text. placement_report.cc has the whole report.
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"
#include "ir/text.h"
#include "plan/node_work.h"
#include "session/session.h"

namespace trunnion::session {
namespace {

constexpr size_t kMostReasons = 4, kMostOperators = 6;

// "Det is not supported by X" of a Det is as good as "not supported by X" of any operator.
std::string without_name(const std::string& reason, const std::string& op) {
  const std::string start = op + " is ";
  return reason.starts_with(start) ? reason.substr(start.size()) : reason;
}

// ", 2 copies, 1.2 MB a run", or how much is handed over without one.
std::string crossings_text(const plan::Placement& placement) {
  if (placement.crossings.empty()) return "";
  int copies = 0, shared = 0;
  double copied_bytes = 0, shared_bytes = 0;
  bool free_sizes = false, unknown = false;
  for (const auto& c : placement.crossings) {
    const auto bytes = plan::bytes_of(placement.values[static_cast<size_t>(c.value)].type, free_sizes);
    unknown |= !bytes;
    ++(c.copied ? copies : shared);
    (c.copied ? copied_bytes : shared_bytes) += bytes.value_or(0);
  }
  const char* sizes = unknown ? " (some sizes are not known)" : free_sizes ? " (free dimensions taken as 1)" : "";
  std::string text;
  if (copies)
    text += fmt::format(", {} cop{}, {}/run", copies, copies == 1 ? "y" : "ies", plan::size_text(copied_bytes));
  if (shared)
    text += fmt::format("{}, {} value{} of {}/run handed over", copies ? "" : ", 0 copies", shared,
                        shared == 1 ? "" : "s", plan::size_text(shared_bytes));
  return text + sizes;
}

}  // namespace

std::string Session::placement_summary() const {
  std::string parts;
  for (size_t i = 0; i < placement_.providers.size(); ++i) {
    parts += fmt::format("{}{} {}", i ? ", " : "", placement_.count(static_cast<int>(i)), placement_.providers[i]);
    std::set<int> regions;
    for (const auto& n : placement_.nodes)
      if (n.provider == static_cast<int>(i) && n.region >= 0) regions.insert(n.region);
    if (!regions.empty()) parts += fmt::format(" in {} region{}", regions.size(), regions.size() == 1 ? "" : "s");
  }
  const std::string out =
      fmt::format("{} node{}: {}", placement_.nodes.size(), placement_.nodes.size() == 1 ? "" : "s", parts);
  if (placement_.providers.size() < 2) return out;
  // What the first provider on the list did not take, by reason and operator, most of them first.
  std::map<std::string, std::map<std::string, int>> left;
  for (const auto& n : placement_.nodes)
    if (n.provider > 0 && !n.refused.empty()) ++left[without_name(n.refused[0].reason, n.op_type)][n.op_type];
  std::multimap<int, std::string, std::greater<>> sorted;
  for (const auto& [reason, operators] : left) {
    std::multimap<int, std::string, std::greater<>> by_count;
    int count = 0;
    for (const auto& [op, times] : operators) {
      by_count.emplace(times, op);
      count += times;
    }
    std::string text;
    size_t named = 0;
    for (const auto& [times, op] : by_count) {
      if (named++ == kMostOperators) {
        text += fmt::format(" and {} more operators", by_count.size() - kMostOperators);
        break;
      }
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", times, op);
    }
    sorted.emplace(count, text + ": " + reason);
  }
  std::string reasons;
  size_t shown = 0;
  for (const auto& [count, text] : sorted) {
    if (shown++ == kMostReasons) {
      reasons += fmt::format("; {} more reasons", sorted.size() - kMostReasons);
      break;
    }
    reasons += (reasons.empty() ? "" : "; ") + text;
  }
  const std::string why = left.empty() ? "" : fmt::format(" (not on {}: {})", placement_.providers[0], reasons);
  return out + why + crossings_text(placement_);
}

std::string Session::graph_text() const { return ir::print(*model_->graph, {.inner_types = true, .origins = true}); }

}  // namespace trunnion::session
