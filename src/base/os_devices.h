// Accelerators that the operating system knows: GPUs and NPUs. Part of os.h's port layer.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace trunnion::os {

struct Accelerator {
  bool neural = false;  // an NPU; else a GPU
  uint32_t vendor_id = 0, device_id = 0;
  std::string pci_bus_id;  // "0000:03:00.0"; empty for what is not on that bus
  int card = -1;           // N of cardN or accelN
  std::optional<bool> discrete;
};

// In the order of their numbers, GPUs first. `root` is for tests: it stands before /sys.
std::vector<Accelerator> accelerators(const std::string& root = "");

}  // namespace trunnion::os
