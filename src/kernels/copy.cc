// Strided copies, gather, fill and select by element size. Inner loops are memcpy where the layout allows it, else a
// typed loop for 1, 2, 4, 8 and 16 bytes, else memcpy per element.
#include "kernels/copy.h"

#include <cstring>

namespace trunnion::kernels {
namespace {

struct Wide {
  uint64_t low, high;
};

// Calls f with a value of the type of `size` bytes; false for other sizes.
template <class F>
bool with_type(size_t size, F&& f) {
  switch (size) {
    case 1:
      f(uint8_t{});
      return true;
    case 2:
      f(uint16_t{});
      return true;
    case 4:
      f(uint32_t{});
      return true;
    case 8:
      f(uint64_t{});
      return true;
    case 16:
      f(Wide{});
      return true;
    default:
      return false;
  }
}

// Elements may be unaligned: every access is a memcpy of constant size.
template <class T>
T load(const char* p) {
  T v;
  std::memcpy(&v, p, sizeof(T));
  return v;
}
template <class T>
void store(char* p, T v) {
  std::memcpy(p, &v, sizeof(T));
}

// Short rows without a call; both ends may overlap.
inline void copy_bytes(const char* src, char* dst, size_t n) {
  if (n >= 32) {
    std::memcpy(dst, src, n);
  } else if (n >= 16) {
    const Wide a = load<Wide>(src), b = load<Wide>(src + n - 16);
    store(dst, a);
    store(dst + n - 16, b);
  } else if (n >= 8) {
    const uint64_t a = load<uint64_t>(src), b = load<uint64_t>(src + n - 8);
    store(dst, a);
    store(dst + n - 8, b);
  } else if (n >= 4) {
    const uint32_t a = load<uint32_t>(src), b = load<uint32_t>(src + n - 4);
    store(dst, a);
    store(dst + n - 4, b);
  } else {
    for (size_t i = 0; i < n; ++i) dst[i] = src[i];
  }
}

// The bytes at src, `times` times one behind the other.
void repeat_bytes(const char* src, char* dst, size_t n, int64_t times) {
  constexpr size_t kPiece = 8192;  // stays in the first-level cache
  const size_t all = n * static_cast<size_t>(times);
  if (all == 0) return;
  copy_bytes(src, dst, n);
  size_t piece = n;
  for (size_t have = n; have < all;) {
    const size_t more = all - have < piece ? all - have : piece;
    copy_bytes(dst, dst + have, more);
    have += more;
    if (have < kPiece) piece = have;
  }
}

// Rows of n bytes, the strides in bytes.
void copy_row_run(const char* src, char* dst, size_t n, int64_t rows, int64_t src_stride, int64_t dst_stride) {
  constexpr size_t kShort = 64;  // of longer rows copies of the source cost less than those of what was just written
  if (src_stride == 0 && dst_stride == static_cast<int64_t>(n) && n < kShort) return repeat_bytes(src, dst, n, rows);
  const bool typed = with_type(n, [&](auto type) {
    using T = decltype(type);
    for (int64_t i = 0; i < rows; ++i) store(dst + i * dst_stride, load<T>(src + i * src_stride));
  });
  if (typed) return;
  for (int64_t i = 0; i < rows; ++i) copy_bytes(src + i * src_stride, dst + i * dst_stride, n);
}

void copy_row(const char* src, char* dst, int64_t n, int64_t src_stride, int64_t dst_stride, size_t size) {
  if (src_stride == 1 && dst_stride == 1) {
    std::memcpy(dst, src, static_cast<size_t>(n) * size);
    return;
  }
  const bool typed = with_type(size, [&](auto type) {
    using T = decltype(type);
    constexpr int64_t kSize = sizeof(T);
    if (dst_stride == 1 && src_stride == -1) {
      for (int64_t i = 0; i < n; ++i) store(dst + i * kSize, load<T>(src - i * kSize));
    } else if (dst_stride == 1 && src_stride == 0) {
      const T v = load<T>(src);
      for (int64_t i = 0; i < n; ++i) store(dst + i * kSize, v);
    } else if (dst_stride == 1) {
      for (int64_t i = 0; i < n; ++i) store(dst + i * kSize, load<T>(src + i * src_stride * kSize));
    } else {
      for (int64_t i = 0; i < n; ++i) store(dst + i * dst_stride * kSize, load<T>(src + i * src_stride * kSize));
    }
  });
  if (typed) return;
  const int64_t s = static_cast<int64_t>(size);
  for (int64_t i = 0; i < n; ++i) std::memcpy(dst + i * dst_stride * s, src + i * src_stride * s, size);
}

template <class Index>
void gather(const void* x, void* y, const Index* index, int64_t indices, int64_t count, size_t block) {
  const char* in = static_cast<const char*>(x);
  char* out = static_cast<char*>(y);
  const auto row = [&](int64_t k) {
    const int64_t at = static_cast<int64_t>(index[k]);
    return static_cast<size_t>(at < 0 ? at + count : at);
  };
  const bool typed = with_type(block, [&](auto type) {
    using T = decltype(type);
    for (int64_t k = 0; k < indices; ++k) store(out + k * int64_t{sizeof(T)}, load<T>(in + row(k) * sizeof(T)));
  });
  if (typed) return;
  constexpr int64_t kAhead = 8;
  for (int64_t k = 0; k < indices; ++k) {
    if (k + kAhead < indices) __builtin_prefetch(in + row(k + kAhead) * block);
    std::memcpy(out + static_cast<size_t>(k) * block, in + row(k) * block, block);
  }
}

template <class Index>
bool valid(const Index* index, int64_t n, int64_t count) {
  bool good = true;
  for (int64_t i = 0; i < n; ++i) good &= index[i] < count && index[i] >= -count;
  return good;
}

}  // namespace

void simplify(CopyShape& shape) {
  CopyShape out;
  for (int d = 0; d < shape.rank; ++d) {
    if (shape.dim[d] == 1) continue;
    const int last = out.rank - 1;
    if (last >= 0 && out.src_stride[last] == shape.src_stride[d] * shape.dim[d] &&
        out.dst_stride[last] == shape.dst_stride[d] * shape.dim[d]) {
      out.dim[last] *= shape.dim[d];
      out.src_stride[last] = shape.src_stride[d];
      out.dst_stride[last] = shape.dst_stride[d];
      continue;
    }
    out.dim[out.rank] = shape.dim[d];
    out.src_stride[out.rank] = shape.src_stride[d];
    out.dst_stride[out.rank] = shape.dst_stride[d];
    ++out.rank;
  }
  if (out.rank == 0) {
    out.rank = 1;
    out.dim[0] = out.src_stride[0] = out.dst_stride[0] = 1;
  }
  shape = out;
}

int64_t copy_rows(const CopyShape& shape) {
  int64_t rows = 1;
  for (int d = 0; d + 1 < shape.rank; ++d) rows *= shape.dim[d];
  return shape.rank > 0 && shape.dim[shape.rank - 1] == 0 ? 0 : rows;
}

void copy_strided(const void* src, void* dst, const CopyShape& shape, size_t size, int64_t begin, int64_t end) {
  if (begin >= end) return;
  const int last = shape.rank - 1;
  const int64_t s = static_cast<int64_t>(size);
  int64_t index[kMaxCopyDims];
  int64_t rest = begin, from = 0, to = 0;
  for (int d = last - 1; d >= 0; --d) {
    index[d] = rest % shape.dim[d];
    rest /= shape.dim[d];
    from += index[d] * shape.src_stride[d];
    to += index[d] * shape.dst_stride[d];
  }
  // Contiguous rows: those of one dimension are copied in one go.
  const bool runs = last > 0 && shape.src_stride[last] == 1 && shape.dst_stride[last] == 1;
  for (int64_t row = begin; row < end; ++row) {
    if (runs) {
      const int64_t left = shape.dim[last - 1] - index[last - 1], times = left < end - row ? left : end - row;
      copy_row_run(static_cast<const char*>(src) + from * s, static_cast<char*>(dst) + to * s,
                   static_cast<size_t>(shape.dim[last] * s), times, shape.src_stride[last - 1] * s,
                   shape.dst_stride[last - 1] * s);
      row += times - 1;
      index[last - 1] += times - 1;
      from += (times - 1) * shape.src_stride[last - 1];
      to += (times - 1) * shape.dst_stride[last - 1];
    } else {
      copy_row(static_cast<const char*>(src) + from * s, static_cast<char*>(dst) + to * s, shape.dim[last],
               shape.src_stride[last], shape.dst_stride[last], size);
    }
    for (int d = last - 1; d >= 0; --d) {
      from += shape.src_stride[d];
      to += shape.dst_stride[d];
      if (++index[d] < shape.dim[d]) break;
      from -= shape.dim[d] * shape.src_stride[d];
      to -= shape.dim[d] * shape.dst_stride[d];
      index[d] = 0;
    }
  }
}

void contiguous_strides(const int64_t* dims, int rank, int64_t* strides) {
  int64_t stride = 1;
  for (int d = rank - 1; d >= 0; --d) {
    strides[d] = stride;
    stride *= dims[d];
  }
}

void gather_blocks(const void* x, void* y, const int64_t* index, int64_t indices, int64_t count, size_t block) {
  gather(x, y, index, indices, count, block);
}
void gather_blocks(const void* x, void* y, const int32_t* index, int64_t indices, int64_t count, size_t block) {
  gather(x, y, index, indices, count, block);
}
bool indices_valid(const int64_t* index, int64_t n, int64_t count) { return valid(index, n, count); }
bool indices_valid(const int32_t* index, int64_t n, int64_t count) { return valid(index, n, count); }

void fill(void* y, const void* value, size_t n, size_t size) {
  if (n == 0) return;
  const char* v = static_cast<const char*>(value);
  char* to = static_cast<char*>(y);
  bool same = true;  // all bytes of the value
  for (size_t i = 1; i < size; ++i) same &= v[i] == v[0];
  const size_t bytes = n * size;
  if (same && bytes > 64) {
    std::memset(to, v[0], bytes);
    return;
  }
  constexpr size_t kBlock = 4096;
  const size_t head = size < kBlock ? kBlock / size * size : bytes;
  copy_row(v, to, static_cast<int64_t>(bytes < head ? n : head / size), 0, 1, size);
  for (size_t at = head; at < bytes; at += head) std::memcpy(to + at, to, bytes - at < head ? bytes - at : head);
}

void select(const bool* condition, int64_t condition_stride, const void* av, int64_t a_stride, const void* bv,
            int64_t b_stride, void* yv, int64_t n, size_t size) {
  const char* a = static_cast<const char*>(av);
  const char* b = static_cast<const char*>(bv);
  char* y = static_cast<char*>(yv);
  if (n <= 0) return;
  if (condition_stride == 0) {
    copy_row(condition[0] ? a : b, y, n, condition[0] ? a_stride : b_stride, 1, size);
    return;
  }
  const bool typed = with_type(size, [&](auto type) {
    using T = decltype(type);
    constexpr int64_t kSize = sizeof(T);
    const auto pick = [&](auto a_step, auto b_step) {
      for (int64_t i = 0; i < n; ++i) {
        const T from_a = load<T>(a + i * a_step * kSize), from_b = load<T>(b + i * b_step * kSize);
        store(y + i * kSize, condition[i] ? from_a : from_b);
      }
    };
    struct Zero {
      constexpr operator int64_t() const { return 0; }
    };
    struct One {
      constexpr operator int64_t() const { return 1; }
    };
    if (a_stride && b_stride) pick(One(), One());
    if (a_stride && !b_stride) pick(One(), Zero());
    if (!a_stride && b_stride) pick(Zero(), One());
    if (!a_stride && !b_stride) pick(Zero(), Zero());
  });
  if (typed) return;
  const int64_t s = static_cast<int64_t>(size);
  for (int64_t i = 0; i < n; ++i) {
    std::memcpy(y + i * s, condition[i] ? a + i * a_stride * s : b + i * b_stride * s, size);
  }
}

}  // namespace trunnion::kernels
