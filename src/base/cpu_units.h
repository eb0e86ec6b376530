// Which of the CPU's units for bfloat16 and for bytes pay, by family and model: that an instruction exists does not say
// that it is fast. `bench/peak_bench` prints what the rows were measured with.
#pragma once

namespace trunnion {

// Multiply-adds a second and core, in multiples of those of fp32 FMA in the widest vectors. 0: the CPU has none, or
// nobody has measured it, and then it is not used.
struct UnitRates {
  float bf16_dot = 0;   // VDPBF16PS
  float byte_dot = 0;   // VPDPBUSD
  float amx_bf16 = 0;   // TDPBF16PS, on ordinary values
  float amx_bytes = 0;  // TDPBUSD, on ordinary values
};

// Vendors as CPUID spells them.
UnitRates unit_rates(const char* vendor, int family, int model);
UnitRates unit_rates();  // of this CPU

// Products of bfloat16 in vectors are at least half again as fast as fp32 FMA, and kernels may use them.
bool active_bf16_dot();

}  // namespace trunnion
