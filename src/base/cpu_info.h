// What the CPU can do, found once. The rung decides which kernel tables are used.
#pragma once
#include <cstddef>

namespace trunnion {

// Each rung includes all before it. TRUNNION_CPU=baseline|avx2|avx512 forces a lower one (never a higher);
// TRUNNION_CPU=amx turns on kernels for AMX.
enum class Rung : unsigned char {
  baseline,  // x86-64-v2 (SSE4.2); NEON or SIMD128 elsewhere
  avx2,      // AVX2, FMA, F16C, BMI 1 and 2
  avx512,    // AVX-512 F, BW, DQ, VL, VNNI is a flag of its own
};

struct CpuInfo {
  Rung rung = Rung::baseline;
  bool avx512_vnni = false;
  bool avx512_bf16 = false;
  bool amx_bf16 = false;
  bool amx_int8 = false;
  bool is_intel = false;
  bool is_amd = false;
  int family = 0;
  int model = 0;
  size_t l1d_bytes = 32 << 10;  // of one core
  size_t l2_bytes = 512 << 10;  // of one core
  size_t l3_bytes = 8 << 20;    // shared
};

// Detected at first use (CPUID and XGETBV), then constant: what the CPU and the system offer, whatever is forced.
const CpuInfo& cpu_info();

// The rung that kernel tables are chosen by: cpu_info().rung, lowered by TRUNNION_CPU or by the test hook below.
Rung active_rung();

// Whether kernels may use these units: present, and on the active rung. AMX is used only with TRUNNION_CPU=amx.
bool active_avx512_vnni();
bool active_avx512_bf16();
bool active_amx_bf16();
bool active_amx_int8();

// For tests only: forces a rung (clamped to what the CPU has) for tables looked up afterwards; wins over TRUNNION_CPU.
void force_rung_for_test(Rung rung);
void clear_forced_rung_for_test();

const char* rung_name(Rung rung);

}  // namespace trunnion
