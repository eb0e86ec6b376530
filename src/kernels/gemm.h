// fp32 matrix product C = epilogue(A * B), with B in packed panels, cut into tiles that any thread may run.
// Start at gemm_grid and gemm_tile. The bits of a result depend on the shape and on the rung, never on the tiles.
// Nothing here allocates. The rung must not change between packing and running.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/epilogue.h"
#include "kernels/tile_grid.h"

namespace trunnion::kernels {

// Packed B is [panel][K][width]; columns are split into panels of this width, the last one may be narrower.
int64_t gemm_panel_width();
int64_t gemm_panel_count(int64_t n);

// Floats that packed B takes. The memory must be 64-byte aligned.
int64_t gemm_packed_b_size(int64_t k, int64_t n);

// Packs panels [panel_begin, panel_end) of B, whose element (k, n) is b[k * k_stride + n * n_stride], into `packed`
// (the address of panel 0; different ranges may be packed by different threads).
void gemm_pack_b(const float* b, int64_t k_stride, int64_t n_stride, int64_t k, int64_t n, int64_t panel_begin,
                 int64_t panel_end, float* packed);

struct GemmArgs {
  int64_t m = 0, n = 0, k = 0;

  // A is read in place: element (i, k) is a[i * a_row_stride + k * a_k_stride], or a_rows[i][k] if a_rows is set.
  const float* a = nullptr;
  int64_t a_row_stride = 0;
  int64_t a_k_stride = 1;
  const float* const* a_rows = nullptr;

  // B: packed, or (packed_b null) any strides; then each tile packs what it needs into its scratch.
  const float* packed_b = nullptr;
  const float* b = nullptr;
  int64_t b_k_stride = 0;
  int64_t b_n_stride = 1;

  float* c = nullptr;
  int64_t ldc = 0;  // floats from one row of C to the next
  Epilogue epilogue;
};

// How C is cut into tiles for `threads` threads.
using GemmGrid = TileGrid;
GemmGrid gemm_grid(int64_t m, int64_t n, int64_t k, int threads);

// Bytes of scratch for one running tile; 64-byte aligned memory. An upper bound for every grid and every m.
size_t gemm_scratch_size(int64_t n, int64_t k);

// Computes a part of C. col_begin must be a multiple of gemm_panel_width(), col_end too unless it is n.
// k == 0 gives epilogue(0). Scratch belongs to this call alone.
void gemm_tile(const GemmArgs& args, int64_t row_begin, int64_t row_end, int64_t col_begin, int64_t col_end,
               void* scratch);
void gemm_tile(const GemmArgs& args, const GemmGrid& grid, int64_t index, void* scratch);

}  // namespace trunnion::kernels
