// 2-D transposition of 4-byte elements. A vector is put together from 128-bit pieces of rows 4 apart, so that 4x4
// transpositions inside its blocks already give whole output rows. Two to four columns (or rows) side by side, as in
// images, use the interleaved loads and stores.
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
  // Moved as integers: a float load and store is the same here, but says less.
  const uint32_t* in = reinterpret_cast<const uint32_t*>(x);
  uint32_t* out = reinterpret_cast<uint32_t*>(y);
  for (int64_t c = 0; c < cols; ++c) {
    for (int64_t r = 0; r < rows; ++r) out[c * y_stride + r] = in[r * x_stride + c];
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

}  // namespace

constexpr TransposeTable kTable = {&Words};

}  // namespace trunnion::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trunnion::kernels {
const TransposeTable& transpose_table() { TRN_RUNG_TABLE(kTable) }
}  // namespace trunnion::kernels
#endif
