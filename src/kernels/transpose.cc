// Plans of N-d transpositions: dimensions that stay neighbours are merged; what is left is a plain copy, a permutation
// of contiguous rows, or 2-D transpositions between the input's innermost dimension and the output's.
#include "kernels/transpose.h"

#include <cstring>

#include "base/checked_math.h"
#include "kernels/transpose_table.h"

namespace trunnion::kernels {
namespace {

using Kind = TransposePlan::Kind;

// A unit of kind `blocks` is at most this part of the 2-D problem.
constexpr int64_t kRowChunk = 512, kColumnChunk = 64;
constexpr int64_t kCopyChunk = 64 << 10;  // bytes

struct Wide {
  uint64_t low, high;
};

template <class T>
void plain_2d(const char* x, int64_t x_stride, char* y, int64_t y_stride, int64_t rows, int64_t cols) {
  constexpr int64_t kBlock = 64 / sizeof(T) < 8 ? 8 : 64 / sizeof(T);
  constexpr int64_t kSize = sizeof(T);
  for (int64_t r0 = 0; r0 < rows; r0 += kBlock) {
    const int64_t r1 = r0 + kBlock < rows ? r0 + kBlock : rows;
    for (int64_t c = 0; c < cols; ++c) {
      for (int64_t r = r0; r < r1; ++r) {
        std::memcpy(y + (c * y_stride + r) * kSize, x + (r * x_stride + c) * kSize, sizeof(T));
      }
    }
  }
}

void transpose_2d(const char* x, int64_t x_stride, char* y, int64_t y_stride, int64_t rows, int64_t cols, size_t size) {
  switch (size) {
    case 1:
      return transpose_table().bytes(reinterpret_cast<const uint8_t*>(x), x_stride, reinterpret_cast<uint8_t*>(y),
                                     y_stride, rows, cols);
    case 2:
      return transpose_table().halves(reinterpret_cast<const uint16_t*>(x), x_stride, reinterpret_cast<uint16_t*>(y),
                                      y_stride, rows, cols);
    case 4:
      return transpose_table().words(reinterpret_cast<const float*>(x), x_stride, reinterpret_cast<float*>(y), y_stride,
                                     rows, cols);
    case 8:
      return transpose_table().longs(reinterpret_cast<const uint64_t*>(x), x_stride, reinterpret_cast<uint64_t*>(y),
                                     y_stride, rows, cols);
    default:
      return plain_2d<Wide>(x, x_stride, y, y_stride, rows, cols);
  }
}

int64_t chunks(int64_t n, int64_t chunk) { return (n + chunk - 1) / chunk; }

}  // namespace

bool transpose_plan(const int64_t* dims, const int64_t* perm, int rank, size_t size, TransposePlan& plan) {
  plan = TransposePlan{};
  plan.size = size;
  if (rank < 0 || rank > kMaxTransposeDims) return false;
  if (size != 1 && size != 2 && size != 4 && size != 8 && size != 16) return false;
  bool seen[kMaxTransposeDims] = {}, empty = false;
  for (int d = 0; d < rank; ++d) {
    if (dims[d] < 0 || perm[d] < 0 || perm[d] >= rank || seen[perm[d]]) return false;
    seen[perm[d]] = true;
    empty |= dims[d] == 0;
  }
  if (empty) {
    plan.dim[0] = plan.units = 0;
    return true;
  }
  int64_t stride[kMaxTransposeDims], elements = 1, bytes;
  for (int d = rank - 1; d >= 0; --d) {
    stride[d] = elements;
    if (!mul_fits(elements, dims[d], &elements)) return false;
  }
  if (!mul_fits(elements, static_cast<int64_t>(size), &bytes)) return false;
  // Drop size 1, merge output neighbours that are neighbours in the input.
  plan.rank = 0;
  for (int d = 0; d < rank; ++d) {
    const int64_t n = dims[perm[d]], s = stride[perm[d]];
    if (n == 1) continue;
    const int last = plan.rank - 1;
    if (last >= 0 && plan.in_stride[last] == s * n) {
      plan.dim[last] *= n;
      plan.in_stride[last] = s;
    } else {
      plan.dim[plan.rank] = n;
      plan.in_stride[plan.rank++] = s;
    }
  }
  if (plan.rank <= 1) {
    plan.rank = 1;
    plan.dim[0] = elements;
    plan.in_stride[0] = plan.out_stride[0] = 1;
    plan.kind = Kind::copy;
    plan.unit_bytes = bytes < kCopyChunk ? bytes : kCopyChunk;
    plan.units = chunks(bytes, kCopyChunk);
    return true;
  }
  // A short contiguous row is one larger element.
  const int64_t row_bytes = plan.dim[plan.rank - 1] * static_cast<int64_t>(size);
  if (plan.in_stride[plan.rank - 1] == 1 && row_bytes <= 16 && (row_bytes & (row_bytes - 1)) == 0) {
    const int64_t n = plan.dim[--plan.rank];
    plan.size = static_cast<size_t>(row_bytes);
    for (int d = 0; d < plan.rank; ++d) plan.in_stride[d] /= n;
  }
  int64_t out_stride = 1;
  for (int d = plan.rank - 1; d >= 0; --d) {
    plan.out_stride[d] = out_stride;
    out_stride *= plan.dim[d];
    if (plan.in_stride[d] == 1) plan.column = d;
  }
  const int last = plan.rank - 1;
  if (plan.column == last) {
    plan.kind = Kind::rows;
    plan.unit_bytes = plan.dim[last] * static_cast<int64_t>(plan.size);
    plan.units = out_stride / plan.dim[last];
    return true;
  }
  plan.kind = Kind::blocks;
  const int64_t rows = plan.dim[last], cols = plan.dim[plan.column];
  plan.units = out_stride / rows / cols * chunks(rows, kRowChunk) * chunks(cols, kColumnChunk);
  plan.unit_bytes = (rows < kRowChunk ? rows : kRowChunk) * (cols < kColumnChunk ? cols : kColumnChunk) *
                    static_cast<int64_t>(plan.size);
  return true;
}

void transpose(const TransposePlan& plan, const void* xv, void* yv, int64_t begin, int64_t end) {
  if (begin >= end) return;
  const char* x = static_cast<const char*>(xv);
  char* y = static_cast<char*>(yv);
  const int64_t size = static_cast<int64_t>(plan.size);
  if (plan.kind == Kind::copy) {
    const int64_t bytes = plan.dim[0] * size, first = begin * kCopyChunk;
    const int64_t stop = end * kCopyChunk < bytes ? end * kCopyChunk : bytes;
    std::memcpy(y + first, x + first, static_cast<size_t>(stop - first));
    return;
  }
  // The dimensions to walk, innermost first: those of the 2-D problem in chunks, then the outer ones.
  struct Walk {
    int64_t count, index, in_step, out_step;
  } walk[kMaxTransposeDims + 1];
  int depth = 0;
  const int last = plan.rank - 1;
  const bool blocks = plan.kind == Kind::blocks;
  const int64_t rows = blocks ? plan.dim[last] : 1, row_stride = blocks ? plan.in_stride[last] : 0;
  const int64_t cols = blocks ? plan.dim[plan.column] : plan.dim[last];
  const int64_t col_stride = blocks ? plan.out_stride[plan.column] : 1;
  if (blocks) {
    walk[depth++] = {chunks(rows, kRowChunk), 0, kRowChunk * row_stride, kRowChunk};
    walk[depth++] = {chunks(cols, kColumnChunk), 0, kColumnChunk, kColumnChunk * col_stride};
  }
  for (int d = last - 1; d >= 0; --d) {
    if (d != plan.column) walk[depth++] = {plan.dim[d], 0, plan.in_stride[d], plan.out_stride[d]};
  }
  int64_t from = 0, to = 0, rest = begin;
  for (int k = 0; k < depth; ++k) {
    walk[k].index = rest % walk[k].count;
    rest /= walk[k].count;
    from += walk[k].index * walk[k].in_step;
    to += walk[k].index * walk[k].out_step;
  }
  const auto words = blocks && plan.size == 4 ? transpose_table().words : nullptr;  // looked up once for small units
  for (int64_t unit = begin; unit < end; ++unit) {
    if (blocks) {
      const int64_t row_at = walk[0].index * kRowChunk, col_at = walk[1].index * kColumnChunk;
      const int64_t row_count = rows - row_at < kRowChunk ? rows - row_at : kRowChunk;
      const int64_t col_count = cols - col_at < kColumnChunk ? cols - col_at : kColumnChunk;
      if (words) {
        words(reinterpret_cast<const float*>(x) + from, row_stride, reinterpret_cast<float*>(y) + to, col_stride,
              row_count, col_count);
      } else {
        transpose_2d(x + from * size, row_stride, y + to * size, col_stride, row_count, col_count, plan.size);
      }
    } else {
      std::memcpy(y + to * size, x + from * size, static_cast<size_t>(cols * size));
    }
    for (int k = 0; k < depth; ++k) {
      from += walk[k].in_step;
      to += walk[k].out_step;
      if (++walk[k].index < walk[k].count) break;
      from -= walk[k].count * walk[k].in_step;
      to -= walk[k].count * walk[k].out_step;
      walk[k].index = 0;
    }
  }
}

void transpose_2d_f32(const float* x, int64_t x_stride, float* y, int64_t y_stride, int64_t rows, int64_t cols) {
  transpose_table().words(x, x_stride, y, y_stride, rows, cols);
}

}  // namespace trunnion::kernels
