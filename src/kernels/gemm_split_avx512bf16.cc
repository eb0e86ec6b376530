// A row of fp32 values to planes of bfloat16 (gemm_split.h) with AVX-512 BF16.
#pragma GCC diagnostic ignored "-Wuninitialized"  // false alarms in the headers of GCC 12
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>

#include "kernels/gemm_split.h"

namespace trunnion::kernels::avx512bf16 {
namespace {

constexpr int64_t kPlane = 2 * 16 * kSplitDepth;  // values from plane to plane

__m512 widened(__m256i half) { return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16)); }

// Values that would be rounded to infinity, or are not finite.
bool too_large(__m512 x) {
  const __m512i magnitude = _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(0x7fffffff));
  return _mm512_cmpge_epu32_mask(magnitude, _mm512_set1_epi32(0x7f7f8000)) != 0;
}

void planes_of(__m512 low, __m512 high, int planes, uint16_t* row) {
  for (int p = 0; p < planes; ++p) {
    const __m512i rounded = (__m512i)_mm512_cvtne2ps_pbh(high, low);
    _mm512_storeu_si512(row + p * kPlane, rounded);
    low = _mm512_sub_ps(low, widened(_mm512_castsi512_si256(rounded)));
    high = _mm512_sub_ps(high, widened(_mm512_extracti64x4_epi64(rounded, 1)));
  }
}

}  // namespace

bool split_row(const float* x, int64_t k, int planes, uint16_t* row) {
  const auto left = [&](int64_t i) -> __mmask16 {
    return i >= k ? 0 : i + 16 <= k ? 0xffff : static_cast<__mmask16>((1u << (k - i)) - 1);
  };
  uint16_t* out = row;
  for (int64_t i = 0; i < k; i += kSplitDepth, out += planes * kPlane) {
    const __m512 low = _mm512_maskz_loadu_ps(left(i), x + i), high = _mm512_maskz_loadu_ps(left(i + 16), x + i + 16);
    if (too_large(low) || too_large(high)) return split_row_plain(x, k, planes, row);
    planes_of(low, high, planes, out);
  }
  return true;
}

}  // namespace trunnion::kernels::avx512bf16
