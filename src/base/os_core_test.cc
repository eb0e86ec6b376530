#include "base/os_core.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/os.h"

namespace trunnion::os {
namespace {

TEST(OsCore, LeavesAProcessorButMayComeBack) {
  const std::vector<int> allowed = allowed_cpus();
  const int cpu = current_core();
  if (cpu < 0 || allowed.size() < 2) GTEST_SKIP() << "needs two processors";
  EXPECT_TRUE(std::find(allowed.begin(), allowed.end(), cpu) != allowed.end());
  leave_core(cpu);
  EXPECT_EQ(allowed_cpus(), allowed);
  leave_core(-1);
  leave_core(1 << 20);
  EXPECT_EQ(allowed_cpus(), allowed);
}

}  // namespace
}  // namespace trunnion::os
