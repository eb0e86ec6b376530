#include "base/cpu_units.h"

#include <gtest/gtest.h>

#include "base/cpu_info.h"

namespace trunnion {
namespace {

TEST(CpuUnits, TheTableDecidesAndNotTheInstructionAlone) {
  EXPECT_GT(unit_rates("AuthenticAMD", 26, 2).bf16_dot, 1.5f);
  EXPECT_GT(unit_rates("AuthenticAMD", 25, 0x11).bf16_dot, 1.5f);
  EXPECT_EQ(unit_rates("AuthenticAMD", 25, 0x01).bf16_dot, 0.0f);  // Zen 3 has no such instruction
  EXPECT_LT(unit_rates("GenuineIntel", 6, 207).bf16_dot, 1.0f);    // slower than FMA
  EXPECT_GT(unit_rates("GenuineIntel", 6, 207).amx_bf16, 10.0f);
  EXPECT_EQ(unit_rates("GenuineIntel", 6, 999).amx_bf16, 0.0f);
  EXPECT_EQ(unit_rates("", 0, 0).byte_dot, 0.0f);
}

TEST(CpuUnits, NothingBeyondTheRungIsActive) {
  EXPECT_LE(active_bf16_dot(), cpu_info().avx512_bf16);
  force_rung_for_test(Rung::avx2);
  EXPECT_FALSE(active_bf16_dot());
  clear_forced_rung_for_test();
}

}  // namespace
}  // namespace trunnion
