// The loops around the 8-bit integer micro-kernels, shared by GEMM and convolution; packing of both operands.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/gemm_int8_microkernel.h"

namespace trunnion::kernels {

inline constexpr int kInt8Blocks = 16;  // row blocks that share one pass over B

inline int64_t int8_ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
inline int64_t int8_round_up(int64_t a, int64_t b) { return int8_ceil_div(a, b) * b; }

// Groups of four bytes that K values of A take.
inline int64_t int8_groups(const Int8MicroTable& t, int64_t k) { return int8_ceil_div(k, t.bytes ? 4 : 2); }

// Packed B: column sums of all panels (64-byte multiple), then the panels.
inline int64_t int8_sums_bytes(const Int8MicroTable& t, int64_t n) {
  return int8_round_up(int8_ceil_div(n, t.width) * t.width * 4, 64);
}
inline int64_t int8_panel_bytes(const Int8MicroTable& t, int64_t k) { return int8_groups(t, k) * t.width * 4; }
int64_t int8_packed_size(const Int8MicroTable& t, int64_t k, int64_t n);

// A B whose row k = outer * inner_count + inner is at b[outer * outer_stride + inner * inner_stride + n * n_stride].
struct Int8SourceB {
  const void* b = nullptr;
  bool is_signed = false;
  int64_t outer_count = 1, outer_stride = 0;
  int64_t inner_count = 0, inner_stride = 0;
  int64_t n_stride = 1;
};
void int8_pack_panel(const Int8MicroTable& t, const Int8SourceB& source, int64_t n, int64_t panel, void* packed);

// Appends `count` values of A to a copied row that holds `at` values already; gives the new count.
int64_t int8_copy_values(const Int8MicroTable& t, const void* a, bool is_signed, int64_t stride, int64_t count,
                         void* row, int64_t at);
// The same for one value repeated.
int64_t int8_fill_values(const Int8MicroTable& t, int32_t value, int64_t count, void* row, int64_t at);
// Zeros up to a whole group.
void int8_finish_row(const Int8MicroTable& t, void* row, int64_t at);

// Sum of `count` values.
int32_t int8_sum(const void* a, bool is_signed, int64_t stride, int64_t count);

// What is added to the values of A and B as the micro-kernels see them.
inline int32_t int8_a_shift(const Int8MicroTable& t, bool a_signed) { return t.bytes && a_signed ? 128 : 0; }
inline int32_t int8_b_shift(const Int8MicroTable& t, bool b_signed) { return t.bytes && !b_signed ? -128 : 0; }

struct Int8Block {
  const unsigned char* const* rows = nullptr;
  int32_t* c = nullptr;                // at column 0
  const int32_t* a_zero = nullptr;     // per row, shifted
  const int32_t* row_terms = nullptr;  // per row: sum of the shifted row - K * a_zero; needed if b_zero is not null
  int count = 0;
};

struct Int8Run {
  const Int8Block* blocks = nullptr;
  int block_count = 0;
  int64_t segments = 1, groups = 0;  // groups of one segment
  int64_t a_offset = 0;              // bytes
  bool a_signed = false, b_signed = false;
  const void* packed = nullptr;
  int64_t k = 0, n = 0;
  int64_t col_begin = 0, col_end = 0;
  int64_t ldc = 0;
  const int32_t* b_zero = nullptr;  // not shifted; null if the shifted ones are all zero
  bool b_zero_per_col = false;
};
void int8_run_blocks(const Int8MicroTable& t, const Int8Run& run);

// Whether any shifted zero point of B is other than zero.
bool int8_has_b_zero(const Int8MicroTable& t, const int32_t* b_zero, bool per_col, int64_t n, bool b_signed);

}  // namespace trunnion::kernels
