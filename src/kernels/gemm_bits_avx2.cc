// Quantized rows times panels of 4-bit codes with AVX2: pairs of products in 16 bits (2 * 15 * 127 fits), then in 32.
#include <immintrin.h>

#include "kernels/gemm_bits.h"

namespace trunnion::kernels::avx2 {
namespace {

template <int kRows>
void tile(const BitsPanel& p, const BitsRows& a, const float* bias, int64_t cols, float* y, int64_t ldy) {
  const int64_t blocks = p.k ? (p.k - 1) / p.block + 1 : 0;
  const __m256i mask = _mm256_set1_epi8(15), ones = _mm256_set1_epi16(1);
  alignas(32) float total[kRows][kBitsPanel] = {};
  const uint8_t* codes = p.codes;
  const int8_t* row = a.codes;
  for (int64_t b = 0; b < blocks; ++b) {
    const int64_t length = p.k - b * p.block < p.block ? p.k - b * p.block : p.block;
    __m256i acc[kRows][4];
    for (int r = 0; r < kRows; ++r)
      for (int j = 0; j < 4; ++j) acc[r][j] = _mm256_setzero_si256();
    for (int64_t k = 0; k < length; k += 4, row += 4, codes += 64) {
      const __m256i v0 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes)),
                    v1 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes + 32));
      const __m256i w[4] = {_mm256_and_si256(v0, mask), _mm256_and_si256(v1, mask),
                            _mm256_and_si256(_mm256_srli_epi16(v0, 4), mask),
                            _mm256_and_si256(_mm256_srli_epi16(v1, 4), mask)};
      for (int r = 0; r < kRows; ++r) {
        int32_t four;
        __builtin_memcpy(&four, row + r * a.ld, 4);
        const __m256i x = _mm256_set1_epi32(four);
        for (int j = 0; j < 4; ++j)
          acc[r][j] = _mm256_add_epi32(acc[r][j], _mm256_madd_epi16(_mm256_maddubs_epi16(w[j], x), ones));
      }
    }
    for (int r = 0; r < kRows; ++r) {
      const __m256 scale = _mm256_set1_ps(a.scales[r * blocks + b]),
                   sum = _mm256_set1_ps(static_cast<float>(a.sums[r * blocks + b]));
      for (int j = 0; j < 4; ++j) {
        const int64_t at = b * kBitsPanel + 8 * j;
        const __m256 zero = p.zeros ? _mm256_loadu_ps(p.zeros + at) : _mm256_set1_ps(p.zero);
        const __m256 v = _mm256_fnmadd_ps(zero, sum, _mm256_cvtepi32_ps(acc[r][j]));
        const __m256 t = _mm256_load_ps(total[r] + 8 * j);
        _mm256_store_ps(total[r] + 8 * j, _mm256_fmadd_ps(_mm256_mul_ps(v, scale), _mm256_loadu_ps(p.scales + at), t));
      }
    }
  }
  for (int r = 0; r < kRows; ++r, y += ldy)
    for (int64_t c = 0; c < cols; ++c) y[c] = bias ? total[r][c] + bias[c] : total[r][c];
}

// Sixteen registers hold the sums of two rows.
void rows_of(const BitsPanel& p, const BitsRows& a, int rows, const float* bias, int64_t cols, float* y, int64_t ldy) {
  const int64_t blocks = p.k ? (p.k - 1) / p.block + 1 : 0;
  BitsRows at = a;
  for (; rows >= 2; rows -= 2) {
    tile<2>(p, at, bias, cols, y, ldy);
    at.codes += 2 * a.ld;
    at.scales += 2 * blocks;
    at.sums += 2 * blocks;
    y += 2 * ldy;
  }
  if (rows) tile<1>(p, at, bias, cols, y, ldy);
}

}  // namespace

extern const GemmBitsInt8Fn kGemmBitsInt8;
const GemmBitsInt8Fn kGemmBitsInt8 = rows_of;

}  // namespace trunnion::kernels::avx2
