// The loops around the 8-bit integer micro-kernels; packing of both operands.
#include "kernels/gemm_int8_driver.h"

#include <cstring>

#include "base/cpu_info.h"
#include "hwy/highway.h"
#include "kernels/transpose.h"

HWY_BEFORE_NAMESPACE();
namespace trunnion::kernels {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

int32_t value(const void* p, bool is_signed, int64_t at) {
  return is_signed ? static_cast<const int8_t*>(p)[at] : static_cast<const uint8_t*>(p)[at];
}

// Columns that a panel holds in memory.
int64_t panel_columns(const Int8MicroTable& t, int64_t n, int64_t panel) {
  return n - panel * t.width <= t.lanes ? t.lanes : t.width;
}

// Sum of unsigned bytes, each first combined with `flip` by exclusive or.
int64_t sum_bytes(const uint8_t* p, uint8_t flip, int64_t count) {
  const hn::CappedTag<uint8_t, 16> d8;
  const hn::Repartition<uint64_t, decltype(d8)> d64;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d8));
  int64_t i = 0, sum = 0;
  if (lanes >= 8) {
    auto sums = hn::Zero(d64);
    const auto flips = hn::Set(d8, flip);
    for (; i + lanes <= count; i += lanes) sums = hn::Add(sums, hn::SumsOf8(hn::Xor(hn::LoadU(d8, p + i), flips)));
    sum = static_cast<int64_t>(hn::GetLane(hn::SumOfLanes(d64, sums)));
  }
  for (; i < count; ++i) sum += p[i] ^ flip;
  return sum;
}

}  // namespace

const Int8MicroTable& int8_micro_table() {
#if defined(__x86_64__)
  if (active_avx512_vnni()) return avx512vnni::kInt8MicroTable;
  if (active_rung() >= Rung::avx2) return avx2::kInt8MicroTable;
#endif
  return baseline::kInt8MicroTable;
}

int64_t int8_packed_size(const Int8MicroTable& t, int64_t k, int64_t n) {
  if (n <= 0) return 0;
  const int64_t last = (n - 1) / t.width;
  return int8_sums_bytes(t, n) + last * int8_panel_bytes(t, k) + int8_groups(t, k) * panel_columns(t, n, last) * 4;
}

namespace {

// The bytes [k, k + count) of a column, in the order of K.
void copy_column(const Int8SourceB& s, const uint8_t* column, int64_t k, int64_t count, uint8_t* to) {
  while (count > 0) {
    const int64_t outer = k / s.inner_count, inner = k % s.inner_count;
    const int64_t some = s.inner_count - inner < count ? s.inner_count - inner : count;
    const uint8_t* from = column + outer * s.outer_stride + inner * s.inner_stride;
    if (s.inner_stride == 1) {
      std::memcpy(to, from, static_cast<size_t>(some));
    } else {
      for (int64_t i = 0; i < some; ++i) to[i] = from[i * s.inner_stride];
    }
    to += some, k += some, count -= some;
  }
}

// A panel of bytes, in pieces of K: first every column by itself, then four bytes of it as one word of the panel.
void pack_bytes(const Int8SourceB& s, int64_t cols, int64_t columns, uint8_t flip, int64_t col, char* out,
                int32_t* sums) {
  constexpr int64_t kPiece = 256, kMostColumns = 64;
  alignas(64) uint8_t piece[kMostColumns * kPiece];
  const int64_t k_size = s.outer_count * s.inner_count;
  const uint8_t* b = static_cast<const uint8_t*>(s.b) + col * s.n_stride;
  const bool rows = s.n_stride == 1 && s.outer_count == 1;
  for (int64_t j = 0; j < cols; ++j) sums[j] = 0;
  for (int64_t k = 0; k < k_size; k += kPiece) {
    const int64_t count = k_size - k < kPiece ? k_size - k : kPiece, groups = (count + 3) / 4;
    for (int64_t i = 0; rows && i < count; ++i) {
      const uint8_t* from = b + (k + i) * s.inner_stride;
      for (int64_t j = 0; j < cols; ++j) piece[j * kPiece + i] = from[j];
    }
    for (int64_t j = 0; j < cols; ++j) {
      uint8_t* to = piece + j * kPiece;
      if (!rows) copy_column(s, b + j * s.n_stride, k, count, to);
      for (int64_t i = 0; flip != 0 && i < count; ++i) to[i] ^= flip;
      sums[j] += static_cast<int32_t>(sum_bytes(to, 0x80, count) - 128 * count);
      for (int64_t i = count; i < groups * 4; ++i) to[i] = 0;
    }
    transpose_2d_f32(reinterpret_cast<const float*>(piece), kPiece / 4, reinterpret_cast<float*>(out) + k / 4 * columns,
                     columns, cols, groups);
  }
}

}  // namespace

void int8_pack_panel(const Int8MicroTable& t, const Int8SourceB& s, int64_t n, int64_t panel, void* packed) {
  const int64_t k_size = s.outer_count * s.inner_count, columns = panel_columns(t, n, panel), col = panel * t.width;
  const int32_t shift = int8_b_shift(t, s.is_signed);
  int32_t* sums = static_cast<int32_t*>(packed) + col;
  char* out = static_cast<char*>(packed) + int8_sums_bytes(t, n) + panel * int8_panel_bytes(t, k_size);
  if (t.bytes && t.width <= 64 && (s.is_signed ? shift == 0 : shift == -128)) {
    const int64_t cols = n - col < t.width ? n - col : t.width;
    if (cols < columns) std::memset(out, 0, static_cast<size_t>(int8_groups(t, k_size) * columns * 4));
    for (int64_t j = cols; j < t.width; ++j) sums[j] = 0;
    return pack_bytes(s, cols, columns, s.is_signed ? 0 : 0x80, col, out, sums);
  }
  std::memset(out, 0, static_cast<size_t>(int8_groups(t, k_size) * columns * 4));
  for (int64_t j = 0; j < t.width; ++j) {
    int32_t sum = 0;
    if (col + j < n) {
      int64_t k = 0;
      for (int64_t outer = 0; outer < s.outer_count; ++outer) {
        const int64_t base = outer * s.outer_stride + (col + j) * s.n_stride;
        for (int64_t inner = 0; inner < s.inner_count; ++inner, ++k) {
          const int32_t v = value(s.b, s.is_signed, base + inner * s.inner_stride) + shift;
          sum += v;
          if (t.bytes) {
            reinterpret_cast<int8_t*>(out)[(k / 4 * columns + j) * 4 + k % 4] = static_cast<int8_t>(v);
          } else {
            reinterpret_cast<int16_t*>(out)[(k / 2 * columns + j) * 2 + k % 2] = static_cast<int16_t>(v);
          }
        }
      }
    }
    sums[j] = sum;
  }
}

int64_t int8_copy_values(const Int8MicroTable& t, const void* a, bool is_signed, int64_t stride, int64_t count,
                         void* row, int64_t at) {
  if (t.bytes) {
    uint8_t* out = static_cast<uint8_t*>(row) + at;
    const uint8_t* from = static_cast<const uint8_t*>(a);
    if (stride == 1) {
      std::memcpy(out, from, static_cast<size_t>(count));
    } else {
      for (int64_t i = 0; i < count; ++i) out[i] = from[i * stride];
    }
  } else {
    int16_t* out = static_cast<int16_t*>(row) + at;
    if (stride == 1 && is_signed) {
      for (int64_t i = 0; i < count; ++i) out[i] = static_cast<const int8_t*>(a)[i];
    } else if (stride == 1) {
      for (int64_t i = 0; i < count; ++i) out[i] = static_cast<const uint8_t*>(a)[i];
    } else {
      for (int64_t i = 0; i < count; ++i) out[i] = static_cast<int16_t>(value(a, is_signed, i * stride));
    }
  }
  return at + count;
}

int64_t int8_fill_values(const Int8MicroTable& t, int32_t v, int64_t count, void* row, int64_t at) {
  if (t.bytes) {
    std::memset(static_cast<uint8_t*>(row) + at, v & 255, static_cast<size_t>(count));
  } else {
    for (int64_t i = 0; i < count; ++i) static_cast<int16_t*>(row)[at + i] = static_cast<int16_t>(v);
  }
  return at + count;
}

void int8_finish_row(const Int8MicroTable& t, void* row, int64_t at) {
  const int64_t all = int8_groups(t, at) * (t.bytes ? 4 : 2);
  int8_fill_values(t, 0, all - at, row, at);
}

int32_t int8_sum(const void* a, bool is_signed, int64_t stride, int64_t count) {
  if (stride == 1) {
    const int64_t sum = sum_bytes(static_cast<const uint8_t*>(a), is_signed ? 0x80 : 0, count);
    return static_cast<int32_t>(static_cast<uint32_t>(is_signed ? sum - 128 * count : sum));
  }
  uint32_t sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += static_cast<uint32_t>(value(a, is_signed, i * stride));
  return static_cast<int32_t>(sum);
}

bool int8_has_b_zero(const Int8MicroTable& t, const int32_t* b_zero, bool per_col, int64_t n, bool b_signed) {
  const int32_t shift = int8_b_shift(t, b_signed);
  if (!b_zero) return shift != 0;
  for (int64_t j = 0; j < (per_col ? n : 1); ++j) {
    if (b_zero[j] + shift != 0) return true;
  }
  return false;
}

void int8_run_blocks(const Int8MicroTable& t, const Int8Run& run) {
  const char* panels = static_cast<const char*>(run.packed) + int8_sums_bytes(t, run.n);
  const bool has_b_zero = run.blocks[0].row_terms != nullptr;
  const int32_t shift = int8_b_shift(t, run.b_signed);
  Int8MicroArgs g;
  g.a_offset = run.a_offset;
  g.segments = run.segments;
  g.groups = run.groups;
  g.ldc = run.ldc;
  for (int64_t col = run.col_begin; col < run.col_end; col += t.width) {
    const int64_t panel = col / t.width;
    const bool half = run.n - col <= t.lanes;
    int32_t zeros[64];
    g.b_zero = nullptr;
    if (has_b_zero) {
      for (int64_t j = 0; j < t.width; ++j) {
        const int64_t at = run.b_zero_per_col ? col + j : 0;
        zeros[j] = (run.b_zero && (at < run.n || at == 0) ? run.b_zero[at] : 0) + shift;
      }
      g.b_zero = zeros;
    }
    g.b = panels + panel * int8_panel_bytes(t, run.k);
    g.cols = run.col_end - col < t.width ? run.col_end - col : t.width;
    g.col_sums = static_cast<const int32_t*>(run.packed) + col;
    const Int8MicroFn* fns = half ? t.half[run.a_signed] : t.one[run.a_signed];
    for (int i = 0; i < run.block_count; ++i) {
      const Int8Block& block = run.blocks[i];
      g.rows = block.rows;
      g.c = block.c + col;
      g.a_zero = block.a_zero;
      g.row_terms = block.row_terms;
      fns[block.count](g);
    }
  }
}

}  // namespace trunnion::kernels
HWY_AFTER_NAMESPACE();
