// os.h for Linux: which processors the process may use, and how much of them.
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "base/os.h"

namespace trunnion::os {
namespace {

// Content of a small system file; empty when it cannot be read.
std::string small_file(const std::string& path) {
  Result<std::string> text = read_file(path, 1 << 20);
  return text.ok() ? std::move(text).value() : std::string();
}

std::string_view next_field(std::string_view& rest, char separator) {
  size_t at = rest.find(separator);
  std::string_view field = rest.substr(0, at);
  rest = at == std::string_view::npos ? std::string_view() : rest.substr(at + 1);
  return field;
}

bool list_has(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    if (next_field(list, ',') == word) return true;
  }
  return false;
}

// Where a hierarchy of control groups is mounted, and which of its folders is seen there.
struct Mount {
  std::string root;
  std::string point;
};

// A line of mountinfo: id parent device root point options [tags...] - type source super-options
std::optional<Mount> find_mount(std::string_view mountinfo, bool version2) {
  while (!mountinfo.empty()) {
    std::string_view line = next_field(mountinfo, '\n');
    size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    std::string_view left = line.substr(0, dash), right = line.substr(dash + 3);
    for (int i = 0; i < 3; ++i) next_field(left, ' ');
    std::string_view root = next_field(left, ' '), point = next_field(left, ' ');
    std::string_view type = next_field(right, ' ');
    next_field(right, ' ');
    bool match = version2 ? type == "cgroup2" : type == "cgroup" && list_has(right, "cpu");
    if (match) return Mount{std::string(root), std::string(point)};
  }
  return std::nullopt;
}

// A line of /proc/self/cgroup: id:controllers:path; version 2 has no controllers.
std::optional<std::string> group_path(std::string_view groups, bool version2) {
  while (!groups.empty()) {
    std::string_view line = next_field(groups, '\n');
    std::string_view id = next_field(line, ':');
    std::string_view controllers = next_field(line, ':');
    if (version2 ? (id == "0" && controllers.empty()) : list_has(controllers, "cpu")) return std::string(line);
  }
  return std::nullopt;
}

std::optional<double> positive_ratio(std::string_view quota, std::string_view period) {
  double q = std::strtod(std::string(quota).c_str(), nullptr);  // "max" and "-1" mean no limit
  double p = std::strtod(std::string(period).c_str(), nullptr);
  if (!(q > 0) || !(p > 0)) return std::nullopt;
  return q / p;
}

std::optional<double> quota_of_group(const std::string& folder, bool version2) {
  if (version2) {
    std::string text = small_file(folder + "/cpu.max");
    std::string_view rest = text;
    std::string_view quota = next_field(rest, ' ');
    return positive_ratio(quota, rest);
  }
  return positive_ratio(small_file(folder + "/cpu.cfs_quota_us"), small_file(folder + "/cpu.cfs_period_us"));
}

// The tightest limit of a group and those above it.
std::optional<double> quota_of_hierarchy(const std::string& system, std::string_view mountinfo, std::string_view groups,
                                         bool version2) {
  std::optional<Mount> mount = find_mount(mountinfo, version2);
  std::optional<std::string> group = group_path(groups, version2);
  if (!mount || !group) return std::nullopt;
  std::string top = system + mount->point;
  // In a container the mount may show only the container's own group: its path then begins with the mount's root.
  std::string below = *group;
  if (mount->root != "/" && below.rfind(mount->root, 0) == 0) below.erase(0, mount->root.size());
  if (below == "/" || below.find("..") != std::string::npos || file_kind(top + below) != FileKind::directory)
    below = "";

  std::optional<double> tightest;
  for (;;) {
    std::optional<double> limit = quota_of_group(top + below, version2);
    if (limit && (!tightest || *limit < *tightest)) tightest = limit;
    if (below.empty()) return tightest;
    below.erase(std::min(below.rfind('/'), below.size()));
  }
}

}  // namespace

std::vector<int> allowed_cpus() {
  std::vector<int> cpus;
  // The kernel refuses a set smaller than its own.
  for (int count = 1024; count <= (1 << 18); count *= 4) {
    cpu_set_t* set = CPU_ALLOC(count);
    if (!set) return cpus;
    size_t bytes = CPU_ALLOC_SIZE(count);
    CPU_ZERO_S(bytes, set);
    bool ok = sched_getaffinity(0, bytes, set) == 0;
    for (int cpu = 0; ok && cpu < count; ++cpu) {
      if (CPU_ISSET_S(cpu, bytes, set)) cpus.push_back(cpu);
    }
    CPU_FREE(set);
    if (ok) break;
  }
  return cpus;
}

std::optional<double> cpu_quota(const std::string& root) {
  std::string mountinfo = small_file(root + "/proc/self/mountinfo");
  std::string groups = small_file(root + "/proc/self/cgroup");
  std::optional<double> v2 = quota_of_hierarchy(root, mountinfo, groups, true);
  std::optional<double> v1 = quota_of_hierarchy(root, mountinfo, groups, false);
  if (v1 && v2) return std::min(*v1, *v2);
  return v1 ? v1 : v2;
}

int physical_cores(std::span<const int> cpus, const std::string& root) {
  std::set<std::string> cores;  // each core is known by the list of its logical processors
  for (int cpu : cpus) {
    std::string folder = root + "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    std::string siblings = small_file(folder + "core_cpus_list");
    if (siblings.empty()) siblings = small_file(folder + "thread_siblings_list");
    if (siblings.empty()) return 0;
    cores.insert(std::move(siblings));
  }
  return static_cast<int>(cores.size());
}

bool enable_amx() {
#if defined(__x86_64__)
  constexpr int kRequestPermission = 0x1023;
  constexpr int kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

}  // namespace trunnion::os
