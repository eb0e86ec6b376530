#include "base/cpu_units.h"

#include <cstring>

#include "base/cpu_info.h"

namespace trunnion {
namespace {

constexpr const char *kIntel = "GenuineIntel", *kAmd = "AuthenticAMD";

struct Row {
  const char* vendor;
  int family, first_model, last_model;
  UnitRates rates;
};

constexpr Row kRows[] = {
    // Zen 4. By its documents: one 512-bit product of bfloat16 takes as long as one FMA of half as many numbers.
    {kAmd, 25, 0x10, 0x1f, {2.0f, 4.0f, 0, 0}},
    {kAmd, 25, 0x60, 0x7f, {2.0f, 4.0f, 0, 0}},
    {kAmd, 25, 0xa0, 0xaf, {2.0f, 4.0f, 0, 0}},
    // Zen 5. Measured on model 2: FMA 285, VDPBF16PS 569, VPDPBUSD 1193 Gop/s.
    {kAmd, 26, 0x00, 0xff, {2.0f, 4.2f, 0, 0}},
    // Cooper Lake.
    {kIntel, 6, 85, 85, {0.5f, 4.0f, 0, 0}},
    // Sapphire Rapids, Emerald Rapids, Granite Rapids. Measured on model 207: FMA 171, VDPBF16PS 87.5, VPDPBUSD 750,
    // TDPBF16PS 2200, TDPBUSD 4500 Gop/s.
    {kIntel, 6, 143, 143, {0.5f, 4.3f, 13.0f, 26.0f}},
    {kIntel, 6, 207, 207, {0.5f, 4.3f, 13.0f, 26.0f}},
    {kIntel, 6, 173, 174, {0.5f, 4.3f, 13.0f, 26.0f}},
};

constexpr float kPays = 1.5f;

}  // namespace

UnitRates unit_rates(const char* vendor, int family, int model) {
  for (const Row& r : kRows) {
    if (std::strcmp(r.vendor, vendor) == 0 && r.family == family && model >= r.first_model && model <= r.last_model)
      return r.rates;
  }
  return {};
}

UnitRates unit_rates() {
  const CpuInfo& cpu = cpu_info();
  return unit_rates(cpu.is_intel ? kIntel : cpu.is_amd ? kAmd : "", cpu.family, cpu.model);
}

bool active_bf16_dot() {
  static const bool pays = unit_rates().bf16_dot >= kPays;
  return pays && active_avx512_bf16();
}

}  // namespace trunnion
