// Vector types of the compiler for what every CPU has, intrinsics for dot products. Independent accumulators hide the
// latency: 24 where there are 32 registers, else 12. Compiled with -O3 -ffp-contract=fast.
#include "bench_peak_loops.h"

#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace trunnion::peak {
namespace {

#define TRN_12(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define TRN_24(X) TRN_12(X) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23)
#define TRN_8(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)

#define TRN_START(i) V a##i = V{} + 1e-3f * (1 + i);
#define TRN_FMA(i) a##i = a##i * x + y;
#define TRN_HOLD(i) asm volatile("" : "+" TRN_REGISTER(a##i));
#define TRN_SUM(i) s += a##i;

// What the loop's values are is of no matter, but they must stay ordinary numbers: x below 1, y small.
#define TRN_FMA_LOOP(NAME, TARGET, BYTES, LIST)                     \
  TARGET float NAME(long rounds) {                                  \
    typedef float V __attribute__((vector_size(BYTES)));            \
    LIST(TRN_START)                                                 \
    V x = V{} + 0.999f, y = V{} + 1e-6f, s = {};                    \
    for (long r = 0; r < rounds; ++r) {                             \
      LIST(TRN_FMA)                                                 \
      asm volatile("" : "+" TRN_REGISTER(a0), "+" TRN_REGISTER(x)); \
    }                                                               \
    LIST(TRN_SUM)                                                   \
    return s[0];                                                    \
  }

#define TRN_READ(i) a##i += p[i];
#define TRN_ZERO(i) V a##i = {};
#define TRN_READ_LOOP(NAME, TARGET, BYTES)                         \
  TARGET float NAME(const float* data, size_t count) {             \
    typedef float V __attribute__((vector_size(BYTES)));           \
    TRN_8(TRN_ZERO)                                                \
    V s = {};                                                      \
    const V* p = reinterpret_cast<const V*>(data);                 \
    const V* const end = reinterpret_cast<const V*>(data + count); \
    for (; p != end; p += 8) {                                     \
      TRN_8(TRN_READ)                                              \
    }                                                              \
    TRN_8(TRN_SUM)                                                 \
    return s[0];                                                   \
  }

#if defined(__x86_64__)

#define TRN_REGISTER(a) "x"(a)
#define TRN_AVX2 __attribute__((target("avx2,fma")))
TRN_FMA_LOOP(float32_baseline, , 16, TRN_12)
TRN_FMA_LOOP(float32_avx2, TRN_AVX2, 32, TRN_12)
TRN_READ_LOOP(read_baseline, , 16)
TRN_READ_LOOP(read_avx2, TRN_AVX2, 32)
#undef TRN_REGISTER
#define TRN_REGISTER(a) "v"(a)
#define TRN_AVX512 __attribute__((target("avx512f,avx512bw")))
TRN_FMA_LOOP(float32_avx512, TRN_AVX512, 64, TRN_24)
TRN_READ_LOOP(read_avx512, TRN_AVX512, 64)

// Bytes times bytes into 32-bit sums, as the kernels of each rung do it.
#define TRN_DOT_LOOP(NAME, TARGET, TYPE, LIST, ZERO, VALUE, STEP, FIRST) \
  TARGET float NAME(long rounds) {                                       \
    LIST(ZERO)                                                           \
    TYPE x = VALUE;                                                      \
    for (long r = 0; r < rounds; ++r) {                                  \
      LIST(STEP)                                                         \
      asm volatile("" : "+v"(x));                                        \
    }                                                                    \
    TYPE s = a0;                                                         \
    LIST(TRN_ADD)                                                        \
    return FIRST;                                                        \
  }

#define TRN_ADD(i) s = _mm_xor_si128(s, a##i);
#define TRN_INT8_ZERO(i) __m128i a##i = _mm_set1_epi32(i);
#define TRN_INT8_STEP(i) a##i = _mm_add_epi32(a##i, _mm_madd_epi16(_mm_maddubs_epi16(x, a##i), _mm_set1_epi16(1)));
TRN_DOT_LOOP(int8_baseline, , __m128i, TRN_12, TRN_INT8_ZERO, _mm_set1_epi8(3), TRN_INT8_STEP,
             static_cast<float>(_mm_cvtsi128_si32(s)))
#undef TRN_ADD
#undef TRN_INT8_ZERO
#undef TRN_INT8_STEP

#define TRN_ADD(i) s = _mm256_xor_si256(s, a##i);
#define TRN_INT8_ZERO(i) __m256i a##i = _mm256_set1_epi32(i);
#define TRN_INT8_STEP(i) \
  a##i = _mm256_add_epi32(a##i, _mm256_madd_epi16(_mm256_maddubs_epi16(x, a##i), _mm256_set1_epi16(1)));
TRN_DOT_LOOP(int8_avx2, TRN_AVX2, __m256i, TRN_12, TRN_INT8_ZERO, _mm256_set1_epi8(3), TRN_INT8_STEP,
             static_cast<float>(_mm_cvtsi128_si32(_mm256_castsi256_si128(s))))
#undef TRN_ADD
#undef TRN_INT8_ZERO
#undef TRN_INT8_STEP

#define TRN_VNNI __attribute__((target("avx512f,avx512bw,avx512vnni")))
#define TRN_ADD(i) s = _mm512_xor_si512(s, a##i);
#define TRN_INT8_ZERO(i) __m512i a##i = _mm512_set1_epi32(i);
// With the intrinsic GCC 12 moves every accumulator through memory.
#define TRN_INT8_STEP(i) asm("vpdpbusd %1, %1, %0" : "+v"(a##i) : "v"(x));
TRN_DOT_LOOP(int8_vnni, TRN_VNNI, __m512i, TRN_24, TRN_INT8_ZERO, _mm512_set1_epi8(3), TRN_INT8_STEP,
             static_cast<float>(_mm512_reduce_add_epi32(s)))
#undef TRN_ADD

#define TRN_BF16 __attribute__((target("avx512f,avx512bw,avx512bf16")))
#define TRN_ADD(i) s = _mm512_add_ps(s, a##i);
#define TRN_BF16_ZERO(i) __m512 a##i = _mm512_set1_ps(1e-3f * (1 + i));
#define TRN_BF16_STEP(i) a##i = _mm512_dpbf16_ps(a##i, (__m512bh)x, (__m512bh)x);
TRN_DOT_LOOP(bfloat16_avx512, TRN_BF16, __m512, TRN_24, TRN_BF16_ZERO, _mm512_set1_ps(1e-9f), TRN_BF16_STEP,
             _mm512_cvtss_f32(s))

#else

#define TRN_REGISTER(a) "w"(a)
TRN_FMA_LOOP(float32_baseline, , 16, TRN_24)
TRN_READ_LOOP(read_baseline, , 16)

#endif

}  // namespace

Loops loops_of(Rung rung) {
  Loops loops;
#if defined(__x86_64__)
  loops.float32 = {float32_baseline, 2.0 * 4 * 12};
  loops.int8 = {int8_baseline, 2.0 * 16 * 12};
  loops.read = read_baseline;
  if (rung >= Rung::avx2) {
    loops.float32 = {float32_avx2, 2.0 * 8 * 12};
    loops.int8 = {int8_avx2, 2.0 * 32 * 12};
    loops.read = read_avx2;
  }
  if (rung >= Rung::avx512) {
    loops.float32 = {float32_avx512, 2.0 * 16 * 24};
    loops.read = read_avx512;
    if (__builtin_cpu_supports("avx512vnni")) loops.int8 = {int8_vnni, 2.0 * 64 * 24};
    if (__builtin_cpu_supports("avx512bf16")) loops.bfloat16 = {bfloat16_avx512, 2.0 * 32 * 24};
  }
#else
  static_cast<void>(rung);
  loops.float32 = {float32_baseline, 2.0 * 4 * 24};
  loops.read = read_baseline;
#endif
  return loops;
}

}  // namespace trunnion::peak
