// Sixteen floats, for the micro-kernels of AVX-512: what those of fp32 and of bfloat16 share. Included inside the
// namespace and the unnamed one of each, since they are compiled for different instruction sets.
struct Vector512 {
  using T = __m512;
  static constexpr int kLanes = 16;
  static __mmask16 mask(int64_t n) { return n >= 16 ? 0xffff : n <= 0 ? 0 : static_cast<__mmask16>((1u << n) - 1); }
  static T zero() { return _mm512_setzero_ps(); }
  static T set1(float x) { return _mm512_set1_ps(x); }
  static T load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, T x) { _mm512_storeu_ps(p, x); }
  static T load_n(const float* p, int64_t n) { return _mm512_maskz_loadu_ps(mask(n), p); }
  static void store_n(float* p, T x, int64_t n) { _mm512_mask_storeu_ps(p, mask(n), x); }
  static T fma(T a, T b, T c) { return _mm512_fmadd_ps(a, b, c); }
  static T add(T a, T b) { return _mm512_add_ps(a, b); }
  static T mul(T a, T b) { return _mm512_mul_ps(a, b); }
  static T min(T a, T b) { return _mm512_min_ps(a, b); }
  static T max(T a, T b) { return _mm512_max_ps(a, b); }
  static T leaky(T x, T slope) {
    return _mm512_mask_mul_ps(x, _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_LT_OQ), x, slope);
  }
  static float sum(T x) { return _mm512_reduce_add_ps(x); }
};
