// What the units of one core do at most, in registers: the table of base/cpu_units.cc comes from here. GFLOP/s and
// GOP/s count a multiply and an add as two.
#include <fmt/format.h>

#include <cstring>

#include "base/cpu_info.h"
#include "bench_peak_loops.h"
#include "measured.h"

namespace trunnion::bench {
namespace {

constexpr long kRounds = 10000;

void loop(const char* name, const peak::Loop& l, bool int8, bool bfloat16) {
  if (!l.run) return;
  Work work;
  work.flops = l.operations * kRounds;
  work.int8 = int8;
  work.bfloat16 = bfloat16;
  add(name, work, [l] { return [l] { peak::keep(l.run(kRounds)); }; });
}

#if defined(__x86_64__)

struct alignas(64) Palette {
  unsigned char palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  unsigned char rows[16] = {};
};

// The rate depends on the values: with zeros it is a third higher than with ordinary ones.
std::function<void()> tiles(bool bytes) {
  const auto ordinary = random_floats(1024);
  const auto values = random_bytes(2048);
  auto* halves = static_cast<uint16_t*>(values.get());
  for (int i = 0; i < 1024 && !bytes; ++i) {
    uint32_t bits;
    std::memcpy(&bits, ordinary.get() + i, sizeof bits);
    halves[i] = static_cast<uint16_t>(bits >> 16);
  }
  return [values, bytes] {
    Palette p;
    for (int i = 0; i < 8; ++i) p.row_bytes[i] = 64, p.rows[i] = 16;
    __asm__ volatile("ldtilecfg %0" : : "m"(p));
    __asm__ volatile(
        "tilezero %%tmm0\n tilezero %%tmm1\n tilezero %%tmm2\n tilezero %%tmm3\n tilezero %%tmm4\n tilezero %%tmm5\n"
        "tileloadd (%0,%1,1), %%tmm6\n tileloadd 1024(%0,%1,1), %%tmm7"
        :
        : "r"(values.get()), "r"(int64_t{64})
        : "memory");
    for (long r = 0; r < kRounds; ++r) {
      if (bytes) {
        __asm__ volatile(
            "tdpbusd %tmm7, %tmm6, %tmm0\n tdpbusd %tmm7, %tmm6, %tmm1\n tdpbusd %tmm7, %tmm6, %tmm2\n"
            "tdpbusd %tmm7, %tmm6, %tmm3\n tdpbusd %tmm7, %tmm6, %tmm4\n tdpbusd %tmm7, %tmm6, %tmm5");
      } else {
        __asm__ volatile(
            "tdpbf16ps %tmm7, %tmm6, %tmm0\n tdpbf16ps %tmm7, %tmm6, %tmm1\n tdpbf16ps %tmm7, %tmm6, %tmm2\n"
            "tdpbf16ps %tmm7, %tmm6, %tmm3\n tdpbf16ps %tmm7, %tmm6, %tmm4\n tdpbf16ps %tmm7, %tmm6, %tmm5");
      }
    }
    __asm__ volatile("tilerelease");
  };
}

void tile_unit(const char* name, bool bytes) {
  Work work;
  work.flops = 6.0 * kRounds * 2 * 16 * 16 * (bytes ? 64 : 32);
  work.int8 = bytes;
  add(name, work, [bytes] { return tiles(bytes); });
}

#endif

}  // namespace

void suite() {
  const peak::Loops loops = peak::loops_of(peak::best_rung());
  loop("fma_f32", loops.float32, false, false);
  loop("dot_bf16", loops.bfloat16, false, true);
  loop("dot_bytes", loops.int8, true, false);
#if defined(__x86_64__)
  if (cpu_info().amx_bf16) tile_unit("amx_bf16", false);
  if (cpu_info().amx_int8) tile_unit("amx_bytes", true);
#endif
}

}  // namespace trunnion::bench
