// Depthwise 8-bit integer convolution for AVX-512 with VNNI: 64 channels of a pixel at a time. The bytes of four taps
// are interleaved, so that one instruction adds four products to each sum.
#pragma GCC diagnostic ignored "-Wuninitialized"  // false alarms in the headers of GCC 12
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>

#include "kernels/conv_int8_depthwise_lines.h"

namespace trunnion::kernels::avx512vnni {
namespace {

// Interleaving works within 128-bit parts: vector q of four has the channels 16 b + 4 q + i in lane 4 b + i.
struct Quads {
  __m512i v[4];
};
inline Quads interleave(__m512i a, __m512i b, __m512i c, __m512i d) {
  const __m512i ab0 = _mm512_unpacklo_epi8(a, b), ab1 = _mm512_unpackhi_epi8(a, b);
  const __m512i cd0 = _mm512_unpacklo_epi8(c, d), cd1 = _mm512_unpackhi_epi8(c, d);
  return {{_mm512_unpacklo_epi16(ab0, cd0), _mm512_unpackhi_epi16(ab0, cd0), _mm512_unpacklo_epi16(ab1, cd1),
           _mm512_unpackhi_epi16(ab1, cd1)}};
}

// Back to the order of channels.
inline Quads ordered(const Quads& a) {
  const __m512i t0 = _mm512_shuffle_i32x4(a.v[0], a.v[1], 0x44), t1 = _mm512_shuffle_i32x4(a.v[0], a.v[1], 0xee);
  const __m512i t2 = _mm512_shuffle_i32x4(a.v[2], a.v[3], 0x44), t3 = _mm512_shuffle_i32x4(a.v[2], a.v[3], 0xee);
  return {{_mm512_shuffle_i32x4(t0, t2, 0x88), _mm512_shuffle_i32x4(t0, t2, 0xdd), _mm512_shuffle_i32x4(t1, t3, 0x88),
           _mm512_shuffle_i32x4(t1, t3, 0xdd)}};
}

inline __mmask16 low_lanes(int64_t n) { return n >= 16 ? 0xffff : n <= 0 ? 0 : static_cast<__mmask16>((1u << n) - 1); }

// One block of channels of all pixels of the run. kTaps is the number of taps, or 0 for any; kSame: all of them move on
// by the same step; kZeros: the weights have zero points; kWhole: all 64 channels exist.
template <int kTaps, bool kSame, bool kZeros, bool kWhole>
void block(const Int8DepthwiseRun& g, int64_t c, const unsigned char* packed) {
  const int64_t left = g.channels - c, taps = kTaps ? kTaps : g.tap_count, groups = (taps + 3) / 4;
  const __mmask64 here = left >= 64 ? ~0ull : (1ull << left) - 1;
  const __m512i flip = _mm512_set1_epi8(static_cast<char>(g.x_signed ? 0x80 : 0)), ones = _mm512_set1_epi8(1);
  Quads start, zero;
  const __m512i x_zero = _mm512_set1_epi32(-g.x_zero);
  alignas(64) int32_t w_zero[64] = {};
  if (kZeros) {
    for (int64_t i = 0; i < 64 && i < left; ++i)
      w_zero[i % 16 / 4 * 16 + i / 16 * 4 + i % 4] = g.w_zero[g.w_zero_per_channel ? c + i : 0] + g.w_shift;
  }
#pragma GCC unroll 4
  for (int q = 0; q < 4; ++q) {
    start.v[q] = _mm512_mullo_epi32(x_zero, _mm512_loadu_si512(packed + groups * 256 + q * 64));
    zero.v[q] = _mm512_load_si512(w_zero + q * 16);
  }
  const __m512i all = _mm512_set1_epi32(static_cast<int32_t>(taps * int64_t{g.x_zero}));
  const unsigned char* const* at = g.taps;
  int32_t* y = g.y + c;
  int64_t offset = c;
  for (int64_t p = 0; p < g.pixels; ++p, y += g.y_step, offset += g.steps[0]) {
    Quads sum = start, plain;
#pragma GCC unroll 4
    for (int q = 0; q < 4; ++q) plain.v[q] = _mm512_setzero_si512();
    const auto load = [&](int64_t t) {
      const unsigned char* x = kSame ? at[t] + offset : at[t] + p * g.steps[t] + c;
      return _mm512_xor_si512(kWhole ? _mm512_loadu_si512(x) : _mm512_maskz_loadu_epi8(here, x), flip);
    };
    const auto group = [&](int64_t k) {
      const int64_t t = k * 4;
      const __m512i none = _mm512_setzero_si512();
      const Quads x = interleave(load(t), t + 1 < taps ? load(t + 1) : none, t + 2 < taps ? load(t + 2) : none,
                                 t + 3 < taps ? load(t + 3) : none);
#pragma GCC unroll 4
      for (int q = 0; q < 4; ++q) {
        sum.v[q] = _mm512_dpbusd_epi32(sum.v[q], x.v[q], _mm512_loadu_si512(packed + k * 256 + q * 64));
        if (kZeros) plain.v[q] = _mm512_dpbusd_epi32(plain.v[q], x.v[q], ones);
      }
    };
    if constexpr (kTaps != 0) {
#pragma GCC unroll 8
      for (int64_t k = 0; k < (kTaps + 3) / 4; ++k) group(k);
    } else {
      for (int64_t k = 0; k < groups; ++k) group(k);
    }
    if (kZeros) {
#pragma GCC unroll 4
      for (int q = 0; q < 4; ++q)
        sum.v[q] = _mm512_sub_epi32(sum.v[q], _mm512_mullo_epi32(zero.v[q], _mm512_sub_epi32(plain.v[q], all)));
    }
    const Quads out = ordered(sum);
#pragma GCC unroll 4
    for (int b = 0; b < 4; ++b) {
      if (kWhole)
        _mm512_storeu_si512(y + b * 16, out.v[b]);
      else if (left > b * 16)
        _mm512_mask_storeu_epi32(y + b * 16, low_lanes(left - b * 16), out.v[b]);
    }
  }
}

template <int kTaps, bool kSame, bool kZeros>
void blocks(const Int8DepthwiseRun& g) {
  const int64_t bytes = (g.tap_count + 3) / 4 * 256 + 256;  // int8_depthwise_block_bytes
  const unsigned char* packed = g.packed;
  int64_t c = 0;
  for (; c + 64 <= g.channels; c += 64, packed += bytes) block<kTaps, kSame, kZeros, true>(g, c, packed);
  if (c < g.channels) block<kTaps, kSame, kZeros, false>(g, c, packed);
}

void run(const Int8DepthwiseRun& g) {
  if (g.w_zero) return blocks<0, false, true>(g);
  if (g.same_steps && g.tap_count == 9) return blocks<9, true, false>(g);
  if (g.same_steps && g.tap_count == 25) return blocks<25, true, false>(g);
  if (g.same_steps) return blocks<0, true, false>(g);
  blocks<0, false, false>(g);
}

}  // namespace

extern void (*const kInt8DepthwiseRun)(const Int8DepthwiseRun&);
void (*const kInt8DepthwiseRun)(const Int8DepthwiseRun&) = run;

}  // namespace trunnion::kernels::avx512vnni
