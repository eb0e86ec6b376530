// Tree walks for AVX-512: sixteen lanes with gathers, four registers at a time to hide their latency.
#pragma GCC diagnostic ignored "-Wuninitialized"  // false alarms in the headers of GCC 12
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include "kernels/tree_walk_avx512.h"

#include <immintrin.h>

namespace trunnion::kernels::avx512 {
namespace {

constexpr int kLanes = 16, kRegisters = 4;
constexpr int kGroup = 4;  // steps between looks at whether all have arrived
constexpr int kBits = kTreeFeatureBits<uint32_t>;

// The children that lanes with value v go to, from what their nodes say.
template <bool kNan>
inline __m512i children(__m512i base, __m512i link, __m512 threshold, __m512 v) {
  __mmask16 second = _mm512_cmp_ps_mask(v, threshold, _CMP_GT_OQ);
  if (kNan)
    second |= _mm512_mask_cmp_ps_mask(_mm512_test_epi32_mask(link, _mm512_set1_epi32(1 << kBits)), v, v, _CMP_UNORD_Q);
  const __m512i child = _mm512_add_epi32(base, _mm512_srli_epi32(link, kBits + 1));
  return _mm512_mask_add_epi32(child, second, child, _mm512_set1_epi32(1));
}

// offset is where each lane's row begins in x.
inline __m512 values(const float* x, __m512i link, __m512i offset) {
  const __m512i feature = _mm512_and_si512(link, _mm512_set1_epi32((1 << kBits) - 1));
  return _mm512_i32gather_ps(_mm512_add_epi32(feature, offset), x, 4);
}

// Nodes are numbered from the arrays' begin; base is that of each lane's tree.
template <bool kNan>
inline __m512i step(const float* threshold, const uint32_t* link, const float* x, __m512i base, __m512i offset,
                    __m512i k) {
  const __m512i l = _mm512_i32gather_epi32(k, link, 4);
  return children<kNan>(base, l, _mm512_i32gather_ps(k, threshold, 4), values(x, l, offset));
}

template <bool kNan, int kCount>
inline void walk(const float* threshold, const uint32_t* link, const float* x, const __m512i* base,
                 const __m512i* offset, int steps, __m512i* k) {
  for (; steps > 0; steps -= kGroup) {
    for (int s = 0; s < kGroup - 1 && s < steps - 1; ++s)
#pragma GCC unroll 4
      for (int i = 0; i < kCount; ++i) k[i] = step<kNan>(threshold, link, x, base[i], offset[i], k[i]);
    __mmask16 moved = 0;
#pragma GCC unroll 4
    for (int i = 0; i < kCount; ++i) {
      const __m512i to = step<kNan>(threshold, link, x, base[i], offset[i], k[i]);
      moved |= _mm512_cmpneq_epi32_mask(to, k[i]);
      k[i] = to;
    }
    if (!moved) return;
  }
}

// The first steps of all lanes in one tree: the nodes of its upper levels (breadth first: the first 15 and 31) lie in
// registers.
template <bool kNan, int kCount>
inline int walk_top(const float* threshold, const uint32_t* link, const float* x, const __m512i* offset, int steps,
                    __m512i* k) {
  const __m512i link0 = _mm512_loadu_si512(link), link1 = _mm512_loadu_si512(link + 16), zero = _mm512_setzero_si512();
  const __m512 threshold0 = _mm512_loadu_ps(threshold), threshold1 = _mm512_loadu_ps(threshold + 16);
  const int small = steps < 4 ? steps : 4;
  for (int s = 0; s < small; ++s)
#pragma GCC unroll 4
    for (int i = 0; i < kCount; ++i) {
      const __m512i l = _mm512_permutexvar_epi32(k[i], link0);
      k[i] = children<kNan>(zero, l, _mm512_permutexvar_ps(k[i], threshold0), values(x, l, offset[i]));
    }
  if (steps <= 4) return 0;
#pragma GCC unroll 4
  for (int i = 0; i < kCount; ++i) {
    const __m512i l = _mm512_permutex2var_epi32(link0, k[i], link1);
    k[i] = children<kNan>(zero, l, _mm512_permutex2var_ps(threshold0, k[i], threshold1), values(x, l, offset[i]));
  }
  return steps - 5;
}

inline __m512i lanes() { return _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15); }

inline __mmask16 low_lanes(int64_t n) {
  return static_cast<__mmask16>(n >= kLanes ? 0xffff : n <= 0 ? 0 : (1 << n) - 1);
}

template <bool kNan, int kCount>
inline void walk_rows(const float* threshold, const uint32_t* link, const float* x, int64_t stride, int steps,
                      uint32_t* slot) {
  __m512i base[kCount], offset[kCount], k[kCount];
  for (int i = 0; i < kCount; ++i) {
    base[i] = k[i] = _mm512_setzero_si512();
    offset[i] = _mm512_mullo_epi32(_mm512_add_epi32(lanes(), _mm512_set1_epi32(i * kLanes)),
                                   _mm512_set1_epi32(static_cast<int>(stride)));
  }
  steps = walk_top<kNan, kCount>(threshold, link, x, offset, steps, k);
  walk<kNan, kCount>(threshold, link, x, base, offset, steps, k);
  for (int i = 0; i < kCount; ++i) _mm512_storeu_si512(slot + i * kLanes, k[i]);
}

void rows(const float* threshold, const uint32_t* link, const float* x, int64_t stride, int64_t count, int steps,
          bool has_nan, uint32_t* slot) {
  constexpr int64_t kAll = kRegisters * kLanes, kHalf = 2 * kLanes;
  int64_t r = 0;
  for (; r + kAll <= count; r += kAll)
    has_nan ? walk_rows<true, kRegisters>(threshold, link, x + r * stride, stride, steps, slot + r)
            : walk_rows<false, kRegisters>(threshold, link, x + r * stride, stride, steps, slot + r);
  for (; r + kHalf <= count; r += kHalf)
    has_nan ? walk_rows<true, 2>(threshold, link, x + r * stride, stride, steps, slot + r)
            : walk_rows<false, 2>(threshold, link, x + r * stride, stride, steps, slot + r);
  if (r < count) tree_walk_plain().rows(threshold, link, x + r * stride, stride, count - r, steps, has_nan, slot + r);
}

template <int kCount>
inline void walk_trees(const float* threshold, const uint32_t* link, const uint32_t* first, int64_t count,
                       const float* x, int steps, bool has_nan, uint32_t* slot) {
  __m512i base[kCount], offset[kCount], k[kCount];
  __mmask16 used[kCount];
  for (int i = 0; i < kCount; ++i) {
    const int64_t left = count - i * kLanes;
    used[i] = low_lanes(left);
    // Lanes behind the last tree walk the first one.
    base[i] = _mm512_mask_loadu_epi32(_mm512_set1_epi32(static_cast<int>(first[0])), used[i], first + i * kLanes);
    offset[i] = _mm512_setzero_si512();
  }
  for (int i = 0; i < kCount; ++i) k[i] = base[i];
  has_nan ? walk<true, kCount>(threshold, link, x, base, offset, steps, k)
          : walk<false, kCount>(threshold, link, x, base, offset, steps, k);
  for (int i = 0; i < kCount; ++i) _mm512_mask_storeu_epi32(slot + i * kLanes, used[i], k[i]);
}

void trees(const float* threshold, const uint32_t* link, const uint32_t* first, int64_t count, const float* x,
           int steps, bool has_nan, uint32_t* slot) {
  for (int64_t t = 0; t < count;) {
    const int64_t left = count - t, n = left < kRegisters * kLanes ? left : kRegisters * kLanes;
    if (n > 2 * kLanes)
      walk_trees<kRegisters>(threshold, link, first + t, n, x, steps, has_nan, slot + t);
    else if (n > kLanes)
      walk_trees<2>(threshold, link, first + t, n, x, steps, has_nan, slot + t);
    else
      walk_trees<1>(threshold, link, first + t, n, x, steps, has_nan, slot + t);
    t += n;
  }
}

}  // namespace

const TreeWalk<float, uint32_t> kTreeWalk = {&rows, &trees};

}  // namespace trunnion::kernels::avx512
