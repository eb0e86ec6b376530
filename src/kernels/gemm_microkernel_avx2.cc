// fp32 micro-kernels for AVX2 with FMA: up to 6 rows by 16 columns (12 accumulators of 16 registers).
#include <immintrin.h>

#include "kernels/gemm_microkernel.h"

namespace trunnion::kernels::avx2 {
namespace {

alignas(32) constexpr int32_t kMasks[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};

struct V {
  using T = __m256;
  static constexpr int kLanes = 8;
  static __m256i mask(int64_t n) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kMasks + 8 - (n > 8 ? 8 : n < 0 ? 0 : n)));
  }
  static T zero() { return _mm256_setzero_ps(); }
  static T set1(float x) { return _mm256_set1_ps(x); }
  static T load(const float* p) { return _mm256_loadu_ps(p); }
  static void store(float* p, T x) { _mm256_storeu_ps(p, x); }
  static T load_n(const float* p, int64_t n) { return _mm256_maskload_ps(p, mask(n)); }
  static void store_n(float* p, T x, int64_t n) { _mm256_maskstore_ps(p, mask(n), x); }
  static T fma(T a, T b, T c) { return _mm256_fmadd_ps(a, b, c); }
  static T dot(T a, T b, T c) { return fma(a, b, c); }
  static T add(T a, T b) { return _mm256_add_ps(a, b); }
  static T mul(T a, T b) { return _mm256_mul_ps(a, b); }
  static T min(T a, T b) { return _mm256_min_ps(a, b); }
  static T max(T a, T b) { return _mm256_max_ps(a, b); }
  static T leaky(T x, T slope) {
    return _mm256_blendv_ps(x, _mm256_mul_ps(x, slope), _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_LT_OQ));
  }
  static float sum(T x) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
  }
};

#include "kernels/gemm_microkernel_inl.h"

}  // namespace

extern const GemmMicroTable kGemmMicroTable;
const GemmMicroTable kGemmMicroTable = {
    8,
    16,
    6,
    2,
    {nullptr, tile<1, 1>, tile<2, 1>, tile<3, 1>, tile<4, 1>, tile<5, 1>, tile<6, 1>},
    {nullptr, tile<1, 2>, tile<2, 2>, tile<3, 2>, tile<4, 2>, tile<5, 2>, tile<6, 2>},
    {nullptr, tile<1, 8>, tile<2, 8>},
    {{},
     {nullptr, narrow<1, 1>, narrow<1, 2>, narrow<1, 3>, narrow<1, 4>},
     {nullptr, narrow<2, 1>, narrow<2, 2>, narrow<2, 3>, narrow<2, 4>},
     {nullptr, narrow<3, 1>, narrow<3, 2>, narrow<3, 3>, narrow<3, 4>},
     {nullptr, narrow<4, 1>, narrow<4, 2>, narrow<4, 3>, narrow<4, 4>}},
};

}  // namespace trunnion::kernels::avx2
