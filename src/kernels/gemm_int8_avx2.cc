// 8-bit integer micro-kernels for AVX2: operands widened to 16 bits, so that no product saturates.
#include <immintrin.h>

#include "kernels/gemm_int8_microkernel.h"

namespace trunnion::kernels::avx2 {
namespace {

struct V {
  using T = __m256i;
  static constexpr int kLanes = 8;
  static T zero() { return _mm256_setzero_si256(); }
  static T set1(int32_t x) { return _mm256_set1_epi32(x); }
  static T load(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
  static void store_n(int32_t* p, T x, int64_t n) {
    if (n >= 8) return _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x);
    alignas(32) int32_t lanes[8];
    _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), x);
    for (int64_t i = 0; i < n; ++i) p[i] = lanes[i];
  }
  static T mul(T a, T b) { return _mm256_mullo_epi32(a, b); }
  static T sub(T a, T b) { return _mm256_sub_epi32(a, b); }
  template <bool kSigned>
  static T group(const unsigned char* p) {
    int32_t pair;
    __builtin_memcpy(&pair, p, 4);
    return _mm256_set1_epi32(pair);
  }
  // In assembly because GCC 12 does not keep the sums of this pair in their registers.
  static T dot(T sum, T a, T b) {
    T products;
    __asm__("vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0" : "+x"(sum), "=&x"(products) : "x"(a), "x"(b));
    return sum;
  }
};

#include "kernels/gemm_int8_microkernel_inl.h"

#define TRN_ROWS(NV)                                                                                             \
  {                                                                                                              \
    nullptr, int8_tile<1, NV, false>, int8_tile<2, NV, false>, int8_tile<3, NV, false>, int8_tile<4, NV, false>, \
        int8_tile<5, NV, false>, int8_tile<6, NV, false>                                                         \
  }

}  // namespace

extern const Int8MicroTable kInt8MicroTable;
const Int8MicroTable kInt8MicroTable = {8, 16, 6, false, {TRN_ROWS(2), TRN_ROWS(2)}, {TRN_ROWS(1), TRN_ROWS(1)}};

}  // namespace trunnion::kernels::avx2
