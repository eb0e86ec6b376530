// f32 pooling. Planes: a vector of neighbouring outputs of a row (stride 1 or 2; the border and other strides one by
// one). Channels-last: a vector of channels. 8-bit planes: largest of the rows of the window, then of its columns.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pool.simd.cc"
#include <algorithm>
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

template <Kind kKind>
HWY_INLINE float MergeOne(float acc, float v, int p) {
  if constexpr (kKind == Kind::max) return acc != acc || acc > v ? acc : v;
  if constexpr (kKind == Kind::sum) return acc + v;
  if constexpr (kKind == Kind::sum_abs) return acc + std::fabs(v);
  if constexpr (kKind == Kind::sum_square) return acc + v * v;
  if constexpr (kKind == Kind::sum_power) return acc + std::pow(std::fabs(v), static_cast<float>(p));
}

// One output of a plane, any window.
template <Kind kKind>
HWY_INLINE float Output(const float* plane, const PoolShape& s, const Window& w0, const Window& w1, int64_t o2, int p) {
  float acc = kKind == Kind::max ? -std::numeric_limits<float>::infinity() : 0.0f;
  const Window w2 = window(s, 2, o2);
  for (int64_t k0 = w0.first; k0 < w0.last; ++k0) {
    const float* slice = plane + (w0.start + k0 * s.dilation[0]) * s.in[1] * s.in[2];
    for (int64_t k1 = w1.first; k1 < w1.last; ++k1) {
      const float* row = slice + (w1.start + k1 * s.dilation[1]) * s.in[2] + w2.start;
      for (int64_t k2 = w2.first; k2 < w2.last; ++k2) acc = MergeOne<kKind>(acc, row[k2 * s.dilation[2]], p);
    }
  }
  return acc;
}

// n elements, kStride apart; those behind the last one are not touched (kTail) or known to exist.
template <int kStride, bool kTail>
HWY_INLINE VF LoadSpread(DF d, const float* p, size_t n) {
  if constexpr (kStride == 1) return kTail ? LoadTail(d, p, n) : hn::LoadU(d, p);
  const size_t lanes = hn::Lanes(d);
  if constexpr (!kTail) return hn::ConcatEven(d, hn::LoadU(d, p + lanes), hn::LoadU(d, p));
  const size_t total = 2 * n - 1;
  const VF low = total < lanes ? LoadTail(d, p, total) : hn::LoadU(d, p);
  return hn::ConcatEven(d, total > lanes ? LoadTail(d, p + lanes, total - lanes) : hn::Zero(d), low);
}

// Neighbouring outputs whose windows lie inside the row, in one vector; y and o2 at the first of them.
template <Kind kKind, int kStride, bool kTail>
HWY_INLINE void Block(DF d, const float* plane, float* y, const PoolShape& s, const Window& w0, const Window& w1,
                      int64_t o2, size_t n) {
  VF acc = kKind == Kind::max ? hn::Neg(hn::Inf(d)) : hn::Zero(d);
  const int64_t start = o2 * kStride - s.pad_begin[2];
  for (int64_t k0 = w0.first; k0 < w0.last; ++k0) {
    const float* slice = plane + (w0.start + k0 * s.dilation[0]) * s.in[1] * s.in[2];
    for (int64_t k1 = w1.first; k1 < w1.last; ++k1) {
      const float* row = slice + (w1.start + k1 * s.dilation[1]) * s.in[2] + start;
      for (int64_t k2 = 0; k2 < s.kernel[2]; ++k2) {
        acc = Merge<kKind>(acc, LoadSpread<kStride, kTail>(d, row + k2 * s.dilation[2], n));
      }
    }
  }
  if (kTail && n < hn::Lanes(d)) {
    StoreTail(acc, d, y, n);
  } else {
    hn::StoreU(acc, d, y);
  }
}

template <Kind kKind, int kStride>
HWY_INLINE void Blocks(const float* plane, float* y, const PoolShape& s, const Window& w0, const Window& w1, int64_t lo,
                       int64_t hi) {
  const DF d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  // A block that is not the last may read up to the next one's first element.
  const int64_t reserve = kStride == 1 ? 0 : 1;
  for (; lo + lanes + reserve <= hi; lo += lanes) Block<kKind, kStride, false>(d, plane, y + lo, s, w0, w1, lo, 0);
  for (; lo < hi; lo += lanes) {
    Block<kKind, kStride, true>(d, plane, y + lo, s, w0, w1, lo,
                                static_cast<size_t>(hi - lo < lanes ? hi - lo : lanes));
  }
}

// One output row of a plane, without the final step of averages and norms. `whole`: see WholeRange.
template <Kind kKind>
HWY_INLINE void BuildRow(const float* plane, float* y, const PoolShape& s, const WholeRange& whole, int64_t o0,
                         int64_t o1, int p) {
  const Window w0 = window(s, 0, o0), w1 = window(s, 1, o1);
  const bool vectors = kKind != Kind::sum_power && s.stride[2] <= 2;
  const int64_t lo = vectors ? whole.lo : s.out[2], hi = vectors ? whole.hi : s.out[2];
  for (int64_t i = 0; i < lo; ++i) y[i] = Output<kKind>(plane, s, w0, w1, i, p);
  if constexpr (kKind != Kind::sum_power) {
    if (s.stride[2] == 1) Blocks<kKind, 1>(plane, y, s, w0, w1, lo, hi);
    if (s.stride[2] == 2) Blocks<kKind, 2>(plane, y, s, w0, w1, lo, hi);
  }
  for (int64_t i = hi; i < s.out[2]; ++i) y[i] = Output<kKind>(plane, s, w0, w1, i, p);
}

// count is that of the two outer dimensions.
HWY_INLINE void DivideRow(float* y, const PoolShape& s, const WholeRange& whole, int64_t count) {
  const DF d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto divide_one = [&](int64_t i) HWY_ATTR {
    const int64_t c = count * window_count(s, 2, i);
    y[i] = c > 0 ? y[i] / static_cast<float>(c) : 0.0f;
  };
  int64_t i = 0;
  for (; i < whole.lo; ++i) divide_one(i);
  if (count > 0) {
    const VF divisor = hn::Set(d, static_cast<float>(count * s.kernel[2]));
    for (; i + lanes <= whole.hi; i += lanes) hn::StoreU(hn::Div(hn::LoadU(d, y + i), divisor), d, y + i);
    if (i < whole.hi) {
      const size_t n = static_cast<size_t>(whole.hi - i);
      StoreTail(hn::Div(LoadTail(d, y + i, n), divisor), d, y + i, n);
      i = whole.hi;
    }
  }
  for (; i < s.out[2]; ++i) divide_one(i);
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
  WholeRange whole;
  HWY_INLINE void operator()(const float* x, float* y, int64_t o0, int64_t o1) const {
    BuildRow<Kind::max>(x, y, s, whole, o0, o1, 0);
  }
};
struct AverageRow {
  const PoolShape& s;
  WholeRange whole;
  HWY_INLINE void operator()(const float* x, float* y, int64_t o0, int64_t o1) const {
    BuildRow<Kind::sum>(x, y, s, whole, o0, o1, 0);
    DivideRow(y, s, whole, window_count(s, 0, o0) * window_count(s, 1, o1));
  }
};
struct LpRow {
  const PoolShape& s;
  WholeRange whole;
  HWY_INLINE void operator()(const float* x, float* y, int64_t o0, int64_t o1) const {
    if (s.p == 1) return BuildRow<Kind::sum_abs>(x, y, s, whole, o0, o1, 0);
    if (s.p == 2) {
      BuildRow<Kind::sum_square>(x, y, s, whole, o0, o1, 0);
      for (int64_t i = 0; i < s.out[2]; ++i) y[i] = std::sqrt(y[i]);
      return;
    }
    BuildRow<Kind::sum_power>(x, y, s, whole, o0, o1, s.p);
    for (int64_t i = 0; i < s.out[2]; ++i) y[i] = std::pow(y[i], 1.0f / static_cast<float>(s.p));
  }
};

void Max(const float* x, float* y, int64_t* indices, int64_t planes, const PoolShape& s, bool column_major) {
  if (indices) {
    max_pool(Elem::f32, x, y, indices, planes, s, column_major);
    return;
  }
  EachRow(x, y, planes, s, MaxRow{s, whole_range(s, 2)});
}
void Average(const float* x, float* y, int64_t planes, const PoolShape& s) {
  EachRow(x, y, planes, s, AverageRow{s, whole_range(s, 2)});
}
void Lp(const float* x, float* y, int64_t planes, const PoolShape& s) {
  EachRow(x, y, planes, s, LpRow{s, whole_range(s, 2)});
}

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

// to[i] = max(to[i], from[i]), or (kFirst) from[i].
template <bool kFirst, class D, class T>
HWY_INLINE void MergeRow(D d, const T* from, T* to, int64_t n) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto at = [&](int64_t i) HWY_ATTR {
    const auto v = hn::LoadU(d, from + i);
    hn::StoreU(kFirst ? v : hn::Max(v, hn::LoadU(d, to + i)), d, to + i);
  };
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) at(i);
  if (i < n && n >= lanes) return at(n - lanes);  // some of them twice: that changes nothing
  for (; i < n; ++i) to[i] = kFirst ? from[i] : std::max(from[i], to[i]);
}
template <bool kFirst, class T>
HWY_INLINE void MergeRow(const T* from, T* to, int64_t n) {
  const hn::ScalableTag<T> whole;
  const hn::CappedTag<T, 16> part;
  if (n >= static_cast<int64_t>(hn::Lanes(whole)))
    MergeRow<kFirst>(whole, from, to, n);
  else
    MergeRow<kFirst>(part, from, to, n);
}

// n outputs of a row, whose windows begin at input position `start` of it.
template <class T>
HWY_INLINE void BytesOfRow(const T* plane, T* y, const PoolShape& s, const Window& w0, const Window& w1, int64_t start,
                           int64_t n, T* buffer) {
  constexpr T kLowest = std::numeric_limits<T>::lowest();
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t positions = (n - 1) * s.stride[2] + 1, width = positions + (s.kernel[2] - 1) * s.dilation[2];
  const int64_t lo = std::clamp<int64_t>(-start, 0, width), hi = std::clamp<int64_t>(s.in[2] - start, lo, width);
  const bool empty = w0.first == w0.last || w1.first == w1.last;
  std::fill(buffer, buffer + (empty ? width : lo), kLowest);
  std::fill(buffer + hi, buffer + width, kLowest);
  bool first = true;
  for (int64_t k0 = w0.first; k0 < w0.last; ++k0) {
    const T* slice = plane + (w0.start + k0 * s.dilation[0]) * s.in[1] * s.in[2];
    for (int64_t k1 = w1.first; k1 < w1.last; ++k1, first = false) {
      const T* row = slice + (w1.start + k1 * s.dilation[1]) * s.in[2] + start;
      if (first)
        MergeRow<true>(row + lo, buffer + lo, hi - lo);
      else
        MergeRow<false>(row + lo, buffer + lo, hi - lo);
    }
  }
  // In place: what is written stands before all that is still read.
  for (int64_t i = 0; i < positions; i += lanes) {
    auto v = hn::LoadU(d, buffer + i);
    for (int64_t k = 1; k < s.kernel[2]; ++k) v = hn::Max(v, hn::LoadU(d, buffer + i + k * s.dilation[2]));
    hn::StoreU(v, d, buffer + i);
  }
  int64_t i = 0;
  if (s.stride[2] == 2)
    for (; i + lanes <= n; i += lanes)
      hn::StoreU(hn::ConcatEven(d, hn::LoadU(d, buffer + 2 * i + lanes), hn::LoadU(d, buffer + 2 * i)), d, y + i);
  for (; i < n; ++i) y[i] = buffer[i * s.stride[2]];
}

template <class T>
HWY_INLINE void MaxBytes(const T* x, T* y, int64_t planes, const PoolShape& s) {
  constexpr int64_t kPositions = 2048;
  T buffer[kPositions + kMaxByteSpan + HWY_MAX_BYTES] = {};
  const int64_t piece = std::max<int64_t>(1, kPositions / s.stride[2]);
  const int64_t in_plane = s.in[0] * s.in[1] * s.in[2];
  for (int64_t p = 0; p < planes; ++p, x += in_plane) {
    for (int64_t o0 = 0; o0 < s.out[0]; ++o0) {
      const Window w0 = window(s, 0, o0);
      for (int64_t o1 = 0; o1 < s.out[1]; ++o1, y += s.out[2]) {
        const Window w1 = window(s, 1, o1);
        for (int64_t o2 = 0; o2 < s.out[2]; o2 += piece)
          BytesOfRow(x, y + o2, s, w0, w1, o2 * s.stride[2] - s.pad_begin[2], std::min(piece, s.out[2] - o2), buffer);
      }
    }
  }
}
void MaxU8(const uint8_t* x, uint8_t* y, int64_t planes, const PoolShape& s) { MaxBytes(x, y, planes, s); }
void MaxI8(const int8_t* x, int8_t* y, int64_t planes, const PoolShape& s) { MaxBytes(x, y, planes, s); }

}  // namespace

constexpr PoolKernels kTable = {&Max, &Average, &Lp, &MaxNhwc, &AverageNhwc, &MaxU8, &MaxI8};

}  // namespace trunnion::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trunnion::kernels {
const PoolKernels& pool() { TRN_RUNG_TABLE(kTable) }
}  // namespace trunnion::kernels
#endif
