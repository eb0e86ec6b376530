// 8-bit integer matrix product with 32-bit sums (MatMulInteger, quantised linear algebra), exact modulo 2^32.
// C[i, j] = sum over k of (A[i, k] - a_zero[i]) * (B[k, j] - b_zero[j]). Same tiling contract as gemm.h.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/tile_grid.h"

namespace trunnion::kernels {

int64_t int8_gemm_panel_width();
int64_t int8_gemm_panel_count(int64_t n);

// Bytes that packed B takes (column sums included); 64-byte aligned memory.
int64_t int8_gemm_packed_b_size(int64_t k, int64_t n);

// Packs panels of B (u8 or s8), whose element (k, n) is b[k * k_stride + n * n_stride].
void int8_gemm_pack_b(const void* b, bool b_signed, int64_t k_stride, int64_t n_stride, int64_t k, int64_t n,
                      int64_t panel_begin, int64_t panel_end, void* packed);

struct Int8GemmArgs {
  int64_t m = 0, n = 0, k = 0;
  const void* a = nullptr;  // u8 or s8; element (i, k) is a[i * a_row_stride + k * a_k_stride]
  bool a_signed = false;
  int64_t a_row_stride = 0, a_k_stride = 1;
  const void* packed_b = nullptr;
  bool b_signed = false;  // as at packing
  int32_t* c = nullptr;
  int64_t ldc = 0;

  // Zero points widened to 32 bits: one per row or column, or a single one, or null for zero.
  const int32_t* a_zero = nullptr;
  bool a_zero_per_row = false;
  const int32_t* b_zero = nullptr;
  bool b_zero_per_col = false;
};

// How C is cut into tiles.
using Int8GemmGrid = TileGrid;
Int8GemmGrid int8_gemm_grid(int64_t m, int64_t n, int64_t k, int threads);

// Bytes of scratch for one running tile; 64-byte aligned memory. An upper bound for every grid and every m.
size_t int8_gemm_scratch_size(int64_t n, int64_t k);

// col_begin must be a multiple of int8_gemm_panel_width(), col_end too unless it is n.
void int8_gemm_tile(const Int8GemmArgs& args, int64_t row_begin, int64_t row_end, int64_t col_begin, int64_t col_end,
                    void* scratch);
void int8_gemm_tile(const Int8GemmArgs& args, const Int8GemmGrid& grid, int64_t index, void* scratch);

}  // namespace trunnion::kernels
