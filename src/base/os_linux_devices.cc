// Accelerators from sysfs: /sys/class/drm/cardN and /sys/class/accel/accelN.
#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "base/os.h"
#include "base/os_devices.h"

namespace trunnion::os {
namespace {

// N of "<prefix>N"; -1 for other names, those of a card's connectors among them.
int number_of(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return -1;
  name.remove_prefix(prefix.size());
  int n = -1;
  const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), n);
  return failed == std::errc() && end == name.data() + name.size() ? n : -1;
}

std::optional<uint32_t> hex_file(const std::string& path) {
  const auto text = read_file(path, 64);
  if (!text.ok()) return std::nullopt;
  std::string_view t = *text;
  if (t.starts_with("0x")) t.remove_prefix(2);
  uint32_t n = 0;
  const auto [end, failed] = std::from_chars(t.data(), t.data() + t.size(), n, 16);
  if (failed != std::errc() || end == t.data()) return std::nullopt;
  return n;
}

void scan(const std::string& folder, std::string_view prefix, bool neural, std::vector<Accelerator>& found) {
  DIR* dir = opendir(folder.c_str());
  if (!dir) return;
  std::vector<int> numbers;
  while (const dirent* entry = readdir(dir))
    if (const int n = number_of(entry->d_name, prefix); n >= 0) numbers.push_back(n);
  closedir(dir);
  std::sort(numbers.begin(), numbers.end());
  for (const int n : numbers) {
    const std::string device = folder + "/" + std::string(prefix) + std::to_string(n) + "/device";
    const auto vendor = hex_file(device + "/vendor"), id = hex_file(device + "/device");
    if (!vendor || !id) continue;  // a framebuffer of the firmware has neither
    Accelerator a;
    a.neural = neural;
    a.vendor_id = *vendor;
    a.device_id = *id;
    a.card = n;
    if (const auto real = canonical(device); real.ok()) {
      const std::string name = real->substr(real->find_last_of('/') + 1);
      if (name.find(':') != name.npos) a.pci_bus_id = name;
    }
    // Graphics of the processor itself stand on the root bus.
    if (!neural && !a.pci_bus_id.empty()) a.discrete = a.pci_bus_id.find(":00:") == std::string::npos;
    found.push_back(std::move(a));
  }
}

}  // namespace

std::vector<Accelerator> accelerators(const std::string& root) {
  std::vector<Accelerator> found;
  scan(root + "/sys/class/drm", "card", false, found);
  scan(root + "/sys/class/accel", "accel", true, found);
  return found;
}

}  // namespace trunnion::os
