// Packing of B into panels. Sources are read in the order of their memory where that is possible, and need no alignment
// beyond a byte: weights are packed from where they lie in a model's file.
#include "kernels/gemm_pack.h"

#include <cstring>

#include "kernels/gemm_driver.h"
#include "kernels/transpose.h"

namespace trunnion::kernels {
namespace {

// Rows of a row-major B that one panel gets before the next one's turn: pieces of a row lie beside each other.
constexpr int64_t kRowsAtOnce = 16;
constexpr int64_t kTapBuffer = 4096;  // floats, on the stack

void copy_row(const float* from, float* to, int64_t count) {
  switch (count) {  // whole panels and half ones: a few moves each
    case 32:
      std::memcpy(to, from, 32 * sizeof(float));
      break;
    case 16:
      std::memcpy(to, from, 16 * sizeof(float));
      break;
    case 8:
      std::memcpy(to, from, 8 * sizeof(float));
      break;
    default:
      std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
  }
}

// Columns of panel p: those that exist, and those that it has room for.
struct Columns {
  int64_t first, count, width;
};
Columns columns_of(const GemmMicroTable& table, int64_t n, int64_t p) {
  const int64_t col = p * table.width, left = n - col;
  const int64_t width = left <= table.lanes ? table.lanes : table.width;
  return {col, left < width ? left : width, width};
}

void pack_rows(const float* b, int64_t k_stride, int64_t n_stride, int64_t rows, const Columns& c, float* out) {
  copy_strided(b + c.first * n_stride, k_stride, n_stride, rows, c.count, out, c.width);
  if (c.count == c.width) return;
  for (int64_t k = 0; k < rows; ++k)
    std::memset(out + k * c.width + c.count, 0, static_cast<size_t>(c.width - c.count) * sizeof(float));
}

}  // namespace

void copy_strided(const float* x, int64_t row_stride, int64_t col_stride, int64_t rows, int64_t cols, float* out,
                  int64_t out_stride) {
  if (rows <= 0 || cols <= 0) return;
  if (col_stride == 1) {
    for (int64_t i = 0; i < rows; ++i) copy_row(x + i * row_stride, out + i * out_stride, cols);
  } else if (row_stride == 1) {
    transpose_2d_f32(x, col_stride, out, out_stride, cols, rows);
  } else {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < cols; ++j)
        std::memcpy(out + i * out_stride + j, x + i * row_stride + j * col_stride, sizeof(float));
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
  const int64_t panels = (n + table.width - 1) / table.width, last = panel_end < panels ? panel_end : panels;
  const int64_t step = n_stride == 1 && last - panel_begin > 1 ? kRowsAtOnce : rows;
  for (int64_t k = 0; k < rows; k += step) {
    const int64_t some = rows - k < step ? rows - k : step;
    for (int64_t p = panel_begin; p < last; ++p) {
      const Columns c = columns_of(table, n, p);
      pack_rows(b + k * k_stride, k_stride, n_stride, some, c, out + (p - panel_begin) * panel_stride + k * c.width);
    }
  }
}

bool pack_b_taps(const GemmMicroTable& table, const float* b, int64_t taps, int64_t cin, int64_t n, int64_t panel,
                 float* out) {
  if (is_narrow(n) || taps * table.width > kTapBuffer) return false;
  const Columns c = columns_of(table, n, panel);
  const int64_t channels = kTapBuffer / (taps * c.width);
  alignas(64) float buffer[kTapBuffer];
  if (c.count < c.width) std::memset(buffer, 0, sizeof buffer);
  for (int64_t ci = 0; ci < cin; ci += channels) {
    const int64_t some = cin - ci < channels ? cin - ci : channels;
    transpose_2d_f32(b + c.first * cin * taps + ci * taps, cin * taps, buffer, c.width, c.count, some * taps);
    for (int64_t i = 0; i < some; ++i) {
      for (int64_t tap = 0; tap < taps; ++tap)
        copy_row(buffer + (i * taps + tap) * c.width, out + (tap * cin + ci + i) * c.width, c.width);
    }
  }
  return true;
}

}  // namespace trunnion::kernels
