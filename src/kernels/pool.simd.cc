// f32 pooling. Planes: an output row is built tap by tap, a vector of neighbouring outputs at a time (contiguous for
// stride 1, de-interleaved for stride 2). Channels-last: a vector of channels, the window in a register.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pool.simd.cc"
#include <cmath>
#include <limits>
// clang-format off
#include "kernels/rung_table.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on
#include "kernels/pool_window.h"
#include "kernels/vec_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace trunnion::kernels::HWY_NAMESPACE {
namespace {

enum class Kind { max, sum, sum_abs, sum_square, sum_power };

template <Kind kKind>
HWY_INLINE VF Merge(VF acc, VF v) {
  // Max gives v when either is NaN; a NaN in acc must stay.
  if constexpr (kKind == Kind::max) return hn::IfThenElse(hn::IsNaN(acc), acc, hn::Max(acc, v));
  if constexpr (kKind == Kind::sum) return hn::Add(acc, v);
  if constexpr (kKind == Kind::sum_abs) return hn::Add(acc, hn::Abs(v));
  if constexpr (kKind == Kind::sum_square) return hn::MulAdd(v, v, acc);
}

// acc[i] = merge(acc[i], x[i * stride]).
template <Kind kKind>
HWY_INLINE void MergeRow(const float* x, int64_t stride, float* acc, size_t n, int p) {
  size_t i = 0;
  if constexpr (kKind == Kind::sum_power) {
    for (; i < n; ++i) acc[i] += std::pow(std::fabs(x[static_cast<int64_t>(i) * stride]), static_cast<float>(p));
  } else {
    const DF d;
    const size_t lanes = hn::Lanes(d);
    if (stride == 1) {
      for (; i + lanes <= n; i += lanes) {
        hn::StoreU(Merge<kKind>(hn::LoadU(d, acc + i), hn::LoadU(d, x + i)), d, acc + i);
      }
      if (i < n) {
        StoreTail(Merge<kKind>(LoadTail(d, acc + i, n - i), LoadTail(d, x + i, n - i)), d, acc + i, n - i);
      }
      return;
    }
    if (stride == 2) {
      // The last output is left out: its vector would read one element too far.
      for (; i + lanes < n; i += lanes) {
        VF even, odd;
        hn::LoadInterleaved2(d, x + 2 * i, even, odd);
        hn::StoreU(Merge<kKind>(hn::LoadU(d, acc + i), even), d, acc + i);
      }
    }
    for (; i < n; ++i) {
      HWY_ALIGN float lane[HWY_MAX_BYTES / sizeof(float)];
      hn::Store(Merge<kKind>(hn::Set(d, acc[i]), hn::Set(d, x[static_cast<int64_t>(i) * stride])), d, lane);
      acc[i] = lane[0];
    }
  }
}

// One output row of a plane, without the final step of averages and norms.
template <Kind kKind>
HWY_INLINE void BuildRow(const float* plane, float* y, const PoolShape& s, int64_t o0, int64_t o1, int p) {
  const float start = kKind == Kind::max ? -std::numeric_limits<float>::infinity() : 0.0f;
  for (int64_t i = 0; i < s.out[2]; ++i) y[i] = start;
  const Window w0 = window(s, 0, o0), w1 = window(s, 1, o1);
  for (int64_t k2 = 0; k2 < s.kernel[2]; ++k2) {
    const TapRange t = tap_range(s, 2, k2);
    if (t.lo >= t.hi) continue;
    for (int64_t k0 = w0.first; k0 < w0.last; ++k0) {
      const float* slice = plane + (w0.start + k0 * s.dilation[0]) * s.in[1] * s.in[2];
      for (int64_t k1 = w1.first; k1 < w1.last; ++k1) {
        const float* row = slice + (w1.start + k1 * s.dilation[1]) * s.in[2];
        MergeRow<kKind>(row + t.lo * s.stride[2] + t.offset, s.stride[2], y + t.lo, static_cast<size_t>(t.hi - t.lo),
                        p);
      }
    }
  }
}

HWY_INLINE void DivideRow(float* y, const PoolShape& s, int64_t count) {
  const DF d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), n = s.out[2];
  int64_t i = 0;
  const auto divide_one = [&] {
    const int64_t c = count * window_count(s, 2, i);
    y[i] = c > 0 ? y[i] / static_cast<float>(c) : 0.0f;
    ++i;
  };
  // The middle, where the window is whole.
  const TapRange first = tap_range(s, 2, 0), last = tap_range(s, 2, s.kernel[2] - 1);
  const int64_t lo = first.lo, hi = first.hi < last.hi ? first.hi : last.hi;
  const VF whole = hn::Set(d, static_cast<float>(count * s.kernel[2]));
  while (i < n && i < lo) divide_one();
  if (count > 0) {
    for (; i + lanes <= hi; i += lanes) hn::StoreU(hn::Div(hn::LoadU(d, y + i), whole), d, y + i);
  }
  while (i < n) divide_one();
}

template <class Row>
HWY_INLINE void EachRow(const float* x, float* y, int64_t planes, const PoolShape& s, const Row& row) {
  const int64_t in_plane = s.in[0] * s.in[1] * s.in[2];
  for (int64_t p = 0; p < planes; ++p, x += in_plane) {
    for (int64_t o0 = 0; o0 < s.out[0]; ++o0) {
      for (int64_t o1 = 0; o1 < s.out[1]; ++o1, y += s.out[2]) row(x, y, o0, o1);
    }
  }
}

struct MaxRow {
  const PoolShape& s;
  HWY_INLINE void operator()(const float* x, float* y, int64_t o0, int64_t o1) const {
    BuildRow<Kind::max>(x, y, s, o0, o1, 0);
  }
};
struct AverageRow {
  const PoolShape& s;
  HWY_INLINE void operator()(const float* x, float* y, int64_t o0, int64_t o1) const {
    BuildRow<Kind::sum>(x, y, s, o0, o1, 0);
    DivideRow(y, s, window_count(s, 0, o0) * window_count(s, 1, o1));
  }
};
struct LpRow {
  const PoolShape& s;
  HWY_INLINE void operator()(const float* x, float* y, int64_t o0, int64_t o1) const {
    if (s.p == 1) return BuildRow<Kind::sum_abs>(x, y, s, o0, o1, 0);
    if (s.p == 2) {
      BuildRow<Kind::sum_square>(x, y, s, o0, o1, 0);
      for (int64_t i = 0; i < s.out[2]; ++i) y[i] = std::sqrt(y[i]);
      return;
    }
    BuildRow<Kind::sum_power>(x, y, s, o0, o1, s.p);
    for (int64_t i = 0; i < s.out[2]; ++i) y[i] = std::pow(y[i], 1.0f / static_cast<float>(s.p));
  }
};

void Max(const float* x, float* y, int64_t* indices, int64_t planes, const PoolShape& s, bool column_major) {
  if (indices) {
    max_pool(Elem::f32, x, y, indices, planes, s, column_major);
    return;
  }
  EachRow(x, y, planes, s, MaxRow{s});
}
void Average(const float* x, float* y, int64_t planes, const PoolShape& s) { EachRow(x, y, planes, s, AverageRow{s}); }
void Lp(const float* x, float* y, int64_t planes, const PoolShape& s) { EachRow(x, y, planes, s, LpRow{s}); }

// One output position, channels-last; origin is the input position of tap (0, 0, 0), perhaps outside the input.
template <Kind kKind>
HWY_INLINE void Position(const float* x, float* y, size_t channels, const PoolShape& s, const Window (&w)[3],
                         float divisor) {
  const DF d;
  const size_t lanes = hn::Lanes(d);
  const int64_t c_stride = static_cast<int64_t>(channels);
  const VF start = kKind == Kind::max ? hn::Neg(hn::Inf(d)) : hn::Zero(d);
  const VF divide = hn::Set(d, divisor);
  for (size_t c = 0; c < channels; c += lanes) {
    const size_t left = channels - c;
    VF acc = start;
    for (int64_t k0 = w[0].first; k0 < w[0].last; ++k0) {
      const int64_t i0 = w[0].start + k0 * s.dilation[0];
      for (int64_t k1 = w[1].first; k1 < w[1].last; ++k1) {
        const int64_t i1 = i0 * s.in[1] + w[1].start + k1 * s.dilation[1];
        for (int64_t k2 = w[2].first; k2 < w[2].last; ++k2) {
          const float* p = x + (i1 * s.in[2] + w[2].start + k2 * s.dilation[2]) * c_stride + c;
          acc = Merge<kKind>(acc, left >= lanes ? hn::LoadU(d, p) : LoadTail(d, p, left));
        }
      }
    }
    if constexpr (kKind == Kind::sum) acc = hn::Div(acc, divide);
    if (left >= lanes) {
      hn::StoreU(acc, d, y + c);
    } else {
      StoreTail(acc, d, y + c, left);
    }
  }
}

template <Kind kKind>
HWY_INLINE void Nhwc(const float* x, float* y, int64_t channels, int64_t begin, int64_t end, const PoolShape& s) {
  y += begin * s.out[2] * channels;
  for (int64_t row = begin; row < end; ++row) {
    const int64_t o0 = row / s.out[1], o1 = row % s.out[1];
    Window w[3] = {window(s, 0, o0), window(s, 1, o1), {}};
    const int64_t rows = kKind == Kind::sum ? window_count(s, 0, o0) * window_count(s, 1, o1) : 1;
    for (int64_t o2 = 0; o2 < s.out[2]; ++o2, y += channels) {
      w[2] = window(s, 2, o2);
      const int64_t count = kKind == Kind::sum ? rows * window_count(s, 2, o2) : 1;
      Position<kKind>(x, y, static_cast<size_t>(channels), s, w, count > 0 ? static_cast<float>(count) : 1.0f);
    }
  }
}

void MaxNhwc(const float* x, float* y, int64_t channels, int64_t begin, int64_t end, const PoolShape& s) {
  Nhwc<Kind::max>(x, y, channels, begin, end, s);
}
void AverageNhwc(const float* x, float* y, int64_t channels, int64_t begin, int64_t end, const PoolShape& s) {
  Nhwc<Kind::sum>(x, y, channels, begin, end, s);
}

}  // namespace

constexpr PoolKernels kTable = {&Max, &Average, &Lp, &MaxNhwc, &AverageNhwc};

}  // namespace trunnion::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trunnion::kernels {
const PoolKernels& pool() { TRN_RUNG_TABLE(kTable) }
}  // namespace trunnion::kernels
#endif
