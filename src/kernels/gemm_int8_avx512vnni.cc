// 8-bit integer micro-kernels for AVX-512 with VNNI: unsigned A by signed B, four products an instruction and lane.
// A signed A is shifted into the unsigned range as it is read.
#pragma GCC diagnostic ignored "-Wuninitialized"  // false alarms in the headers of GCC 12
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>

#include "kernels/gemm_int8_microkernel.h"

namespace trunnion::kernels::avx512vnni {
namespace {

struct V {
  using T = __m512i;
  static constexpr int kLanes = 16;
  static T zero() { return _mm512_setzero_si512(); }
  static T set1(int32_t x) { return _mm512_set1_epi32(x); }
  static T load(const void* p) { return _mm512_loadu_si512(p); }
  static void store_n(int32_t* p, T x, int64_t n) {
    if (n >= 16) return _mm512_storeu_si512(p, x);
    if (n > 0) _mm512_mask_storeu_epi32(p, static_cast<__mmask16>((1u << n) - 1), x);
  }
  static T mul(T a, T b) { return _mm512_mullo_epi32(a, b); }
  static T sub(T a, T b) { return _mm512_sub_epi32(a, b); }
  template <bool kSigned>
  static T group(const unsigned char* p) {
    int32_t four;
    __builtin_memcpy(&four, p, 4);
    const T x = _mm512_set1_epi32(four);
    return kSigned ? _mm512_xor_si512(x, _mm512_set1_epi32(static_cast<int32_t>(0x80808080u))) : x;
  }
  static T dot(T sum, T a, T b) { return _mm512_dpbusd_epi32(sum, a, b); }
};

#include "kernels/gemm_int8_microkernel_inl.h"

#define TRN_ROWS(NV, S)                                                                                               \
  {                                                                                                                   \
    nullptr, int8_tile<1, NV, S>, int8_tile<2, NV, S>, int8_tile<3, NV, S>, int8_tile<4, NV, S>, int8_tile<5, NV, S>, \
        int8_tile<6, NV, S>, int8_tile<7, NV, S>, int8_tile<8, NV, S>, int8_tile<9, NV, S>, int8_tile<10, NV, S>,     \
        int8_tile<11, NV, S>, int8_tile<12, NV, S>, int8_tile<13, NV, S>, int8_tile<14, NV, S>                        \
  }

}  // namespace

extern const Int8MicroTable kInt8MicroTable;
const Int8MicroTable kInt8MicroTable = {
    16, 32, 14, true, {TRN_ROWS(2, false), TRN_ROWS(2, true)}, {TRN_ROWS(1, false), TRN_ROWS(1, true)}};

}  // namespace trunnion::kernels::avx512vnni
