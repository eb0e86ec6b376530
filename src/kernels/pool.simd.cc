// f32 pooling. Planes: the rows of the window are merged, then its columns; a vector of neighbouring outputs of a row.
// Channels-last: a vector of channels. 8-bit planes: largest of the rows of the window, then of its columns.
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

// Rows of planes are made in two steps: the rows of a window are merged into a padded row, whose neighbouring elements
// are merged then. Several rows at a time, so that nothing is read right behind its being written.
constexpr int64_t kBuffer = 4096;  // floats of the padded rows
constexpr int64_t kPiece = 1024;   // outputs of a row that are made at a time
constexpr int64_t kBandRows = 32;  // rows that are made at a time
constexpr int64_t kTapRows = 64;   // rows of the input that are merged at a time
constexpr int64_t kSlack = 2 * HWY_MAX_BYTES / sizeof(float);
constexpr int64_t kMaxSpan = 2048;  // of a window within a row; longer ones are done output by output

// A single element as it is merged.
template <Kind kKind>
HWY_INLINE VF Enter(VF v) {
  if constexpr (kKind == Kind::sum_abs) return hn::Abs(v);
  if constexpr (kKind == Kind::sum_square) return hn::Mul(v, v);
  return v;
}

// How a band of output rows lies in memory: floats from row to row.
struct Band {
  int64_t rows, from_step, to_step;
};

// to[i] = the merge of rows[r][i] and, kAgain, of what is there, for every row of the band. kRows is count, or 0 for
// any.
template <Kind kKind, int kRows, bool kAgain>
HWY_INLINE void MergeRows(const float* const* rows, int64_t count, float* to, int64_t n, const Band& band) {
  const DF d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const float* fixed[kRows ? kRows : 1];
  if constexpr (kRows != 0) {
    for (int r = 0; r < kRows; ++r) fixed[r] = rows[r];
  }
  for (int64_t line = 0, at = 0; line < band.rows; ++line, at += band.from_step, to += band.to_step) {
    const auto merge = [&](VF acc, auto load) HWY_ATTR {
      if constexpr (kRows != 0) {
#pragma GCC unroll 3
        for (int64_t r = kAgain ? 0 : 1; r < kRows; ++r) acc = Merge<kKind>(acc, load(fixed[r] + at));
      } else {
        for (int64_t r = kAgain ? 0 : 1; r < count; ++r) acc = Merge<kKind>(acc, load(rows[r] + at));
      }
      return acc;
    };
    const auto whole = [&](int64_t i) HWY_ATTR {
      const auto load = [&](const float* p) HWY_ATTR { return hn::LoadU(d, p + i); };
      const VF first = kAgain ? load(to) : Enter<kKind>(load((kRows ? fixed[0] : rows[0]) + at));
      hn::StoreU(merge(first, load), d, to + i);
    };
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) whole(i);
    if (i == n) continue;
    if (!kAgain && n >= lanes) {  // some of them twice, with the same results
      whole(n - lanes);
      continue;
    }
    const size_t left = static_cast<size_t>(n - i);
    const auto load = [&](const float* p) HWY_ATTR { return LoadTail(d, p + i, left); };
    StoreTail(merge(kAgain ? load(to) : Enter<kKind>(load(rows[0] + at)), load), d, to + i, left);
  }
}

template <Kind kKind>
HWY_INLINE void MergeSomeRows(const float* const* rows, int64_t count, bool again, float* to, int64_t n,
                              const Band& band) {
  if (again) return MergeRows<kKind, 0, true>(rows, count, to, n, band);
  if (count == 2) return MergeRows<kKind, 2, false>(rows, count, to, n, band);
  if (count == 3) return MergeRows<kKind, 3, false>(rows, count, to, n, band);
  MergeRows<kKind, 0, false>(rows, count, to, n, band);
}

// The last step of averages: the quotient, correctly rounded but for denormal numbers. The rest of an infinite sum is
// NaN, for which Max gives its second operand: the quotient stays infinite.
HWY_INLINE VF Quotient(DF d, VF v, VF divisor, VF reciprocal) {
  const VF q = hn::Mul(v, reciprocal), rest = hn::NegMulAdd(q, divisor, v);
  return hn::MulAdd(hn::Max(rest, hn::Set(d, -1e30f)), reciprocal, q);
}

struct Divisors {
  const float* divisor = nullptr;  // one for each output of the piece, and its reciprocal
  const float* reciprocal = nullptr;
};

// n outputs from each of the padded rows of the band, kStride apart (0: any); kTaps is that of the window, or 0 for
// any.
template <Kind kKind, int kStride, int kTaps>
HWY_INLINE void MergeColumns(const float* from, float* y, const PoolShape& s, int64_t n, const Divisors& average,
                             const Band& band) {
  constexpr Kind kMerge = kKind == Kind::max ? Kind::max : Kind::sum;
  const DF d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), taps = kTaps ? kTaps : s.kernel[2], step = s.dilation[2];
  for (int64_t line = 0; line < band.rows; ++line, from += band.from_step, y += band.to_step) {
    if constexpr (kStride == 0) {
      for (int64_t i = 0; i < n; ++i) {
        const float* p = from + i * s.stride[2];
        float acc = p[0];
        for (int64_t k = 1; k < taps; ++k) acc = MergeOne<kMerge>(acc, p[k * step], 0);
        y[i] = acc;
      }
    }
    const auto at = [&](int64_t i, auto load) HWY_ATTR {
      VF acc;
      if constexpr (kStride == 0) {
        acc = load(y + i);
      } else {
        const auto spread = [&](const float* p) HWY_ATTR {  // what lies behind the row is not used
          if constexpr (kStride == 1) return hn::LoadU(d, p);
          return hn::ConcatEven(d, hn::LoadU(d, p + lanes), hn::LoadU(d, p));
        };
        const float* p = from + i * kStride;
        acc = spread(p);
        if constexpr (kTaps != 0) {
#pragma GCC unroll 3
          for (int64_t k = 1; k < kTaps; ++k) acc = Merge<kMerge>(acc, spread(p + k * step));
        } else {
          for (int64_t k = 1; k < taps; ++k) acc = Merge<kMerge>(acc, spread(p + k * step));
        }
      }
      if constexpr (kKind == Kind::sum_square) acc = hn::Sqrt(acc);
      if constexpr (kKind == Kind::sum)
        acc = Quotient(d, acc, hn::LoadU(d, average.divisor + i), hn::LoadU(d, average.reciprocal + i));
      return acc;
    };
    const auto whole = [&](int64_t i) HWY_ATTR {
      hn::StoreU(at(i, [&](const float* p) HWY_ATTR { return hn::LoadU(d, p); }), d, y + i);
    };
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) whole(i);
    if (i == n) continue;
    if (kStride != 0 && n >= lanes) {  // some of them twice, with the same results
      whole(n - lanes);
      continue;
    }
    const size_t left = static_cast<size_t>(n - i);
    StoreTail(at(i, [&](const float* p) HWY_ATTR { return LoadTail(d, p, left); }), d, y + i, left);
  }
}

template <Kind kKind>
HWY_INLINE void MergeSomeColumns(const float* from, float* y, const PoolShape& s, int64_t n, const Divisors& average,
                                 const Band& band) {
  const int64_t taps = s.kernel[2], stride = s.stride[2];
  if (stride == 1 && taps == 3) return MergeColumns<kKind, 1, 3>(from, y, s, n, average, band);
  if (stride == 2 && taps == 3) return MergeColumns<kKind, 2, 3>(from, y, s, n, average, band);
  if (stride == 2 && taps == 2) return MergeColumns<kKind, 2, 2>(from, y, s, n, average, band);
  if (stride == 1) return MergeColumns<kKind, 1, 0>(from, y, s, n, average, band);
  if (stride == 2) return MergeColumns<kKind, 2, 0>(from, y, s, n, average, band);
  MergeColumns<kKind, 0, 0>(from, y, s, n, average, band);
}

// Divisors of a piece of a row for `rows`, what the outer dimensions count.
HWY_INLINE void FillDivisors(const float* columns, int64_t n, int64_t rows, float* divisor, float* reciprocal) {
  const DF d;
  const VF one = hn::Set(d, 1.0f), count = hn::Set(d, static_cast<float>(rows));
  for (int64_t i = 0; i < n; i += static_cast<int64_t>(hn::Lanes(d))) {
    const VF v = hn::Mul(hn::Load(d, columns + i), count);
    const VF by = hn::IfThenElse(hn::Eq(v, hn::Zero(d)), one, v);  // nothing is counted: the sum is 0
    hn::Store(by, d, divisor + i);
    hn::Store(hn::Div(one, by), d, reciprocal + i);
  }
}

// The outputs [o2, o2 + n) of all rows of all planes.
template <Kind kKind>
HWY_INLINE void Pieces(const float* x, float* y, int64_t planes, const PoolShape& s, int64_t o2, int64_t n,
                       float* buffer) {
  HWY_ALIGN float columns[kPiece + kSlack];
  HWY_ALIGN float divisor[2][kPiece + kSlack], reciprocal[2][kPiece + kSlack];  // of rows at the border, of the others
  const int64_t start = o2 * s.stride[2] - s.pad_begin[2];
  const int64_t width = (n - 1) * s.stride[2] + 1 + (s.kernel[2] - 1) * s.dilation[2];
  const int64_t lo = std::clamp<int64_t>(-start, 0, width), hi = std::clamp<int64_t>(s.in[2] - start, lo, width);
  const int64_t pitch = width + kSlack, most = kBuffer / pitch;
  const int64_t band = most < 1 ? 1 : most > kBandRows ? kBandRows : most;
  constexpr float kNeutral = kKind == Kind::max ? -std::numeric_limits<float>::infinity() : 0.0f;
  std::fill(buffer, buffer + band * pitch, kNeutral);
  int64_t known[2] = {-1, -1};  // what the divisors were made for
  if constexpr (kKind == Kind::sum) {
    for (int64_t i = 0; i < n; ++i) columns[i] = static_cast<float>(window_count(s, 2, o2 + i));
    std::fill(columns + n, columns + n + kSlack, 1.0f);
  }
  const float* rows[kTapRows];
  const WholeRange inner = whole_range(s, 1);
  for (int64_t p = 0; p < planes; ++p, x += s.in[0] * s.in[1] * s.in[2]) {
    for (int64_t o0 = 0; o0 < s.out[0]; ++o0) {
      const Window w0 = window(s, 0, o0);
      const int64_t count0 = kKind == Kind::sum ? window_count(s, 0, o0) : 0;
      for (int64_t o1 = 0; o1 < s.out[1];) {
        // Rows whose windows are whole read the same, each a step further.
        const bool whole = o1 >= inner.lo && o1 < inner.hi;
        const int64_t lines = whole ? std::min(band, inner.hi - o1) : 1;
        const Band up{lines, s.stride[1] * s.in[2], pitch};
        const Window w1 = window(s, 1, o1);
        int64_t count = 0;
        bool again = false;
        for (int64_t k0 = w0.first; k0 < w0.last; ++k0) {
          const float* slice = x + (w0.start + k0 * s.dilation[0]) * s.in[1] * s.in[2] + start + lo;
          for (int64_t k1 = w1.first; k1 < w1.last; ++k1) {
            if (count == kTapRows) {
              MergeSomeRows<kKind>(rows, count, again, buffer + lo, hi - lo, up);
              count = 0;
              again = true;
            }
            rows[count++] = slice + (w1.start + k1 * s.dilation[1]) * s.in[2];
          }
        }
        if (count > 0) {
          MergeSomeRows<kKind>(rows, count, again, buffer + lo, hi - lo, up);
        } else {
          for (int64_t line = 0; line < lines; ++line)
            std::fill(buffer + line * pitch + lo, buffer + line * pitch + hi, kNeutral);
        }
        if constexpr (kKind == Kind::sum) {
          const int64_t counted = count0 * window_count(s, 1, o1);
          if (counted != known[whole]) FillDivisors(columns, n, counted, divisor[whole], reciprocal[whole]);
          known[whole] = counted;
        }
        MergeSomeColumns<kKind>(buffer, y + o1 * s.out[2] + o2, s, n, {divisor[whole], reciprocal[whole]},
                                {lines, pitch, s.out[2]});
        o1 += lines;
      }
      y += s.out[1] * s.out[2];
    }
  }
}

// Windows that are long, or whose elements are raised to a power: output by output.
template <Kind kKind, class Finish>
HWY_INLINE void Outputs(const float* x, float* y, int64_t planes, const PoolShape& s, const Finish& finish) {
  for (int64_t p = 0; p < planes; ++p, x += s.in[0] * s.in[1] * s.in[2]) {
    for (int64_t o0 = 0; o0 < s.out[0]; ++o0) {
      const Window w0 = window(s, 0, o0);
      for (int64_t o1 = 0; o1 < s.out[1]; ++o1) {
        const Window w1 = window(s, 1, o1);
        for (int64_t o2 = 0; o2 < s.out[2]; ++o2) *y++ = finish(Output<kKind>(x, s, w0, w1, o2, s.p), o0, o1, o2);
      }
    }
  }
}

template <Kind kKind>
HWY_INLINE void Planes(const float* x, float* y, int64_t planes, const PoolShape& s) {
  const int64_t span = (s.kernel[2] - 1) * s.dilation[2];
  if (kKind == Kind::sum_power || span > kMaxSpan || s.kernel[2] == 0) {
    Outputs<kKind>(x, y, planes, s, [&](float v, int64_t o0, int64_t o1, int64_t o2) HWY_ATTR {
      if constexpr (kKind == Kind::sum_square) return std::sqrt(v);
      if constexpr (kKind == Kind::sum_power) return std::pow(v, 1.0f / static_cast<float>(s.p));
      if constexpr (kKind == Kind::sum) {
        const int64_t count = window_count(s, 0, o0) * window_count(s, 1, o1) * window_count(s, 2, o2);
        return count > 0 ? v / static_cast<float>(count) : 0.0f;
      }
      return v;
    });
    return;
  }
  if constexpr (kKind != Kind::sum_power) {
    HWY_ALIGN float buffer[kBuffer + kSlack];
    const int64_t fit = (kBuffer - kSlack - span - 1) / s.stride[2] + 1;
    const int64_t piece = fit > kPiece ? kPiece : fit;
    for (int64_t o2 = 0; o2 < s.out[2]; o2 += piece)
      Pieces<kKind>(x, y, planes, s, o2, std::min(piece, s.out[2] - o2), buffer);
  }
}

void Max(const float* x, float* y, int64_t* indices, int64_t planes, const PoolShape& s, bool column_major) {
  if (indices) {
    max_pool(Elem::f32, x, y, indices, planes, s, column_major);
    return;
  }
  Planes<Kind::max>(x, y, planes, s);
}
void Average(const float* x, float* y, int64_t planes, const PoolShape& s) { Planes<Kind::sum>(x, y, planes, s); }
void Lp(const float* x, float* y, int64_t planes, const PoolShape& s) {
  if (s.p == 1) return Planes<Kind::sum_abs>(x, y, planes, s);
  if (s.p == 2) return Planes<Kind::sum_square>(x, y, planes, s);
  Planes<Kind::sum_power>(x, y, planes, s);
}

// One output position, channels-last, from the input positions of its taps. kVectors vectors of channels at a time.
// Of maxima the plain kind loses a NaN that is not the last; a sum on the side tells whether there may be one, and then
// it gives false (infinities of both signs do so, too).
template <Kind kKind, int kVectors, bool kPlain>
HWY_INLINE bool Channels(const float* const* taps, int64_t at, int64_t count, float* y, VF divisor, VF reciprocal) {
  const DF d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  VF acc[kVectors], sum[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) sum[v] = acc[v] = hn::LoadU(d, taps[0] + at + v * lanes);
  for (int64_t t = 1; t < count; ++t) {
    const float* p = taps[t] + at;
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const VF x = hn::LoadU(d, p + v * lanes);
      acc[v] = kPlain ? hn::Max(acc[v], x) : Merge<kKind>(acc[v], x);
      if constexpr (kPlain) sum[v] = hn::Add(sum[v], x);
    }
  }
  if constexpr (kPlain) {
    VF all = sum[0];
    for (int v = 1; v < kVectors; ++v) all = hn::Add(all, sum[v]);
    if (!hn::AllFalse(d, hn::IsNaN(all))) return false;
  }
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    if constexpr (kKind == Kind::sum) acc[v] = Quotient(d, acc[v], divisor, reciprocal);
    hn::StoreU(acc[v], d, y + v * lanes);
  }
  return true;
}

template <Kind kKind, int kVectors>
HWY_INLINE void SafeChannels(const float* const* taps, int64_t at, int64_t count, float* y, VF divisor, VF reciprocal) {
  if constexpr (kKind == Kind::max) {
    if (Channels<kKind, kVectors, true>(taps, at, count, y, divisor, reciprocal)) return;
  }
  Channels<kKind, kVectors, false>(taps, at, count, y, divisor, reciprocal);
}

// The taps are read `at` floats further on.
template <Kind kKind>
HWY_INLINE void Position(const float* const* taps, int64_t at, int64_t count, float* y, int64_t channels,
                         float divisor) {
  const DF d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const VF divide = hn::Set(d, divisor), reciprocal = hn::Set(d, 1.0f / divisor);
  int64_t c = 0;
  for (; c + 4 * lanes <= channels; c += 4 * lanes) {
    SafeChannels<kKind, 4>(taps, at + c, count, y + c, divide, reciprocal);
  }
  if (c + 2 * lanes <= channels) SafeChannels<kKind, 2>(taps, at + c, count, y + c, divide, reciprocal), c += 2 * lanes;
  if (c + lanes <= channels) SafeChannels<kKind, 1>(taps, at + c, count, y + c, divide, reciprocal), c += lanes;
  if (c == channels) return;
  const size_t left = static_cast<size_t>(channels - c);
  VF acc = LoadTail(d, taps[0] + at + c, left);
  for (int64_t t = 1; t < count; ++t) acc = Merge<kKind>(acc, LoadTail(d, taps[t] + at + c, left));
  if constexpr (kKind == Kind::sum) acc = Quotient(d, acc, divide, reciprocal);
  StoreTail(acc, d, y + c, left);
}

template <Kind kKind>
HWY_INLINE void Nhwc(const float* x, float* y, int64_t channels, int64_t begin, int64_t end, const PoolShape& s) {
  constexpr int64_t kTaps = 256;
  const float* taps[kTaps];
  y += begin * s.out[2] * channels;
  const bool shares = s.kernel[0] * s.kernel[1] * s.kernel[2] <= kTaps;
  for (int64_t row = begin; row < end; ++row) {
    const int64_t o0 = row / s.out[1], o1 = row % s.out[1];
    Window w[3] = {window(s, 0, o0), window(s, 1, o1), {}};
    const int64_t rows = kKind == Kind::sum ? window_count(s, 0, o0) * window_count(s, 1, o1) : 1;
    int64_t whole_at = -1, count = 0;  // the last position whose window lies inside the row: its taps are still there
    for (int64_t o2 = 0; o2 < s.out[2]; ++o2, y += channels) {
      w[2] = window(s, 2, o2);
      const int64_t counted = kKind == Kind::sum ? rows * window_count(s, 2, o2) : 1;
      const float divisor = counted > 0 ? static_cast<float>(counted) : 1.0f;
      const bool whole = shares && w[2].first == 0 && w[2].last == s.kernel[2];
      if (whole && whole_at >= 0 && count > 0) {
        Position<kKind>(taps, (o2 - whole_at) * s.stride[2] * channels, count, y, channels, divisor);
        continue;
      }
      whole_at = whole ? o2 : -1;
      count = 0;
      for (int64_t k0 = w[0].first; k0 < w[0].last; ++k0) {
        for (int64_t k1 = w[1].first; k1 < w[1].last; ++k1) {
          const int64_t line = (w[0].start + k0 * s.dilation[0]) * s.in[1] + w[1].start + k1 * s.dilation[1];
          const float* p = x + (line * s.in[2] + w[2].start + w[2].first * s.dilation[2]) * channels;
          for (int64_t k2 = w[2].first; k2 < w[2].last; ++k2, p += s.dilation[2] * channels) {
            if (count == kTaps) {  // what is there so far becomes the first tap
              Position<kKind>(taps, 0, count, y, channels, 1.0f);
              taps[0] = y;
              count = 1;
            }
            taps[count++] = p;
          }
        }
      }
      if (count == 0) {
        std::fill(y, y + channels, kKind == Kind::max ? -std::numeric_limits<float>::infinity() : 0.0f);
        continue;
      }
      Position<kKind>(taps, 0, count, y, channels, divisor);
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
