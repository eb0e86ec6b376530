// How many threads to use by default, and the text form of affinities.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/os.h"
#include "base/thread_pool.h"

namespace trunnion {
namespace {

constexpr int kMaxCpu = 1 << 16;  // keeps "1-999999999" from filling the memory

std::string_view trim(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t')) s.remove_suffix(1);
  return s;
}

std::string_view next_part(std::string_view& rest, char separator) {
  size_t at = rest.find(separator);
  std::string_view part = rest.substr(0, at);
  rest = at == std::string_view::npos ? std::string_view() : rest.substr(at + 1);
  return trim(part);
}

Result<int> parse_cpu(std::string_view text, std::string_view group) {
  text = trim(text);
  int value = 0;
  auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || end != text.data() + text.size() || failed == std::errc::invalid_argument) {
    return invalid_argument("thread affinity group '{}': '{}' is not a processor number", group, text);
  }
  if (failed == std::errc::result_out_of_range || value < 1 || value > kMaxCpu) {
    return invalid_argument("thread affinity group '{}': processor '{}' is outside 1..{}; processors count from 1",
                            group, text, kMaxCpu);
  }
  return value - 1;
}

Result<std::vector<int>> parse_group(std::string_view group) {
  std::vector<int> cpus;
  std::string_view rest = group;
  do {
    std::string_view item = next_part(rest, ',');
    size_t dash = item.find('-', 1);  // a leading '-' is a sign, which parse_cpu refuses
    if (item.empty() || dash == std::string_view::npos) {
      TRN_ASSIGN(int cpu, parse_cpu(item, group));
      cpus.push_back(cpu);
      continue;
    }
    TRN_ASSIGN(int first, parse_cpu(item.substr(0, dash), group));
    TRN_ASSIGN(int last, parse_cpu(item.substr(dash + 1), group));
    if (first > last) return invalid_argument("thread affinity group '{}': '{}' runs backwards", group, item);
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
  } while (!rest.empty());
  if (group.back() == ',') return invalid_argument("thread affinity group '{}' ends with a comma", group);
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

}  // namespace

Result<AffinityGroups> parse_affinity(std::string_view text, int workers) {
  AffinityGroups groups;
  if (trim(text).empty()) return groups;
  int64_t count = 1 + std::count(text.begin(), text.end(), ';');
  if (count != workers) {
    return invalid_argument(
        "thread affinity '{}' has {} group(s), but {} are needed: one per thread except the caller's own", text, count,
        workers);
  }
  std::string_view rest = text;
  for (int64_t i = 0; i < count; ++i) {
    std::string_view group = next_part(rest, ';');
    if (group.empty()) return invalid_argument("thread affinity '{}': group {} is empty", text, i + 1);
    TRN_ASSIGN(std::vector<int> cpus, parse_group(group));
    groups.push_back(std::move(cpus));
  }
  return groups;
}

int default_thread_count() {
  if (std::optional<std::string> text = os::environment("TRUNNION_NUM_THREADS")) {
    int asked = 0;
    auto [end, failed] = std::from_chars(text->data(), text->data() + text->size(), asked);
    if (failed == std::errc() && end == text->data() + text->size() && asked >= 1) return asked;
  }
  std::vector<int> cpus = os::allowed_cpus();
  int count = std::max(static_cast<int>(cpus.size()), 1);
  if (int cores = os::physical_cores(cpus); cores > 0) count = std::min(count, cores);
  if (std::optional<double> quota = os::cpu_quota()) {
    if (*quota < count) count = static_cast<int>(std::ceil(*quota));
  }
  return std::max(count, 1);
}

}  // namespace trunnion
