// 2-D transposition of elements of 1, 2, 4 and 8 bytes. A vector is put together from 128-bit pieces of rows 4 apart,
// so that 4x4 transpositions inside its blocks already give whole output rows. Two to four columns (or rows) side by
// side, as in images, use the interleaved loads and stores.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/transpose.simd.cc"
// clang-format off
#include "kernels/rung_table.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on
#include "kernels/transpose_table.h"

HWY_BEFORE_NAMESPACE();
namespace trunnion::kernels::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr int64_t kLanes = HWY_MAX_BYTES / 4;

// Block b of the result is 4 elements at p + b * step.
HWY_INLINE V LoadBlocks(const float* p, int64_t step) {
#if HWY_MAX_BYTES == 64
  const hn::Half<D> dh;
  const hn::Half<decltype(dh)> dq;
  const auto low = hn::Combine(dh, hn::LoadU(dq, p + step), hn::LoadU(dq, p));
  const auto high = hn::Combine(dh, hn::LoadU(dq, p + 3 * step), hn::LoadU(dq, p + 2 * step));
  return hn::Combine(D(), high, low);
#elif HWY_MAX_BYTES == 32
  const hn::Half<D> dh;
  return hn::Combine(D(), hn::LoadU(dh, p + step), hn::LoadU(dh, p));
#else
  (void)step;
  return hn::LoadU(D(), p);
#endif
}

// kLanes rows by 4 columns.
HWY_INLINE void Tile(const float* x, int64_t x_stride, float* y, int64_t y_stride) {
  const D d;
  const hn::Repartition<double, D> d64;
  const V v0 = LoadBlocks(x, 4 * x_stride), v1 = LoadBlocks(x + x_stride, 4 * x_stride);
  const V v2 = LoadBlocks(x + 2 * x_stride, 4 * x_stride), v3 = LoadBlocks(x + 3 * x_stride, 4 * x_stride);
  const auto a = hn::BitCast(d64, hn::InterleaveLower(d, v0, v1)), b = hn::BitCast(d64, hn::InterleaveUpper(d, v0, v1));
  const auto e = hn::BitCast(d64, hn::InterleaveLower(d, v2, v3)), f = hn::BitCast(d64, hn::InterleaveUpper(d, v2, v3));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(d64, a, e)), d, y);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(d64, a, e)), d, y + y_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(d64, b, f)), d, y + 2 * y_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(d64, b, f)), d, y + 3 * y_stride);
}

// 4 rows by 4 columns.
HWY_INLINE void SmallTile(const float* x, int64_t x_stride, float* y, int64_t y_stride) {
  const hn::FixedTag<float, 4> d;
  const hn::Repartition<double, decltype(d)> d64;
  const auto v0 = hn::LoadU(d, x), v1 = hn::LoadU(d, x + x_stride), v2 = hn::LoadU(d, x + 2 * x_stride),
             v3 = hn::LoadU(d, x + 3 * x_stride);
  const auto a = hn::BitCast(d64, hn::InterleaveLower(d, v0, v1)), b = hn::BitCast(d64, hn::InterleaveUpper(d, v0, v1));
  const auto e = hn::BitCast(d64, hn::InterleaveLower(d, v2, v3)), f = hn::BitCast(d64, hn::InterleaveUpper(d, v2, v3));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(d64, a, e)), d, y);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(d64, a, e)), d, y + y_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(d64, b, f)), d, y + 2 * y_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(d64, b, f)), d, y + 3 * y_stride);
}

HWY_INLINE void Plain(const float* x, int64_t x_stride, float* y, int64_t y_stride, int64_t rows, int64_t cols) {
  // Moved as bytes: x may begin anywhere.
  for (int64_t c = 0; c < cols; ++c) {
    for (int64_t r = 0; r < rows; ++r) hwy::CopyBytes<sizeof(float)>(x + r * x_stride + c, y + c * y_stride + r);
  }
}

// Rows of 2, 3 or 4 contiguous elements; returns how many rows were done.
template <class DT, class T = hn::TFromD<DT>>
HWY_INLINE int64_t Deinterleave(DT d, const T* x, T* y, int64_t y_stride, int64_t rows, int64_t cols) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t r = 0;
  hn::Vec<DT> a, b, e, f;
  for (; r + lanes <= rows; r += lanes) {
    if (cols == 2) hn::LoadInterleaved2(d, x + r * 2, a, b);
    if (cols == 3) hn::LoadInterleaved3(d, x + r * 3, a, b, e);
    if (cols == 4) hn::LoadInterleaved4(d, x + r * 4, a, b, e, f);
    hn::StoreU(a, d, y + r);
    hn::StoreU(b, d, y + y_stride + r);
    if (cols > 2) hn::StoreU(e, d, y + 2 * y_stride + r);
    if (cols > 3) hn::StoreU(f, d, y + 3 * y_stride + r);
  }
  return r;
}

// The other way: 2, 3 or 4 rows; output rows are contiguous. Returns how many columns were done.
template <class DT, class T = hn::TFromD<DT>>
HWY_INLINE int64_t Interleave(DT d, const T* x, int64_t x_stride, T* y, int64_t rows, int64_t cols) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t c = 0;
  for (; c + lanes <= cols; c += lanes) {
    const auto a = hn::LoadU(d, x + c), b = hn::LoadU(d, x + x_stride + c);
    if (rows == 2) {
      hn::StoreInterleaved2(a, b, d, y + c * 2);
      continue;
    }
    const auto e = hn::LoadU(d, x + 2 * x_stride + c);
    if (rows == 3) {
      hn::StoreInterleaved3(a, b, e, d, y + c * 3);
    } else {
      hn::StoreInterleaved4(a, b, e, hn::LoadU(d, x + 3 * x_stride + c), d, y + c * 4);
    }
  }
  return c;
}

#if HWY_MAX_BYTES == 64
// Four rows of at least four columns, output rows contiguous: a vector of four columns is one permutation away from its
// blocks. The last one may overlap the one before.
HWY_INLINE void InterleaveFour(const float* x, int64_t x_stride, float* y, int64_t cols) {
  const D d;
  alignas(64) constexpr int32_t kOrder[] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
  const auto order = hn::SetTableIndices(d, kOrder);
  for (int64_t i = 0; i < cols; i += 4) {
    const int64_t c = i + 4 <= cols ? i : cols - 4;
    hn::StoreU(hn::TableLookupLanes(LoadBlocks(x + c, x_stride), order), d, y + c * 4);
  }
}
#endif

void Words(const float* x, int64_t x_stride, float* y, int64_t y_stride, int64_t rows, int64_t cols) {
  if (cols >= 2 && cols <= 4 && x_stride == cols) {
    const int64_t done = Deinterleave(D(), x, y, y_stride, rows, cols);
    return Plain(x + done * x_stride, x_stride, y + done, y_stride, rows - done, cols);
  }
#if HWY_MAX_BYTES == 64
  if (rows == 4 && y_stride == 4 && cols >= 4) return InterleaveFour(x, x_stride, y, cols);
#endif
  if (rows >= 2 && rows <= 4 && y_stride == rows) {
    const int64_t done = Interleave(D(), x, x_stride, y, rows, cols);
    return Plain(x + done, x_stride, y + done * y_stride, y_stride, rows, cols - done);
  }
  if (rows < 4 || cols < 4) return Plain(x, x_stride, y, y_stride, rows, cols);
  // The last tile of either direction may overlap the one before: it writes the same again.
  if (rows < kLanes) {
    for (int64_t i = 0; i < cols; i += 4) {
      const int64_t c = i + 4 <= cols ? i : cols - 4;
      for (int64_t r = 0; r < rows; r += 4) {
        const int64_t at = r + 4 <= rows ? r : rows - 4;
        SmallTile(x + at * x_stride + c, x_stride, y + c * y_stride + at, y_stride);
      }
    }
    return;
  }
  // Whole cache lines on both sides: 16 columns, kLanes (at most 16) rows at a time.
  for (int64_t c0 = 0; c0 < cols; c0 += 16) {
    const int64_t c1 = c0 + 16 < cols ? c0 + 16 : cols;
    for (int64_t i = 0; i < rows; i += kLanes) {
      const int64_t r = i + kLanes <= rows ? i : rows - kLanes;
      for (int64_t k = c0; k < c1; k += 4) {
        const int64_t c = k + 4 <= cols ? k : cols - 4;
        Tile(x + r * x_stride + c, x_stride, y + c * y_stride + r, y_stride);
      }
    }
  }
}

// 16 bytes of each of the rows at p, p + step, ...: as many as fit into a vector.
template <class DT, class T = hn::TFromD<DT>>
HWY_INLINE hn::Vec<DT> LoadPieces(DT d, const T* p, int64_t step) {
  if constexpr (hn::MaxLanes(DT()) * sizeof(T) == 16) {
    (void)step;
    return hn::LoadU(d, p);
  } else {
    const hn::Half<DT> half;
    constexpr int64_t kPieces = hn::MaxLanes(DT()) * sizeof(T) / 32;
    return hn::Combine(d, LoadPieces(half, p + kPieces * step, step), LoadPieces(half, p, step));
  }
}

// Lanes(d) rows by the columns of 16 bytes. Interleaving the first half of the vectors with the second moves every
// element by one bit of its position; once for each bit of a column's number makes a transposition.
template <class DT, class T = hn::TFromD<DT>>
HWY_INLINE void PieceTile(DT d, const T* x, int64_t x_stride, T* y, int64_t y_stride) {
  constexpr int kCols = 16 / sizeof(T);
  hn::Vec<DT> v[kCols], t[kCols];
#pragma GCC unroll 16
  for (int i = 0; i < kCols; ++i) v[i] = LoadPieces(d, x + i * x_stride, kCols * x_stride);
  const auto zip = [&](const hn::Vec<DT>* from, hn::Vec<DT>* to) HWY_ATTR {
#pragma GCC unroll 8
    for (int i = 0; i < kCols / 2; ++i) {
      to[2 * i] = hn::InterleaveLower(d, from[i], from[i + kCols / 2]);
      to[2 * i + 1] = hn::InterleaveUpper(d, from[i], from[i + kCols / 2]);
    }
  };
  zip(v, t);
  if constexpr (kCols >= 8) {
    zip(t, v);
    zip(v, t);
  }
  if constexpr (kCols == 16) zip(t, v);
#pragma GCC unroll 16
  for (int i = 0; i < kCols; ++i) hn::StoreU(kCols == 16 ? v[i] : t[i], d, y + i * y_stride);
}

template <class T>
void Pieces(const T* x, int64_t x_stride, T* y, int64_t y_stride, int64_t rows, int64_t cols) {
  constexpr int64_t kCols = 16 / sizeof(T);
  const hn::ScalableTag<T> wide;
  const hn::FixedTag<T, kCols> narrow;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(wide));
  const auto plain = [&](int64_t row, int64_t col) {
    for (int64_t c = col; c < cols; ++c) {
      for (int64_t r = row; r < rows; ++r) hwy::CopyBytes<sizeof(T)>(x + r * x_stride + c, y + c * y_stride + r);
    }
  };
  if (cols >= 2 && cols <= 4 && x_stride == cols) return plain(Deinterleave(wide, x, y, y_stride, rows, cols), 0);
  if (rows >= 2 && rows <= 4 && y_stride == rows) return plain(0, Interleave(wide, x, x_stride, y, rows, cols));
  if (rows < kCols || cols < kCols) return plain(0, 0);
  // The last block of either direction may overlap the one before: it writes the same again.
  for (int64_t c0 = 0; c0 < cols; c0 += kCols) {
    const int64_t c = c0 + kCols <= cols ? c0 : cols - kCols;
    const T* from = x + c;
    T* to = y + c * y_stride;
    int64_t r = 0;
    for (; r + lanes <= rows; r += lanes) PieceTile(wide, from + r * x_stride, x_stride, to + r, y_stride);
    for (; r < rows; r += kCols) {
      const int64_t at = r + kCols <= rows ? r : rows - kCols;
      PieceTile(narrow, from + at * x_stride, x_stride, to + at, y_stride);
    }
  }
}

}  // namespace

constexpr TransposeTable kTable = {&Words, &Pieces<uint8_t>, &Pieces<uint16_t>, &Pieces<uint64_t>};

}  // namespace trunnion::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trunnion::kernels {
const TransposeTable& transpose_table() { TRN_RUNG_TABLE(kTable) }
}  // namespace trunnion::kernels
#endif
