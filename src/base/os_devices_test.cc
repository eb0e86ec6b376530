// Accelerators of a made-up /sys.
#include "base/os_devices.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace trunnion::os {
namespace {

TEST(OsDevices, CardsAndAccelerators) {
  namespace fs = std::filesystem;
  const fs::path root = fs::path(testing::TempDir()) / "os_devices_test";
  fs::remove_all(root);
  const auto device = [&](const std::string& bus, const std::string& vendor, const std::string& id) {
    const fs::path folder = root / "sys/devices" / bus;
    fs::create_directories(folder);
    std::ofstream(folder / "vendor") << vendor << "\n";
    std::ofstream(folder / "device") << id << "\n";
    return folder;
  };
  const auto link = [&](const std::string& name, const fs::path& to) {
    fs::create_directories(root / "sys/class" / name);
    fs::create_directory_symlink(to, root / "sys/class" / name / "device");
  };
  link("drm/card1", device("0000:03:00.0", "0x10de", "0x2204"));
  link("drm/card0", device("0000:00:02.0", "0x8086", "0xa780"));
  fs::create_directories(root / "sys/class/drm/card2/device");  // a framebuffer of the firmware
  fs::create_directories(root / "sys/class/drm/card0-HDMI-A-1");
  link("accel/accel0", device("0000:00:0b.0", "0x8086", "0x7d1d"));

  const auto found = accelerators(root.string());
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].vendor_id, 0x8086u);
  EXPECT_EQ(found[0].card, 0);
  EXPECT_EQ(found[0].discrete, false);
  EXPECT_EQ(found[1].device_id, 0x2204u);
  EXPECT_EQ(found[1].pci_bus_id, "0000:03:00.0");
  EXPECT_EQ(found[1].discrete, true);
  EXPECT_TRUE(found[2].neural);
  EXPECT_EQ(found[2].device_id, 0x7d1du);
  EXPECT_TRUE(accelerators((root / "nothing").string()).empty());
  fs::remove_all(root);
}

}  // namespace
}  // namespace trunnion::os
