// 2-D transposition of 4-byte elements and of bytes. A vector is put together from 128-bit pieces of rows 4 apart, so
// that 4x4 transpositions inside its blocks already give whole output rows. Two to four columns (or rows) side by side,
// as in images, use the interleaved loads and stores.
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

HWY_INLINE void Plain(const float* x, int64_t x_stride, float* y, int64_t y_stride, int64_t rows, int64_t cols) {
  // Moved as bytes: x may begin anywhere.
  for (int64_t c = 0; c < cols; ++c) {
    for (int64_t r = 0; r < rows; ++r) hwy::CopyBytes<sizeof(float)>(x + r * x_stride + c, y + c * y_stride + r);
  }
}

// Rows of 2, 3 or 4 contiguous elements; returns how many rows were done.
HWY_INLINE int64_t Deinterleave(const float* x, float* y, int64_t y_stride, int64_t rows, int64_t cols) {
  const D d;
  int64_t r = 0;
  V a, b, e, f;
  for (; r + kLanes <= rows; r += kLanes) {
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
HWY_INLINE int64_t Interleave(const float* x, int64_t x_stride, float* y, int64_t rows, int64_t cols) {
  const D d;
  int64_t c = 0;
  for (; c + kLanes <= cols; c += kLanes) {
    const V a = hn::LoadU(d, x + c), b = hn::LoadU(d, x + x_stride + c);
    if (rows == 2) {
      hn::StoreInterleaved2(a, b, d, y + c * 2);
      continue;
    }
    const V e = hn::LoadU(d, x + 2 * x_stride + c);
    if (rows == 3) {
      hn::StoreInterleaved3(a, b, e, d, y + c * 3);
    } else {
      hn::StoreInterleaved4(a, b, e, hn::LoadU(d, x + 3 * x_stride + c), d, y + c * 4);
    }
  }
  return c;
}

void Words(const float* x, int64_t x_stride, float* y, int64_t y_stride, int64_t rows, int64_t cols) {
  if (cols >= 2 && cols <= 4 && x_stride == cols) {
    const int64_t done = Deinterleave(x, y, y_stride, rows, cols);
    return Plain(x + done * x_stride, x_stride, y + done, y_stride, rows - done, cols);
  }
  if (rows >= 2 && rows <= 4 && y_stride == rows) {
    const int64_t done = Interleave(x, x_stride, y, rows, cols);
    return Plain(x + done, x_stride, y + done * y_stride, y_stride, rows, cols - done);
  }
  // Whole cache lines on both sides: 16 columns, kLanes (at most 16) rows at a time.
  const int64_t whole_rows = rows / kLanes * kLanes, whole_cols = cols / 4 * 4;
  for (int64_t c0 = 0; c0 < whole_cols; c0 += 16) {
    const int64_t c1 = c0 + 16 < whole_cols ? c0 + 16 : whole_cols;
    for (int64_t r = 0; r < whole_rows; r += kLanes) {
      for (int64_t c = c0; c < c1; c += 4) Tile(x + r * x_stride + c, x_stride, y + c * y_stride + r, y_stride);
    }
  }
  Plain(x + whole_cols, x_stride, y + whole_cols * y_stride, y_stride, whole_rows, cols - whole_cols);
  Plain(x + whole_rows * x_stride, x_stride, y + whole_rows, y_stride, rows - whole_rows, cols);
}

// 16 bytes of each of the rows r, r + 16, ...: as many as fit into a vector.
template <class D8>
HWY_INLINE hn::Vec<D8> LoadByteBlocks(D8 d8, const uint8_t* p, int64_t step) {
  if constexpr (hn::MaxLanes(D8()) == 16) {
    (void)step;
    return hn::LoadU(d8, p);
  } else {
    const hn::Half<D8> half;
    constexpr int64_t kBlocks = hn::MaxLanes(D8()) / 32;
    return hn::Combine(d8, LoadByteBlocks(half, p + kBlocks * step, step), LoadByteBlocks(half, p, step));
  }
}

// Lanes(d8) rows by 16 columns. Interleaving the first half of the vectors with the second moves every element by one
// bit of its position; four times make a transposition.
template <class D8>
HWY_INLINE void ByteTile(D8 d8, const uint8_t* x, int64_t x_stride, uint8_t* y, int64_t y_stride) {
  hn::Vec<D8> v[16], t[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) v[i] = LoadByteBlocks(d8, x + i * x_stride, 16 * x_stride);
  const auto zip = [&](const hn::Vec<D8>* from, hn::Vec<D8>* to) HWY_ATTR {
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
      to[2 * i] = hn::InterleaveLower(d8, from[i], from[i + 8]);
      to[2 * i + 1] = hn::InterleaveUpper(d8, from[i], from[i + 8]);
    }
  };
  zip(v, t);
  zip(t, v);
  zip(v, t);
  zip(t, v);
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) hn::StoreU(v[i], d8, y + i * y_stride);
}

void Bytes(const uint8_t* x, int64_t x_stride, uint8_t* y, int64_t y_stride, int64_t rows, int64_t cols) {
  const hn::ScalableTag<uint8_t> wide;
  const hn::FixedTag<uint8_t, 16> narrow;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(wide));
  if (rows < 16 || cols < 16) {
    for (int64_t c = 0; c < cols; ++c) {
      for (int64_t r = 0; r < rows; ++r) y[c * y_stride + r] = x[r * x_stride + c];
    }
    return;
  }
  // The last block of either direction may overlap the one before: it writes the same again.
  for (int64_t c0 = 0; c0 < cols; c0 += 16) {
    const int64_t c = c0 + 16 <= cols ? c0 : cols - 16;
    const uint8_t* from = x + c;
    uint8_t* to = y + c * y_stride;
    int64_t r = 0;
    for (; r + lanes <= rows; r += lanes) ByteTile(wide, from + r * x_stride, x_stride, to + r, y_stride);
    for (; r < rows; r += 16) {
      const int64_t at = r + 16 <= rows ? r : rows - 16;
      ByteTile(narrow, from + at * x_stride, x_stride, to + at, y_stride);
    }
  }
}

}  // namespace

constexpr TransposeTable kTable = {&Words, &Bytes};

}  // namespace trunnion::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trunnion::kernels {
const TransposeTable& transpose_table() { TRN_RUNG_TABLE(kTable) }
}  // namespace trunnion::kernels
#endif
