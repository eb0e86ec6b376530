// f32 to small integers with saturation for x.simd.cc files, compiled once per target: four vectors to bytes, two to
// 16 bits, in the order of the elements.
#include "hwy/highway.h"
#include "kernels/vec_math-inl.h"

#if defined(TRUNNION_KERNELS_VEC_BYTES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TRUNNION_KERNELS_VEC_BYTES_INL_H_
#undef TRUNNION_KERNELS_VEC_BYTES_INL_H_
#else
#define TRUNNION_KERNELS_VEC_BYTES_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace trunnion::kernels::HWY_NAMESPACE {

// Rounds half to even. v must be below 2^31 in size; NaN gives any number.
HWY_INLINE VI RoundToInt(VF v) {
#if HWY_TARGET == HWY_AVX3
  return VI{_mm512_cvtps_epi32(v.raw)};
#elif HWY_TARGET == HWY_AVX2
  return VI{_mm256_cvtps_epi32(v.raw)};
#elif HWY_TARGET == HWY_SSE4
  return VI{_mm_cvtps_epi32(v.raw)};
#else
  return hn::NearestInt(v);
#endif
}

// Stores 4 vectors of integers as bytes, saturated to the range of T (u8 or i8). |values| must be below 2^30.
template <class T>
HWY_INLINE void StoreBytes(VI a, VI b, VI c, VI d, T* to) {
  constexpr bool kSigned = static_cast<T>(-1) < 0;
#if HWY_TARGET == HWY_AVX3
  const __m512i ab = _mm512_packs_epi32(a.raw, b.raw), cd = _mm512_packs_epi32(c.raw, d.raw);
  const __m512i bytes = kSigned ? _mm512_packs_epi16(ab, cd) : _mm512_packus_epi16(ab, cd);
  // Each 128-bit block holds four elements of each vector.
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  _mm512_storeu_si512(to, _mm512_permutexvar_epi32(order, bytes));
#elif HWY_TARGET == HWY_AVX2
  const __m256i ab = _mm256_packs_epi32(a.raw, b.raw), cd = _mm256_packs_epi32(c.raw, d.raw);
  const __m256i bytes = kSigned ? _mm256_packs_epi16(ab, cd) : _mm256_packus_epi16(ab, cd);
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_permutevar8x32_epi32(bytes, order));
#elif HWY_TARGET == HWY_SSE4
  const __m128i ab = _mm_packs_epi32(a.raw, b.raw), cd = _mm_packs_epi32(c.raw, d.raw);
  const __m128i bytes = kSigned ? _mm_packs_epi16(ab, cd) : _mm_packus_epi16(ab, cd);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes);
#else
  const hn::Rebind<T, DI> dt;
  const size_t lanes = hn::Lanes(DI());
  hn::StoreU(hn::DemoteTo(dt, a), dt, to);
  hn::StoreU(hn::DemoteTo(dt, b), dt, to + lanes);
  hn::StoreU(hn::DemoteTo(dt, c), dt, to + 2 * lanes);
  hn::StoreU(hn::DemoteTo(dt, d), dt, to + 3 * lanes);
#endif
}

// The same for 4 vectors as 16 bits (u16 or i16).
template <class T>
HWY_INLINE void StoreShorts(VI a, VI b, VI c, VI d, T* to) {
  const hn::Rebind<T, DI> dt;
  const size_t lanes = hn::Lanes(DI());
  hn::StoreU(hn::DemoteTo(dt, a), dt, to);
  hn::StoreU(hn::DemoteTo(dt, b), dt, to + lanes);
  hn::StoreU(hn::DemoteTo(dt, c), dt, to + 2 * lanes);
  hn::StoreU(hn::DemoteTo(dt, d), dt, to + 3 * lanes);
}

}  // namespace trunnion::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
