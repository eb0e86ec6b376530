// The loops of bench_peak.cc for one rung: arithmetic in registers, and reading a buffer.
#pragma once
#include <cstddef>

#include "bench_peak.h"

namespace trunnion::peak {

// run(n) does n times `operations`; what it gives depends on all of them.
struct Loop {
  float (*run)(long rounds) = nullptr;
  double operations = 0;
};

struct Loops {
  Loop float32, int8, bfloat16;
  float (*read)(const float* data, size_t count) = nullptr;  // a count that is a multiple of 1024
};

Loops loops_of(Rung rung);

// The compiler must take the value for used, and memory for changed.
inline void keep(float value) { asm volatile("" : : "r"(value) : "memory"); }

}  // namespace trunnion::peak
