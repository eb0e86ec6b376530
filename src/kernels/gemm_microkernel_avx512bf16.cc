// Bfloat16 micro-kernels for AVX-512 with BF16: the fp32 ones with a product of pairs for the multiply-add.
#pragma GCC diagnostic ignored "-Wuninitialized"  // false alarms in the headers of GCC 12
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>

#include "kernels/gemm_bf16_table.h"

namespace trunnion::kernels::avx512bf16 {
namespace {

#include "kernels/gemm_vector_avx512_inl.h"

struct V : Vector512 {
  static T dot(T a, T b, T c) { return _mm512_dpbf16_ps(c, (__m512bh)a, (__m512bh)b); }
};

#include "kernels/gemm_microkernel_inl.h"

void round_row(const float* x, int64_t n, float* pairs) {
  for (; n >= 32; n -= 32, x += 32, pairs += 16) {
    const __m512bh r = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(x + 16), _mm512_loadu_ps(x));
    _mm512_storeu_ps(pairs, (__m512)r);
  }
  if (n <= 0) return;
  const __m512bh r = _mm512_cvtne2ps_pbh(V::load_n(x + 16, n - 16), V::load_n(x, n));
  V::store_n(pairs, (__m512)r, (n + 1) / 2);
}

void pair_rows(const float* even, const float* odd, int64_t n, float* pairs) {
  alignas(64) static constexpr uint16_t kOrder[32] = {0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                                                      8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  const __m512i order = _mm512_load_si512(kOrder);
  for (; n > 0; n -= 16, even += 16, odd += 16, pairs += 16) {
    const __m512bh r = _mm512_cvtne2ps_pbh(V::load_n(odd, n), V::load_n(even, n));
    V::store_n(pairs, _mm512_castsi512_ps(_mm512_permutexvar_epi16(order, (__m512i)r)), n);
  }
}

}  // namespace

extern const Bf16Table kBf16Table;
const Bf16Table kBf16Table = {
    {16,
     32,
     14,
     3,
     {nullptr, tile<1, 1>, tile<2, 1>, tile<3, 1>, tile<4, 1>, tile<5, 1>, tile<6, 1>, tile<7, 1>, tile<8, 1>,
      tile<9, 1>, tile<10, 1>, tile<11, 1>, tile<12, 1>, tile<13, 1>, tile<14, 1>},
     {nullptr, tile<1, 2>, tile<2, 2>, tile<3, 2>, tile<4, 2>, tile<5, 2>, tile<6, 2>, tile<7, 2>, tile<8, 2>,
      tile<9, 2>, tile<10, 2>, tile<11, 2>, tile<12, 2>, tile<13, 2>, tile<14, 2>},
     {nullptr, tile<1, 8>, tile<2, 8>, tile<3, 8>},
     {}},
    round_row,
    pair_rows,
};

}  // namespace trunnion::kernels::avx512bf16
