// 8-bit integer GEMM: cutting C into tiles and bringing A into the form that the micro-kernels read.
#include "kernels/gemm_int8.h"

#include "kernels/gemm.h"
#include "kernels/gemm_driver.h"
#include "kernels/gemm_int8_driver.h"

namespace trunnion::kernels {
namespace {

constexpr int64_t kCopyBytes = 256 << 10;  // aim for the copied rows of one run

int64_t row_bytes(const Int8MicroTable& t, int64_t k) { return int8_groups(t, k) * 4; }

// Row blocks of one run, so that their copied rows stay in the second-level cache.
int64_t blocks_per_run(const Int8MicroTable& t, int64_t k) {
  const int64_t blocks = kCopyBytes / (t.max_rows * (row_bytes(t, k) + 64));
  return blocks < 1 ? 1 : blocks > kInt8Blocks ? kInt8Blocks : blocks;
}

}  // namespace

int64_t int8_gemm_panel_width() { return int8_micro_table().width; }

int64_t int8_gemm_panel_count(int64_t n) { return int8_ceil_div(n, int8_micro_table().width); }

int64_t int8_gemm_packed_b_size(int64_t k, int64_t n) { return int8_packed_size(int8_micro_table(), k, n); }

void int8_gemm_pack_b(const void* b, bool b_signed, int64_t k_stride, int64_t n_stride, int64_t k, int64_t n,
                      int64_t panel_begin, int64_t panel_end, void* packed) {
  Int8SourceB source;
  source.b = b;
  source.is_signed = b_signed;
  source.inner_count = k;
  source.inner_stride = k_stride;
  source.n_stride = n_stride;
  for (int64_t p = panel_begin; p < panel_end; ++p) int8_pack_panel(int8_micro_table(), source, n, p, packed);
}

Int8GemmGrid int8_gemm_grid(int64_t m, int64_t n, int64_t k, int threads) {
  const int64_t width = int8_micro_table().width;
  Int8GemmGrid g = gemm_grid(m, n, (k + 3) / 4, threads);  // about as long as a fp32 GEMM of a quarter of K
  if (g.col_tiles > 1) {
    g.col_step = int8_round_up(g.col_step, width);
    g.col_tiles = int8_ceil_div(n, g.col_step);
  }
  return g;
}

size_t int8_gemm_scratch_size(int64_t, int64_t k) {
  const Int8MicroTable& t = int8_micro_table();
  return static_cast<size_t>(int8_round_up(blocks_per_run(t, k) * t.max_rows * (row_bytes(t, k) + 64), 64));
}

void int8_gemm_tile(const Int8GemmArgs& args, int64_t row_begin, int64_t row_end, int64_t col_begin, int64_t col_end,
                    void* scratch) {
  if (row_begin >= row_end || col_begin >= col_end) return;
  const Int8MicroTable& t = int8_micro_table();
  const bool copy = !t.bytes || args.a_k_stride != 1 || args.k % 4 != 0;
  const int64_t stride = row_bytes(t, args.k) + 64;  // of copied rows
  const int32_t a_shift = int8_a_shift(t, args.a_signed);
  const bool b_zero = int8_has_b_zero(t, args.b_zero, args.b_zero_per_col, args.n, args.b_signed);

  const unsigned char* rows[kInt8Blocks * kInt8RowSlots];
  int32_t a_zero[kInt8Blocks * kInt8RowSlots], row_terms[kInt8Blocks * kInt8RowSlots];
  Int8Block blocks[kInt8Blocks];
  Int8Run run;
  run.blocks = blocks;
  run.groups = int8_groups(t, args.k);
  run.a_signed = args.a_signed;
  run.b_signed = args.b_signed;
  run.packed = args.packed_b;
  run.k = args.k;
  run.n = args.n;
  run.col_begin = col_begin;
  run.col_end = col_end;
  run.ldc = args.ldc;
  run.b_zero = args.b_zero;
  run.b_zero_per_col = args.b_zero_per_col;

  const int64_t count = row_end - row_begin, block_count = int8_ceil_div(count, t.max_rows);
  const int64_t runs = int8_ceil_div(block_count, blocks_per_run(t, args.k));
  for (int64_t r = 0; r < runs; ++r) {
    const int64_t first = even_part_begin(block_count, runs, r), last = even_part_begin(block_count, runs, r + 1);
    unsigned char* copied = static_cast<unsigned char*>(scratch);
    for (int64_t i = first; i < last; ++i) {
      const int64_t row = row_begin + even_part_begin(count, block_count, i), slot = (i - first) * kInt8RowSlots;
      Int8Block& block = blocks[i - first];
      block.count = static_cast<int>(row_begin + even_part_begin(count, block_count, i + 1) - row);
      block.rows = rows + slot;
      block.c = args.c + row * args.ldc;
      block.a_zero = a_zero + slot;
      block.row_terms = b_zero ? row_terms + slot : nullptr;
      for (int j = 0; j < block.count; ++j) {
        const unsigned char* a = static_cast<const unsigned char*>(args.a) + (row + j) * args.a_row_stride;
        rows[slot + j] = a;
        if (copy) {
          int8_finish_row(t, copied, int8_copy_values(t, a, args.a_signed, args.a_k_stride, args.k, copied, 0));
          rows[slot + j] = copied;
          copied += stride;
        }
        a_zero[slot + j] = (args.a_zero ? args.a_zero[args.a_zero_per_row ? row + j : 0] : 0) + a_shift;
        if (b_zero) {
          // Of shifted values: the shift cancels out but for the difference of the zero points.
          const uint32_t sum = static_cast<uint32_t>(int8_sum(a, args.a_signed, args.a_k_stride, args.k));
          const uint32_t zero = static_cast<uint32_t>(a_zero[slot + j] - a_shift);
          row_terms[slot + j] = static_cast<int32_t>(sum - static_cast<uint32_t>(args.k) * zero);
        }
      }
    }
    run.block_count = static_cast<int>(last - first);
    int8_run_blocks(t, run);
  }
}

void int8_gemm_tile(const Int8GemmArgs& args, const Int8GemmGrid& grid, int64_t index, void* scratch) {
  const TileRange r = grid.range(index, args.m, args.n);
  int8_gemm_tile(args, r.row_begin, r.row_end, r.col_begin, r.col_end, scratch);
}

}  // namespace trunnion::kernels
