// Arithmetic in which denormal numbers count as zero: much faster on most CPUs where a model makes them by the million.
#pragma once
#include <cstdint>

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace trunnion {

// The calling thread's floating-point control word; what it means is the CPU's business.
inline uint64_t float_control() {
#if defined(__x86_64__) || defined(__i386__)
  return _mm_getcsr();
#elif defined(__aarch64__)
  uint64_t word;
  __asm__ volatile("mrs %0, fpcr" : "=r"(word));
  return word;
#else
  return 0;
#endif
}
inline void set_float_control([[maybe_unused]] uint64_t word) {
#if defined(__x86_64__) || defined(__i386__)
  _mm_setcsr(static_cast<uint32_t>(word));
#elif defined(__aarch64__)
  __asm__ volatile("msr fpcr, %0" : : "r"(word));
#endif
}

// On the calling thread from now on; elsewhere nothing changes. Where the CPU has no such mode it does nothing.
inline void flush_denormals() {
#if defined(__x86_64__) || defined(__i386__)
  set_float_control(float_control() | 0x8040);  // results and operands
#elif defined(__aarch64__)
  set_float_control(float_control() | uint64_t{1} << 24);
#endif
}

// While it lives.
class FlushDenormals {
 public:
  FlushDenormals() : before_(float_control()) { flush_denormals(); }
  ~FlushDenormals() { set_float_control(before_); }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  const uint64_t before_;
};

}  // namespace trunnion
