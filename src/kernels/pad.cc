// Pad (constant, reflect, edge, wrap), row by row: every output row maps to one input row, whose inside is a memcpy and
// whose borders are single elements.
#include <cstring>

#include "kernels/copy.h"

namespace trunnion::kernels {
namespace {

// The input position that output position `at` (counted from the input's start) reads, or -1 for the constant.
int64_t source(int64_t at, int64_t size, PadMode mode) {
  if (at >= 0 && at < size) return at;
  switch (mode) {
    case PadMode::constant:
      return -1;
    case PadMode::edge:
      return at < 0 ? 0 : size - 1;
    case PadMode::wrap: {
      const int64_t r = at % size;
      return r < 0 ? r + size : r;
    }
    case PadMode::reflect: {
      if (size == 1) return 0;
      const int64_t period = 2 * (size - 1);
      int64_t r = at % period;
      if (r < 0) r += period;
      return r < size ? r : period - r;
    }
  }
  return -1;
}

}  // namespace

void pad(const void* x, void* y, const PadShape& shape, PadMode mode, const void* value, size_t size, int64_t row_begin,
         int64_t row_end) {
  if (row_begin >= row_end) return;
  const char* in = static_cast<const char*>(x);
  char* out = static_cast<char*>(y);
  if (shape.rank == 0) {
    std::memcpy(out, in, size);
    return;
  }
  const int last = shape.rank - 1;
  int64_t out_dim[kMaxCopyDims], in_stride[kMaxCopyDims], index[kMaxCopyDims];
  contiguous_strides(shape.dim, shape.rank, in_stride);
  int64_t rest = row_begin;
  for (int d = last; d >= 0; --d) {
    out_dim[d] = shape.dim[d] + shape.begin[d] + shape.end[d];
    if (d == last) continue;
    index[d] = rest % out_dim[d];
    rest /= out_dim[d];
  }
  const int64_t width = out_dim[last], in_width = shape.dim[last], before = shape.begin[last];
  // Output columns [inside, inside_end) are the input's own.
  int64_t inside = before < 0 ? 0 : before < width ? before : width;
  int64_t inside_end = before + in_width < width ? before + in_width : width;
  if (inside_end < inside) inside_end = inside;
  const size_t row_bytes = static_cast<size_t>(width) * size;
  for (int64_t row = row_begin; row < row_end; ++row) {
    char* target = out + static_cast<size_t>(row) * row_bytes;
    int64_t from = 0;
    bool constant = false;
    for (int d = 0; d < last; ++d) {
      const int64_t s = source(index[d] - shape.begin[d], shape.dim[d], mode);
      constant |= s < 0;
      from += s * in_stride[d];
    }
    if (constant) {
      fill(target, value, static_cast<size_t>(width), size);
    } else {
      const char* origin = in + static_cast<size_t>(from) * size;
      const auto border = [&](int64_t first, int64_t end) {
        if (mode == PadMode::constant) {
          if (end > first) {
            fill(target + static_cast<size_t>(first) * size, value, static_cast<size_t>(end - first), size);
          }
          return;
        }
        for (int64_t c = first; c < end; ++c) {
          const int64_t s = source(c - before, in_width, mode);
          std::memcpy(target + static_cast<size_t>(c) * size, origin + static_cast<size_t>(s) * size, size);
        }
      };
      border(0, inside);
      if (inside_end > inside) {
        std::memcpy(target + static_cast<size_t>(inside) * size, origin + static_cast<size_t>(inside - before) * size,
                    static_cast<size_t>(inside_end - inside) * size);
      }
      border(inside_end, width);
    }
    for (int d = last - 1; d >= 0; --d) {
      if (++index[d] < out_dim[d]) break;
      index[d] = 0;
    }
  }
}

}  // namespace trunnion::kernels
