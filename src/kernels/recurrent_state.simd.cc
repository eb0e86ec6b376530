// Columns go in groups of vectors, whose sums stay in registers while the rows pass by.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/recurrent_state.simd.cc"
// clang-format off
#include "kernels/rung_table.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on
#include "kernels/recurrent_state.h"

#include "kernels/vec_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace trunnion::kernels::HWY_NAMESPACE {
namespace {

// Vectors at p, or, with kTail, the first `count` elements of one.
template <bool kTail>
HWY_INLINE VF Load(DF d, const float* p, size_t count) {
  if constexpr (kTail) return LoadTail(d, p, count);
  return hn::LoadU(d, p);
}
template <bool kTail>
HWY_INLINE void Store(VF v, DF d, float* p, size_t count) {
  if constexpr (kTail)
    StoreTail(v, d, p, count);
  else
    hn::StoreU(v, d, p);
}

// f(0), ..., f(n - 1), unrolled: what they index stays in registers.
template <int n, class F>
HWY_INLINE void Each(const F& f) {
  if constexpr (n > 0) {
    Each<n - 1>(f);
    f(n - 1);
  }
}

// kVectors vectors of columns from `c` on. The first pass only reads the state, the second writes it.
template <int kVectors, bool kTail>
HWY_INLINE void UpdateColumns(DF d, const StateStep& s, size_t c, size_t count) {
  const size_t lanes = hn::Lanes(d);
  float* const state = s.state + c;
  VF update[kVectors], sum[kVectors];
  Each<kVectors>([&](int v) HWY_ATTR {
    update[v] = Load<kTail>(d, s.value + c + v * lanes, count);
    sum[v] = hn::Zero(d);
  });
  const auto decay = [&s](int64_t r) { return s.decay ? s.decay[s.by_row ? r : 0] : 1.0f; };
  if (s.corrects) {
    const float* row = state;
    for (int64_t r = 0; r < s.rows; ++r, row += s.stride) {
      const VF key = hn::Set(d, s.key[r] * decay(r));
      Each<kVectors>([&](int v) HWY_ATTR { sum[v] = hn::MulAdd(key, Load<kTail>(d, row + v * lanes, count), sum[v]); });
    }
    Each<kVectors>([&](int v) HWY_ATTR {
      update[v] = hn::Mul(hn::Sub(update[v], sum[v]), hn::Set(d, s.rate));
      sum[v] = hn::Zero(d);
    });
  }
  float* row = state;
  for (int64_t r = 0; r < s.rows; ++r, row += s.stride) {
    const VF key = hn::Set(d, s.key[r]), factor = hn::Set(d, decay(r));
    const VF query = hn::Set(d, s.y ? s.query[r] * s.scale : 0.0f);
    Each<kVectors>([&](int v) HWY_ATTR {
      float* at = row + v * lanes;
      const VF x = hn::MulAdd(key, update[v], hn::Mul(Load<kTail>(d, at, count), factor));
      Store<kTail>(x, d, at, count);
      sum[v] = hn::MulAdd(query, x, sum[v]);
    });
  }
  if (s.y) Each<kVectors>([&](int v) HWY_ATTR { Store<kTail>(sum[v], d, s.y + c + v * lanes, count); });
}

void Update(const StateStep& s) {
  const DF d;
  const size_t lanes = hn::Lanes(d), n = static_cast<size_t>(s.cols);
  size_t c = 0;
  for (; c + 4 * lanes <= n; c += 4 * lanes) UpdateColumns<4, false>(d, s, c, 0);
  for (; c + lanes <= n; c += lanes) UpdateColumns<1, false>(d, s, c, 0);
  if (c < n) UpdateColumns<1, true>(d, s, c, n - c);
}

template <int kVectors, bool kTail>
HWY_INLINE void ReadColumns(DF d, const float* state, int64_t rows, int64_t stride, const float* query, float scale,
                            float* y, size_t count) {
  const size_t lanes = hn::Lanes(d);
  VF sum[kVectors];
  Each<kVectors>([&](int v) HWY_ATTR { sum[v] = hn::Zero(d); });
  for (int64_t r = 0; r < rows; ++r, state += stride) {
    const VF q = hn::Set(d, query[r] * scale);
    Each<kVectors>([&](int v) HWY_ATTR { sum[v] = hn::MulAdd(q, Load<kTail>(d, state + v * lanes, count), sum[v]); });
  }
  Each<kVectors>([&](int v) HWY_ATTR { Store<kTail>(sum[v], d, y + v * lanes, count); });
}

void Read(const float* state, int64_t rows, int64_t cols, int64_t stride, const float* query, float scale, float* y) {
  const DF d;
  const size_t lanes = hn::Lanes(d), n = static_cast<size_t>(cols);
  size_t c = 0;
  for (; c + 4 * lanes <= n; c += 4 * lanes) ReadColumns<4, false>(d, state + c, rows, stride, query, scale, y + c, 0);
  for (; c + lanes <= n; c += lanes) ReadColumns<1, false>(d, state + c, rows, stride, query, scale, y + c, 0);
  if (c < n) ReadColumns<1, true>(d, state + c, rows, stride, query, scale, y + c, n - c);
}

}  // namespace

constexpr RecurrentStateKernels kTable = {&Update, &Read};

}  // namespace trunnion::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trunnion::kernels {
const RecurrentStateKernels& recurrent_state() { TRN_RUNG_TABLE(kTable) }
}  // namespace trunnion::kernels
#endif
