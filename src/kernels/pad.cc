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

// Elements of a size that has a type: accesses are memcpy of constant size, as nothing is aligned.
template <class T>
struct Typed {
  T value;
  static constexpr size_t size() { return sizeof(T); }
  void fill_row(char* to, int64_t n) const {
    if (n > 32) return fill(to, &value, static_cast<size_t>(n), sizeof(T));
    for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * int64_t{sizeof(T)}, &value, sizeof(T));
  }
  static void copy(char* to, const char* from) { std::memcpy(to, from, sizeof(T)); }
};
struct Bytes {
  const void* value;
  size_t bytes;
  size_t size() const { return bytes; }
  void fill_row(char* to, int64_t n) const { fill(to, value, static_cast<size_t>(n), bytes); }
  void copy(char* to, const char* from) const { std::memcpy(to, from, bytes); }
};

// memcpy for rows of a few hundred bytes, whose call would cost as much as the copy.
void copy_row(char* to, const char* from, int64_t bytes) {
  constexpr int64_t kBlock = 64;
  if (bytes < kBlock || bytes > 2048) {
    std::memcpy(to, from, static_cast<size_t>(bytes));
    return;
  }
  for (int64_t i = 0; i + kBlock < bytes; i += kBlock) std::memcpy(to + i, from + i, kBlock);
  std::memcpy(to + bytes - kBlock, from + bytes - kBlock, kBlock);
}

// The columns of a row: [inside, inside_end) are the input's own, which begin at input column `first`.
struct Columns {
  int64_t width, inside, inside_end, first;
};

// `rows` rows with a constant border. Everything by value: stores of characters could change what is in memory.
template <class E>
void constant_rows(E e, Columns c, char* to, const char* from, int64_t from_step, int64_t rows) {
  const int64_t size = static_cast<int64_t>(e.size());
  const int64_t left = c.inside, right = c.width - c.inside_end, middle = (c.inside_end - c.inside) * size;
  from += c.first * size;
  for (int64_t r = 0; r < rows; ++r, to += c.width * size, from += from_step) {
    // From left to right: stores that follow each other are the cheapest.
    e.fill_row(to, left);
    if (middle > 0) copy_row(to + left * size, from, middle);
    e.fill_row(to + c.inside_end * size, right);
  }
}

// Where border columns come from is worked out once, for the first so many of them.
constexpr int64_t kKnown = 64;

struct Border {
  PadMode mode;
  int64_t in_width, before;
  int64_t known[kKnown];
  int64_t at(int64_t k, int64_t column) const {
    return k < kKnown ? known[k] : source(column - before, in_width, mode);
  }
};

template <class E>
void repeated_row(E e, const Columns c, const Border& b, char* to, const char* from) {
  const int64_t size = static_cast<int64_t>(e.size());
  int64_t k = 0;
  for (int64_t i = 0; i < c.inside; ++i, ++k) e.copy(to + i * size, from + b.at(k, i) * size);
  if (c.inside_end > c.inside) copy_row(to + c.inside * size, from + c.first * size, (c.inside_end - c.inside) * size);
  for (int64_t i = c.inside_end; i < c.width; ++i, ++k) e.copy(to + i * size, from + b.at(k, i) * size);
}

template <class E>
void pad_rows(const E e, const char* in, char* out, const PadShape& shape, PadMode mode, int64_t row_begin,
              int64_t row_end) {
  const int last = shape.rank - 1;
  const int64_t size = static_cast<int64_t>(e.size());
  int64_t out_dim[kMaxCopyDims], in_stride[kMaxCopyDims], index[kMaxCopyDims];
  contiguous_strides(shape.dim, shape.rank, in_stride);
  int64_t rest = row_begin;
  for (int d = last; d >= 0; --d) {
    out_dim[d] = shape.dim[d] + shape.begin[d] + shape.end[d];
    if (d == last) continue;
    index[d] = rest % out_dim[d];
    rest /= out_dim[d];
  }
  Border border{mode, shape.dim[last], shape.begin[last], {}};
  Columns c{out_dim[last], 0, 0, 0};
  c.inside = border.before < 0 ? 0 : border.before < c.width ? border.before : c.width;
  c.inside_end = border.before + border.in_width < c.width ? border.before + border.in_width : c.width;
  if (c.inside_end < c.inside) c.inside_end = c.inside;
  c.first = c.inside - border.before;
  if (mode != PadMode::constant) {
    int64_t k = 0;
    for (int64_t i = 0; i < c.width && k < kKnown; ++i) {
      if (i == c.inside) i = c.inside_end;
      if (i < c.width) border.known[k++] = source(i - border.before, border.in_width, mode);
    }
  }
  // Rows of one plane follow each other; what is outside of the plane is looked at once.
  const int rows_dim = last - 1;
  for (int64_t row = row_begin; row < row_end;) {
    int64_t plane = 0;
    bool constant = false;
    for (int d = 0; d < rows_dim; ++d) {
      const int64_t s = source(index[d] - shape.begin[d], shape.dim[d], mode);
      constant |= s < 0;
      plane += s * in_stride[d];
    }
    const int64_t pad = rows_dim < 0 ? 0 : shape.begin[rows_dim], in_rows = rows_dim < 0 ? 1 : shape.dim[rows_dim];
    const int64_t step = rows_dim < 0 ? 0 : in_stride[rows_dim];
    int64_t r = rows_dim < 0 ? 0 : index[rows_dim], end = rows_dim < 0 ? 1 : out_dim[rows_dim];
    if (end - r > row_end - row) end = r + row_end - row;
    while (r < end) {
      char* to = out + row * c.width * size;
      int64_t done = 1;
      if (mode != PadMode::constant) {
        repeated_row(e, c, border, to, in + (plane + source(r - pad, in_rows, mode) * step) * size);
      } else if (constant || r < pad || r - pad >= in_rows) {
        e.fill_row(to, c.width);
      } else {
        done = (pad + in_rows < end ? pad + in_rows : end) - r;
        constant_rows(e, c, to, in + (plane + (r - pad) * step) * size, step * size, done);
      }
      r += done;
      row += done;
    }
    if (rows_dim >= 0) index[rows_dim] = 0;
    for (int d = rows_dim - 1; d >= 0; --d) {
      if (++index[d] < out_dim[d]) break;
      index[d] = 0;
    }
  }
}

// Outer dimensions without pads become one; the last one stays, as it is the unit of ranges.
PadShape merged(const PadShape& s) {
  PadShape out;
  bool joins = false;
  for (int d = 0; d < s.rank; ++d) {
    const bool plain = s.begin[d] == 0 && s.end[d] == 0 && d < s.rank - 1;
    if (plain && joins) {
      out.dim[out.rank - 1] *= s.dim[d];
    } else {
      out.dim[out.rank] = s.dim[d];
      out.begin[out.rank] = s.begin[d];
      out.end[out.rank++] = s.end[d];
    }
    joins = plain;
  }
  return out;
}

template <class T>
Typed<T> typed(const void* value) {
  Typed<T> e{};
  if (value) std::memcpy(&e.value, value, sizeof(T));
  return e;
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
  const PadShape s = merged(shape);
  const auto run = [&](const auto& e) { pad_rows(e, in, out, s, mode, row_begin, row_end); };
  switch (size) {
    case 1:
      return run(typed<uint8_t>(value));
    case 2:
      return run(typed<uint16_t>(value));
    case 4:
      return run(typed<uint32_t>(value));
    case 8:
      return run(typed<uint64_t>(value));
    default:
      return run(Bytes{value, size});
  }
}

}  // namespace trunnion::kernels
