// fp32 micro-kernels for AVX-512: up to 14 rows by 32 columns (28 accumulators of 32 registers).
#pragma GCC diagnostic ignored "-Wuninitialized"  // false alarms in the headers of GCC 12
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>

#include "kernels/gemm_microkernel.h"

namespace trunnion::kernels::avx512 {
namespace {

#include "kernels/gemm_vector_avx512_inl.h"

struct V : Vector512 {
  static T dot(T a, T b, T c) { return fma(a, b, c); }

  static constexpr bool kPairs = true;
  using Loose [[gnu::may_alias, gnu::aligned(4)]] = double;  // two floats as one
  static T load_pair(const float* p) { return _mm512_castpd_ps(_mm512_set1_pd(*reinterpret_cast<const Loose*>(p))); }
  static T load_one(const float* p) { return _mm512_maskz_broadcastss_ps(0x5555, _mm_load_ss(p)); }
  // The columns 0 and 1 of every four, even k beside odd k; the columns 2 and 3; and their sums back in order.
  static T zip_low(T even, T odd) { return _mm512_unpacklo_ps(even, odd); }
  static T zip_high(T even, T odd) { return _mm512_unpackhi_ps(even, odd); }
  static T join(T low, T high) {
    return _mm512_add_ps(_mm512_shuffle_ps(low, high, 0x88), _mm512_shuffle_ps(low, high, 0xdd));
  }
};

#include "kernels/gemm_microkernel_inl.h"

}  // namespace

extern const GemmMicroTable kGemmMicroTable;
const GemmMicroTable kGemmMicroTable = {
    16,
    32,
    14,
    3,
    {nullptr, tile<1, 1>, tile<2, 1>, tile<3, 1>, tile<4, 1>, tile<5, 1>, tile<6, 1>, tile<7, 1>, tile<8, 1>,
     tile<9, 1>, tile<10, 1>, tile<11, 1>, tile<12, 1>, tile<13, 1>, tile<14, 1>},
    {nullptr, tile<1, 2>, tile<2, 2>, tile<3, 2>, tile<4, 2>, tile<5, 2>, tile<6, 2>, tile<7, 2>, tile<8, 2>,
     tile<9, 2>, tile<10, 2>, tile<11, 2>, tile<12, 2>, tile<13, 2>, tile<14, 2>},
    {nullptr, tile<1, 8>, tile<2, 8>, tile<3, 8>},
    {{},
     {nullptr, narrow<1, 1>, narrow<1, 2>, narrow<1, 3>, narrow<1, 4>},
     {nullptr, narrow<2, 1>, narrow<2, 2>, narrow<2, 3>, narrow<2, 4>},
     {nullptr, narrow<3, 1>, narrow<3, 2>, narrow<3, 3>, narrow<3, 4>},
     {nullptr, narrow<4, 1>, narrow<4, 2>, narrow<4, 3>, narrow<4, 4>}},
};

}  // namespace trunnion::kernels::avx512
