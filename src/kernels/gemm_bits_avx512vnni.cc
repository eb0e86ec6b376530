// Quantized rows times panels of codes with AVX-512 VNNI: four products an instruction and lane, codes as unsigned
// bytes.
#pragma GCC diagnostic ignored "-Wuninitialized"  // false alarms in the headers of GCC 12
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>

#include "kernels/gemm_bits.h"

namespace trunnion::kernels::avx512vnni {
namespace {

template <int kBits, int kRows>
void tile(const BitsPanel& p, const BitsRows& a, const float* bias, int64_t cols, float* y, int64_t ldy) {
  const int64_t blocks = p.k ? (p.k - 1) / p.block + 1 : 0;
  const __m512i mask = _mm512_set1_epi8(kBits == 4 ? 15 : static_cast<char>(0x80));
  const auto whole = static_cast<int32_t>(p.zeros ? 0.0f : p.zero);
  const float rest = p.zeros ? 0.0f : p.zero - static_cast<float>(whole);
  // Integer part of the zero point; 8-bit codes are made unsigned, 128 larger.
  const int32_t base = whole + (kBits == 8 ? 128 : 0);
  const bool corrects = p.zeros || rest != 0;
  __m512 total[kRows][2];
  for (int r = 0; r < kRows; ++r) total[r][0] = total[r][1] = _mm512_setzero_ps();
  const uint8_t* codes = p.codes;
  const int8_t* row = a.codes;
  for (int64_t b = 0; b < blocks; ++b) {
    const int64_t length = p.k - b * p.block < p.block ? p.k - b * p.block : p.block;
    __m512i acc[kRows][2];
    for (int r = 0; r < kRows; ++r) acc[r][0] = acc[r][1] = _mm512_set1_epi32(-base * a.sums[r * blocks + b]);
    for (int64_t k = 0; k < length; k += 4, row += 4) {
      __m512i w0 = _mm512_loadu_si512(codes), w1;
      if constexpr (kBits == 4) {
        w1 = _mm512_and_si512(_mm512_srli_epi16(w0, 4), mask);
        w0 = _mm512_and_si512(w0, mask);
        codes += 64;
      } else {
        w0 = _mm512_xor_si512(w0, mask);
        w1 = _mm512_xor_si512(_mm512_loadu_si512(codes + 64), mask);
        codes += 128;
      }
      for (int r = 0; r < kRows; ++r) {
        int32_t four;
        __builtin_memcpy(&four, row + r * a.ld, 4);
        const __m512i x = _mm512_set1_epi32(four);
        acc[r][0] = _mm512_dpbusd_epi32(acc[r][0], w0, x);
        acc[r][1] = _mm512_dpbusd_epi32(acc[r][1], w1, x);
      }
    }
    for (int j = 0; j < 2; ++j) {
      const int64_t at = b * kBitsPanel + 16 * j;
      const __m512 scale = _mm512_loadu_ps(p.scales + at);
      const __m512 zero = p.zeros ? _mm512_loadu_ps(p.zeros + at) : _mm512_set1_ps(rest);
      for (int r = 0; r < kRows; ++r) {
        __m512 v = _mm512_cvtepi32_ps(acc[r][j]);
        if (corrects) v = _mm512_fnmadd_ps(zero, _mm512_set1_ps(static_cast<float>(a.sums[r * blocks + b])), v);
        total[r][j] = _mm512_fmadd_ps(_mm512_mul_ps(v, _mm512_set1_ps(a.scales[r * blocks + b])), scale, total[r][j]);
      }
    }
  }
  for (int r = 0; r < kRows; ++r, y += ldy)
    for (int j = 0; j < 2; ++j) {
      const int64_t left = cols - 16 * j;
      if (left <= 0) break;
      const auto m = static_cast<__mmask16>(left >= 16 ? 0xFFFF : (1u << left) - 1);
      __m512 v = total[r][j];
      if (bias) v = _mm512_add_ps(v, _mm512_maskz_loadu_ps(m, bias + 16 * j));
      _mm512_mask_storeu_ps(y + 16 * j, m, v);
    }
}

template <int kBits>
void rows_of(const BitsPanel& p, const BitsRows& a, int rows, const float* bias, int64_t cols, float* y, int64_t ldy) {
  if (rows == 1) return tile<kBits, 1>(p, a, bias, cols, y, ldy);
  if (rows == 2) return tile<kBits, 2>(p, a, bias, cols, y, ldy);
  if (rows == 3) return tile<kBits, 3>(p, a, bias, cols, y, ldy);
  tile<kBits, 4>(p, a, bias, cols, y, ldy);
}

}  // namespace

extern const GemmBitsInt8Fn kGemmBitsInt8[2];
const GemmBitsInt8Fn kGemmBitsInt8[2] = {rows_of<4>, rows_of<8>};

}  // namespace trunnion::kernels::avx512vnni
