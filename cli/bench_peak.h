// What the machine can do at most: arithmetic and read bandwidth of some threads together, measured in about a second.
// Used by `trunnion bench` and by the programs of bench/. Stands alone: includes nothing of the project.
#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace trunnion::peak {

// The instruction sets that kernels are built for; `best_rung` is what this CPU has, lowered by TRUNNION_CPU.
enum class Rung : unsigned char { baseline, avx2, avx512 };
Rung best_rung();
const char* rung_name(Rung rung);
Rung rung_of_name(std::string_view name);  // baseline when there is none

std::string cpu_name();  // "AMD EPYC 9755 128-Core Processor"; empty where unknown

struct Caches {
  size_t l1 = 32 << 10, l2 = 1 << 20;  // of one core
  size_t l3 = 16 << 20;                // shared
};
Caches caches();

// Operations (a multiply and an add are two) and bytes a second, of all threads together; 0: not measured.
struct Rates {
  Rung rung = Rung::baseline;
  int threads = 1;
  double float32 = 0, float64 = 0, int8 = 0, bfloat16 = 0;
  double l1 = 0, l2 = 0, l3 = 0, dram = 0;
};

// Measured once for a rung and a number of threads, then remembered. `tell` (may be empty) hears what is being
// measured.
const Rates& rates(Rung rung, int threads, const std::function<void(const char*)>& tell = {});

// Shortest time for work that takes `flops` operations at `flop_rate` and moves these bytes, in seconds. Activations
// and weights come from the smallest level that holds them; `all_weights` are those of the whole model, which a run
// reads one after the other, so that they are in a cache only when all are.
struct Work {
  double flops = 0, activation_bytes = 0, weight_bytes = 0, all_weights = 0;
};
double least_seconds(const Work& work, double flop_rate, const Rates& rates);
double bandwidth(double bytes, const Rates& rates);  // of the level that holds so many bytes

}  // namespace trunnion::peak
