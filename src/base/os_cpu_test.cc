#include "base/os_cpu.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/os.h"

namespace trunnion::os {
namespace {

TEST(OsCurrentCpu, LeavesAProcessorButMayComeBack) {
  const std::vector<int> allowed = allowed_cpus();
  const int cpu = current_cpu();
  if (cpu < 0 || allowed.size() < 2) GTEST_SKIP() << "needs two processors";
  EXPECT_TRUE(std::find(allowed.begin(), allowed.end(), cpu) != allowed.end());
  leave_cpu(cpu);
  EXPECT_EQ(allowed_cpus(), allowed);
  leave_cpu(-1);
  leave_cpu(1 << 20);
  EXPECT_EQ(allowed_cpus(), allowed);
}

}  // namespace
}  // namespace trunnion::os
