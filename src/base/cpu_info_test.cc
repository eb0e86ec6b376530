#include "base/cpu_info.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "base/os.h"

namespace trunnion {
namespace {

bool cpu_has(const std::string& flag) {
  std::string text = os::read_file("/proc/cpuinfo", 1 << 24).value();
  size_t at = text.find("\nflags");
  if (at == std::string::npos) return false;
  std::string line = text.substr(at, text.find('\n', at + 1) - at) + " ";
  return line.find(" " + flag + " ") != std::string::npos;
}

TEST(CpuInfo, AgreesWithTheSystem) {
#if defined(__x86_64__)
  bool avx2 = cpu_has("avx2") && cpu_has("fma") && cpu_has("f16c") && cpu_has("bmi2");
  bool avx512 = avx2 && cpu_has("avx512f") && cpu_has("avx512bw") && cpu_has("avx512dq") && cpu_has("avx512vl");
  EXPECT_EQ(cpu_info().rung, avx512 ? Rung::avx512 : avx2 ? Rung::avx2 : Rung::baseline);
  EXPECT_EQ(cpu_info().avx512_vnni, avx512 && cpu_has("avx512_vnni"));
  EXPECT_EQ(cpu_info().avx512_bf16, avx512 && cpu_has("avx512_bf16"));
  EXPECT_LE(cpu_info().amx_bf16, cpu_has("amx_bf16"));
  EXPECT_LE(cpu_info().amx_int8, cpu_has("amx_int8"));
  EXPECT_GT(cpu_info().family, 0);
#endif
  EXPECT_GE(cpu_info().l1d_bytes, size_t{8} << 10);
  EXPECT_LE(cpu_info().l1d_bytes, size_t{1} << 20);
  EXPECT_GE(cpu_info().l2_bytes, size_t{64} << 10);
  EXPECT_GE(cpu_info().l3_bytes, size_t{256} << 10);
  if (long l1 = sysconf(_SC_LEVEL1_DCACHE_SIZE); l1 > 0) {
    EXPECT_EQ(cpu_info().l1d_bytes, static_cast<size_t>(l1));
  }
  if (long l2 = sysconf(_SC_LEVEL2_CACHE_SIZE); l2 > 0) {
    EXPECT_EQ(cpu_info().l2_bytes, static_cast<size_t>(l2));
  }
}

TEST(CpuInfo, ForcedRungIsClampedToTheCpu) {
  for (Rung rung : {Rung::baseline, Rung::avx2, Rung::avx512}) {
    force_rung_for_test(rung);
    EXPECT_EQ(active_rung(), rung < cpu_info().rung ? rung : cpu_info().rung);
    EXPECT_EQ(active_avx512_vnni(), active_rung() == Rung::avx512 && cpu_info().avx512_vnni);
    EXPECT_FALSE(active_amx_bf16());
    EXPECT_FALSE(active_amx_int8());
  }
  clear_forced_rung_for_test();
  if (!std::getenv("TRUNNION_CPU")) {
    EXPECT_EQ(active_rung(), cpu_info().rung);
    EXPECT_FALSE(active_amx_bf16());
  }
}

TEST(CpuInfoDeathTest, EnvironmentForcesALowerRung) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";  // the variable is read once: each case needs a fresh process
  for (const char* word : {"baseline", "avx2", "avx512", "nonsense"}) {
    EXPECT_EXIT(
        {
          setenv("TRUNNION_CPU", word, 1);
          std::string active = rung_name(active_rung());
          std::string wanted = std::string(word) == "nonsense" ? rung_name(cpu_info().rung) : word;
          bool lower_or_same = active == wanted || active == rung_name(cpu_info().rung);
          _exit(lower_or_same ? 0 : 1);
        },
        testing::ExitedWithCode(0), "");
  }
}

TEST(CpuInfoDeathTest, AmxIsUsedOnlyWhenAskedFor) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        setenv("TRUNNION_CPU", "amx", 1);
        const bool as_asked = active_amx_bf16() == cpu_info().amx_bf16 && active_amx_int8() == cpu_info().amx_int8;
        _exit(as_asked && active_rung() == cpu_info().rung ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(CpuInfo, Names) {
  EXPECT_STREQ(rung_name(Rung::baseline), "baseline");
  EXPECT_STREQ(rung_name(Rung::avx2), "avx2");
  EXPECT_STREQ(rung_name(Rung::avx512), "avx512");
}

}  // namespace
}  // namespace trunnion
