// Packing of B into panels, with small transposes where B runs the other way.
#include "kernels/gemm_pack.h"

#include <cstring>

#include "hwy/highway.h"
#include "kernels/gemm_driver.h"

HWY_BEFORE_NAMESPACE();
namespace trunnion::kernels {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

const hn::CappedTag<float, 4> d;

// out[i * out_stride + j] = x[i + j * col_stride], 4 x 4 at a time in 128-bit vectors.
void transpose(const float* x, int64_t col_stride, int64_t rows, int64_t cols, float* out, int64_t out_stride) {
  const int64_t step = hn::MaxLanes(d) == 4 ? 4 : rows + 1;
  int64_t i = 0;
  for (; i + step <= rows; i += step) {
    int64_t j = 0;
    for (; j + step <= cols; j += step) {
      const float* from = x + i + j * col_stride;
      float* to = out + i * out_stride + j;
      const auto a = hn::LoadU(d, from), b = hn::LoadU(d, from + col_stride);
      const auto c = hn::LoadU(d, from + 2 * col_stride), e = hn::LoadU(d, from + 3 * col_stride);
      const auto ac_low = hn::InterleaveLower(d, a, c), ac_high = hn::InterleaveUpper(d, a, c);
      const auto be_low = hn::InterleaveLower(d, b, e), be_high = hn::InterleaveUpper(d, b, e);
      hn::StoreU(hn::InterleaveLower(d, ac_low, be_low), d, to);
      hn::StoreU(hn::InterleaveUpper(d, ac_low, be_low), d, to + out_stride);
      hn::StoreU(hn::InterleaveLower(d, ac_high, be_high), d, to + 2 * out_stride);
      hn::StoreU(hn::InterleaveUpper(d, ac_high, be_high), d, to + 3 * out_stride);
    }
    for (; j < cols; ++j) {
      for (int64_t r = i; r < i + step; ++r) out[r * out_stride + j] = x[r + j * col_stride];
    }
  }
  for (; i < rows; ++i) {
    for (int64_t j = 0; j < cols; ++j) out[i * out_stride + j] = x[i + j * col_stride];
  }
}

}  // namespace

void copy_strided(const float* x, int64_t row_stride, int64_t col_stride, int64_t rows, int64_t cols, float* out,
                  int64_t out_stride) {
  if (rows <= 0 || cols <= 0) return;
  if (col_stride == 1) {
    for (int64_t i = 0; i < rows; ++i) {
      std::memcpy(out + i * out_stride, x + i * row_stride, static_cast<size_t>(cols) * sizeof(float));
    }
  } else if (row_stride == 1) {
    transpose(x, col_stride, rows, cols, out, out_stride);
  } else {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < cols; ++j) out[i * out_stride + j] = x[i * row_stride + j * col_stride];
    }
  }
}

int64_t packed_b_size(const GemmMicroTable& table, int64_t k, int64_t n) {
  if (n <= 0 || k <= 0) return 0;
  if (is_narrow(n)) return n * k;
  return ((n - 1) / table.width * table.width + last_panel_width(table, n)) * k;
}

void pack_b_block(const GemmMicroTable& table, const float* b, int64_t k_stride, int64_t n_stride, int64_t k_begin,
                  int64_t k_end, int64_t n, int64_t panel_begin, int64_t panel_end, int64_t panel_stride, float* out) {
  const int64_t rows = k_end - k_begin;
  if (rows <= 0) return;
  b += k_begin * k_stride;
  if (is_narrow(n)) {
    if (panel_begin < panel_end) copy_strided(b, n_stride, k_stride, n, rows, out, panel_stride);
    return;
  }
  for (int64_t p = panel_begin; p < panel_end; ++p, out += panel_stride) {
    const int64_t col = p * table.width, left = n - col;
    const int64_t width = left <= table.lanes ? table.lanes : table.width;
    const int64_t cols = left < width ? left : width;
    if (cols <= 0) return;
    copy_strided(b + col * n_stride, k_stride, n_stride, rows, cols, out, width);
    if (cols < width) {
      for (int64_t k = 0; k < rows; ++k) {
        std::memset(out + k * width + cols, 0, static_cast<size_t>(width - cols) * sizeof(float));
      }
    }
  }
}

}  // namespace trunnion::kernels
HWY_AFTER_NAMESPACE();
