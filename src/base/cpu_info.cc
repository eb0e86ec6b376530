#include "base/cpu_info.h"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "base/os.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#define TRN_X86 1
#endif

namespace trunnion {
namespace {

#ifdef TRN_X86

struct Registers {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Registers cpuid(uint32_t leaf, uint32_t subleaf = 0) {
  Registers r;
  if (leaf > __get_cpuid_max(leaf & 0x80000000u, nullptr)) return r;
  __cpuid_count(leaf, subleaf, r.eax, r.ebx, r.ecx, r.edx);
  return r;
}

bool bit(uint32_t word, int n) { return (word >> n) & 1; }

// Which register files the system saves on a context switch.
uint64_t xcr0() {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t{high} << 32) | low;
}

// Intel's leaf 4 and AMD's leaf 0x8000001D have the same layout.
void read_caches(CpuInfo& info, uint32_t leaf) {
  for (uint32_t index = 0; index < 16; ++index) {
    Registers r = cpuid(leaf, index);
    uint32_t type = r.eax & 31;
    if (type == 0) break;
    if (type == 2) continue;  // instructions only
    size_t ways = (r.ebx >> 22) + 1, partitions = ((r.ebx >> 12) & 1023) + 1, line = (r.ebx & 4095) + 1;
    size_t bytes = ways * partitions * line * (size_t{r.ecx} + 1);
    switch ((r.eax >> 5) & 7) {
      case 1:
        info.l1d_bytes = bytes;
        break;
      case 2:
        info.l2_bytes = bytes;
        break;
      case 3:
        info.l3_bytes = bytes;
        break;
      default:
        break;
    }
  }
}

CpuInfo detect() {
  CpuInfo info;
  Registers vendor = cpuid(0);
  char name[13] = {};
  std::memcpy(name, &vendor.ebx, 4);
  std::memcpy(name + 4, &vendor.edx, 4);
  std::memcpy(name + 8, &vendor.ecx, 4);
  info.is_intel = std::strcmp(name, "GenuineIntel") == 0;
  info.is_amd = std::strcmp(name, "AuthenticAMD") == 0;

  Registers one = cpuid(1);
  uint32_t family = (one.eax >> 8) & 15, model = (one.eax >> 4) & 15;
  if (family == 6 || family == 15) model |= ((one.eax >> 16) & 15) << 4;
  if (family == 15) family += (one.eax >> 20) & 255;
  info.family = static_cast<int>(family);
  info.model = static_cast<int>(model);

  if (info.is_amd) {
    if (bit(cpuid(0x80000001u).ecx, 22)) read_caches(info, 0x8000001Du);
  } else {
    read_caches(info, 4);
  }

  if (!bit(one.ecx, 27)) return info;  // no XGETBV
  uint64_t saved = xcr0();
  Registers seven = cpuid(7), seven_one = seven.eax >= 1 ? cpuid(7, 1) : Registers{};
  bool ymm = (saved & 0x6) == 0x6;
  bool fma_f16c = bit(one.ecx, 12) && bit(one.ecx, 28) && bit(one.ecx, 29);
  bool bmi = bit(seven.ebx, 3) && bit(seven.ebx, 8);
  if (!(ymm && fma_f16c && bmi && bit(seven.ebx, 5))) return info;
  info.rung = Rung::avx2;

  bool zmm = (saved & 0xe6) == 0xe6;
  bool f_dq_bw_vl = bit(seven.ebx, 16) && bit(seven.ebx, 17) && bit(seven.ebx, 30) && bit(seven.ebx, 31);
  if (!(zmm && f_dq_bw_vl)) return info;
  info.rung = Rung::avx512;
  info.avx512_vnni = bit(seven.ecx, 11);
  info.avx512_bf16 = bit(seven_one.eax, 5);

  bool tiles = (saved & 0x60000) == 0x60000 && bit(seven.edx, 24);
  if (tiles && (bit(seven.edx, 22) || bit(seven.edx, 25)) && os::enable_amx()) {
    info.amx_bf16 = bit(seven.edx, 22);
    info.amx_int8 = bit(seven.edx, 25);
  }
  return info;
}

#else

CpuInfo detect() { return {}; }

#endif

// From TRUNNION_CPU; an unknown word is ignored.
std::optional<Rung> rung_from_environment() {
  std::optional<std::string> text = os::environment("TRUNNION_CPU");
  if (!text) return std::nullopt;
  for (Rung rung : {Rung::baseline, Rung::avx2, Rung::avx512}) {
    if (*text == rung_name(rung)) return rung;
  }
  return std::nullopt;
}

constexpr std::string_view kAmx = "amx";

constexpr int kNotForced = -1;
std::atomic<int> forced_for_test{kNotForced};

// The kernels for AMX have run on emulated tiles only, so they wait to be asked for.
bool amx_is_asked_for() {
  static const bool asked = os::environment("TRUNNION_CPU") == kAmx;
  return asked && forced_for_test.load(std::memory_order_relaxed) == kNotForced;
}

// The rung that was asked for, before it is clamped to what the CPU has.
std::optional<Rung> forced_rung() {
  int forced = forced_for_test.load(std::memory_order_relaxed);
  if (forced != kNotForced) return static_cast<Rung>(forced);
  static const std::optional<Rung> from_environment = rung_from_environment();
  return from_environment;
}

}  // namespace

const CpuInfo& cpu_info() {
  static const CpuInfo info = detect();
  return info;
}

Rung active_rung() {
  Rung has = cpu_info().rung;
  std::optional<Rung> forced = forced_rung();
  return forced && *forced < has ? *forced : has;
}

bool active_avx512_vnni() { return cpu_info().avx512_vnni && active_rung() == Rung::avx512; }
bool active_avx512_bf16() { return cpu_info().avx512_bf16 && active_rung() == Rung::avx512; }
bool active_amx_bf16() { return cpu_info().amx_bf16 && amx_is_asked_for(); }
bool active_amx_int8() { return cpu_info().amx_int8 && amx_is_asked_for(); }

void force_rung_for_test(Rung rung) { forced_for_test.store(static_cast<int>(rung), std::memory_order_relaxed); }
void clear_forced_rung_for_test() { forced_for_test.store(kNotForced, std::memory_order_relaxed); }

const char* rung_name(Rung rung) {
  switch (rung) {
    case Rung::baseline:
      return "baseline";
    case Rung::avx2:
      return "avx2";
    case Rung::avx512:
      return "avx512";
  }
  return "unknown";
}

}  // namespace trunnion
