// Rows times a panel of codes: two vectors of columns at a time, sums of a block in registers, then times its scales.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm_bits.simd.cc"
// clang-format off
#include "kernels/rung_table.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on
#include "kernels/gemm_bits.h"

#include "kernels/vec_reduce-inl.h"

HWY_BEFORE_NAMESPACE();
namespace trunnion::kernels::HWY_NAMESPACE {
namespace {

// Whether 16 floats fit a vector: 4-bit codes are then looked up in one, with the zero point taken off already, and the
// two vectors of a pass are the low and the high halves of the same bytes.
#if HWY_TARGET == HWY_AVX3
constexpr bool kLooksUp = true;
#else
constexpr bool kLooksUp = false;
#endif

// Column `column` of a group: 4 bytes for each column, two columns in a byte when they have 4 bits.
template <int kBits>
HWY_INLINE VI LoadGroup(const uint8_t* group, size_t column) {
  const auto* words = reinterpret_cast<const int32_t*>(group);
  return hn::LoadU(DI(), words + (kBits == 4 ? column % 16 : column));
}

// The codes for k = kIndex of the group as f32.
template <int kBits, int kIndex, bool kHigh>
HWY_INLINE VF Codes(VI words, [[maybe_unused]] VF table) {
  const DF d;
  const DI di;
  if constexpr (kBits == 8) {
    return hn::ConvertTo(d, hn::ShiftRight<24>(hn::ShiftLeft<24 - 8 * kIndex>(words)));
  } else {
    constexpr int kShift = 8 * kIndex + (kHigh ? 4 : 0);
    const VI v = kShift ? hn::ShiftRight<kShift>(words) : words;
#if HWY_TARGET == HWY_AVX3
    return VF{_mm512_permutexvar_ps(v.raw, table.raw)};  // reads the low four bits of each index
#else
    return hn::ConvertTo(d, hn::And(v, hn::Set(di, 15)));
#endif
  }
}

HWY_INLINE VF Table([[maybe_unused]] float zero) {
#if HWY_TARGET == HWY_AVX3
  return hn::Sub(hn::Iota(DF(), 0.0f), hn::Set(DF(), zero));
#else
  return hn::Zero(DF());
#endif
}

template <int kRows>
struct Sums {
  // Two chains, so that few rows do not wait for their own sums.
  static constexpr int kChains = kRows <= 2 ? 2 : 1;
  VF v[kRows][kChains][2];
};

template <int kBits, int kRows, bool kHigh, int kIndex>
HWY_INLINE void Step(VI g0, VI g1, VF table, const float* a, int64_t lda, Sums<kRows>& s) {
  const DF d;
  const VF w0 = Codes<kBits, kIndex, kHigh>(g0, table), w1 = Codes < kBits, kIndex, kLooksUp || kHigh > (g1, table);
  constexpr int kChain = kIndex % Sums<kRows>::kChains;
  HWY_UNROLL(8)
  for (int r = 0; r < kRows; ++r) {
    const VF x = hn::Set(d, a[r * lda + kIndex]);
    s.v[r][kChain][0] = hn::MulAdd(w0, x, s.v[r][kChain][0]);
    s.v[r][kChain][1] = hn::MulAdd(w1, x, s.v[r][kChain][1]);
  }
}

// Two vectors of columns, all rows; the sums of the whole K go to `total`, a row of kBitsPanel each.
template <int kBits, int kRows, bool kCorrects, bool kHigh>
HWY_INLINE void Columns(const BitsPanel& p, const float* a, int64_t lda, const float* sums, int64_t blocks,
                        size_t column, VF table, float* total) {
  const DF d;
  const size_t lanes = hn::Lanes(d);
  constexpr int64_t kGroup = kBits * kBitsPanel / 2;
  constexpr int kChains = Sums<kRows>::kChains;
  const uint8_t* group = p.codes;
  for (int64_t b = 0; b < blocks; ++b) {
    const int64_t begin = b * p.block, end = begin + p.block < p.k ? begin + p.block : p.k;
    Sums<kRows> s;
    HWY_UNROLL(8)
    for (int r = 0; r < kRows; ++r) {
      for (int c = 0; c < kChains; ++c) s.v[r][c][0] = s.v[r][c][1] = hn::Zero(d);
    }
    for (int64_t k = begin; k < end; k += 4, group += kGroup) {
      const VI g0 = LoadGroup<kBits>(group, column), g1 = LoadGroup<kBits>(group, column + lanes);
      Step<kBits, kRows, kHigh, 0>(g0, g1, table, a + k, lda, s);
      if (HWY_UNLIKELY(k + 4 > end)) {
        if (k + 1 < end) Step<kBits, kRows, kHigh, 1>(g0, g1, table, a + k, lda, s);
        if (k + 2 < end) Step<kBits, kRows, kHigh, 2>(g0, g1, table, a + k, lda, s);
        continue;
      }
      Step<kBits, kRows, kHigh, 1>(g0, g1, table, a + k, lda, s);
      Step<kBits, kRows, kHigh, 2>(g0, g1, table, a + k, lda, s);
      Step<kBits, kRows, kHigh, 3>(g0, g1, table, a + k, lda, s);
    }
    const float* scales = p.scales + b * kBitsPanel + column;
    const float* zeros = p.zeros ? p.zeros + b * kBitsPanel + column : nullptr;
    HWY_UNROLL(8)
    for (int r = 0; r < kRows; ++r) {
      HWY_UNROLL(2)
      for (int j = 0; j < 2; ++j) {
        VF v = kChains == 2 ? hn::Add(s.v[r][0][j], s.v[r][kChains - 1][j]) : s.v[r][0][j];
        if (kCorrects) {
          const VF zero = zeros ? hn::LoadU(d, zeros + j * lanes) : hn::Set(d, p.zero);
          v = hn::NegMulAdd(zero, hn::Set(d, sums[r * blocks + b]), v);
        }
        float* to = total + r * kBitsPanel + column + j * lanes;
        hn::StoreU(hn::MulAdd(v, hn::LoadU(d, scales + j * lanes), hn::LoadU(d, to)), d, to);
      }
    }
  }
}

template <int kBits, int kRows, bool kCorrects>
HWY_INLINE void AllColumns(const BitsPanel& p, const float* a, int64_t lda, const float* sums, int64_t blocks, VF table,
                           float* total) {
  const size_t lanes = hn::Lanes(DF());
  for (size_t column = 0; column < kBitsPanel; column += 2 * lanes) {
    if (kBits == 4 && column >= 16) {
      Columns<kBits, kRows, kCorrects, true>(p, a, lda, sums, blocks, column, table, total);
    } else {
      Columns<kBits, kRows, kCorrects, false>(p, a, lda, sums, blocks, column, table, total);
    }
  }
}

template <int kBits, int kRows>
void RowsOf(const BitsPanel& p, const float* a, int64_t lda, const float* sums, const float* bias, int64_t cols,
            float* y, int64_t ldy) {
  const int64_t blocks = p.k ? (p.k - 1) / p.block + 1 : 0;
  HWY_ALIGN float total[kRows * kBitsPanel] = {};
  const bool looks_up = kLooksUp && kBits == 4;
  const VF table = Table(p.zeros ? 0.0f : p.zero);
  if (p.zeros || (!looks_up && p.zero != 0)) {
    AllColumns<kBits, kRows, true>(p, a, lda, sums, blocks, table, total);
  } else {
    AllColumns<kBits, kRows, false>(p, a, lda, sums, blocks, table, total);
  }
  for (int r = 0; r < kRows; ++r, y += ldy) {
    const float* from = total + r * kBitsPanel;
    for (int64_t c = 0; c < cols; ++c) y[c] = bias ? from[c] + bias[c] : from[c];
  }
}

template <int kBits>
HWY_INLINE void RowsFor(const BitsPanel& p, const float* a, int64_t lda, int rows, const float* sums, const float* bias,
                        int64_t cols, float* y, int64_t ldy) {
  switch (rows) {
    case 1:
      return RowsOf<kBits, 1>(p, a, lda, sums, bias, cols, y, ldy);
    case 2:
      return RowsOf<kBits, 2>(p, a, lda, sums, bias, cols, y, ldy);
    case 3:
      return RowsOf<kBits, 3>(p, a, lda, sums, bias, cols, y, ldy);
    default:
      return RowsOf<kBits, 4>(p, a, lda, sums, bias, cols, y, ldy);
  }
}

void Rows(const BitsPanel& p, const float* a, int64_t lda, int rows, const float* sums, const float* bias, int64_t cols,
          float* y, int64_t ldy) {
  if (p.bits == 8) {
    RowsFor<8>(p, a, lda, rows, sums, bias, cols, y, ldy);
  } else {
    RowsFor<4>(p, a, lda, rows, sums, bias, cols, y, ldy);
  }
}

void BlockSums(const float* a, int64_t lda, int64_t rows, int64_t k, int64_t block, float* sums) {
  for (int64_t r = 0; r < rows; ++r, a += lda) {
    for (int64_t at = 0; at < k; at += block)
      *sums++ = SumRange(DF(), a + at, static_cast<size_t>(k - at < block ? k - at : block), SameMap());
  }
}

template <int kBits, int kIndex>
HWY_INLINE void UnpackRow(const BitsPanel& p, const uint8_t* group, int64_t block, VF table, float* y) {
  const DF d;
  const size_t lanes = hn::Lanes(d);
  for (size_t column = 0; column < kBitsPanel; column += lanes) {
    const VI words = LoadGroup<kBits>(group, column);
    const VF code = kBits == 4 && column >= 16 ? Codes<kBits, kIndex, true>(words, table)
                                               : Codes<kBits, kIndex, false>(words, table);
    const VF scale = hn::LoadU(d, p.scales + block * kBitsPanel + column);
    const VF zero = p.zeros ? hn::LoadU(d, p.zeros + block * kBitsPanel + column) : hn::Set(d, p.zero);
    hn::StoreU(hn::Mul(hn::Sub(code, zero), scale), d, y + column);
  }
}

template <int kBits>
HWY_INLINE void UnpackAs(const BitsPanel& p, float* y, int64_t ldy) {
  constexpr int64_t kGroup = kBits * kBitsPanel / 2;
  const VF table = Table(0.0f);
  const uint8_t* group = p.codes;
  for (int64_t k = 0; k < p.k; k += 4, group += kGroup, y += 4 * ldy) {
    const int64_t b = k / p.block;
    UnpackRow<kBits, 0>(p, group, b, table, y);
    if (k + 1 < p.k) UnpackRow<kBits, 1>(p, group, b, table, y + ldy);
    if (k + 2 < p.k) UnpackRow<kBits, 2>(p, group, b, table, y + 2 * ldy);
    if (k + 3 < p.k) UnpackRow<kBits, 3>(p, group, b, table, y + 3 * ldy);
  }
}
void Unpack(const BitsPanel& p, float* y, int64_t ldy) {
  p.bits == 8 ? UnpackAs<8>(p, y, ldy) : UnpackAs<4>(p, y, ldy);
}

HWY_INLINE void QuantizeBlock(const float* a, size_t n, int8_t* codes, float* scale, int32_t* sum) {
  const DF d;
  const DI di;
  const hn::Rebind<int8_t, DF> db;
  const size_t lanes = hn::Lanes(d);
  VF most = hn::Zero(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) most = hn::Max(most, hn::Abs(hn::LoadU(d, a + i)));
  if (i < n) most = hn::Max(most, hn::Abs(LoadTail(d, a + i, n - i)));
  const float largest = MaxLanes(d, most);
  *scale = largest / 127.0f;
  const VF by = hn::Set(d, largest != 0 ? 127.0f / largest : 0.0f);
  VI total = hn::Zero(di);
  for (i = 0; i < n; i += lanes) {
    const size_t left = n - i;
    const VI q = hn::NearestInt(hn::Mul(left >= lanes ? hn::LoadU(d, a + i) : LoadTail(d, a + i, left), by));
    total = hn::Add(total, q);
    if (left >= lanes) {
      hn::StoreU(hn::DemoteTo(db, q), db, codes + i);
    } else {
      HWY_ALIGN int8_t last[HWY_MAX_BYTES / sizeof(float)];
      hn::Store(hn::DemoteTo(db, q), db, last);
      for (size_t k = 0; k < left; ++k) codes[i + k] = last[k];
    }
  }
  *sum = hn::GetLane(hn::SumOfLanes(di, total));
}

void QuantizeRows(const float* a, int64_t lda, int64_t rows, int64_t k, int64_t block, const BitsRows& to) {
  const int64_t blocks = k ? (k - 1) / block + 1 : 0;
  for (int64_t r = 0; r < rows; ++r) {
    int8_t* codes = to.codes + r * to.ld;
    for (int64_t b = 0; b < blocks; ++b) {
      const int64_t begin = b * block, n = k - begin < block ? k - begin : block;
      QuantizeBlock(a + r * lda + begin, static_cast<size_t>(n), codes + begin, to.scales + r * blocks + b,
                    to.sums + r * blocks + b);
    }
    for (int64_t i = k; i < to.ld; ++i) codes[i] = 0;
  }
}

}  // namespace

constexpr GemmBitsKernels kTable = {&BlockSums, &Rows, &Unpack, &QuantizeRows};

}  // namespace trunnion::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trunnion::kernels {
const GemmBitsKernels& gemm_bits() { TRN_RUNG_TABLE(kTable) }
}  // namespace trunnion::kernels
#endif
