// Matrix product of fp32 values that are rounded to bfloat16 (to nearest, ties to even) as they are packed, with fp32
// sums: for level `bf16`, on CPUs whose vectors gain by it. Same tiling contract as gemm.h. Values beyond the largest
// bfloat16 become infinite; subnormal ones count as zero. Infinities and NaNs go their usual way.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/gemm.h"

namespace trunnion::kernels {

// Whether the rest of this header may be used: on the active rung, by the table of CPUs.
bool bf16_gemm_pays();
// Whether a product of so many columns is one for it: few are dot products, which gemm.h has.
bool bf16_gemm_fits(int64_t n);

// Bfloat16 values that packed B takes; 64-byte aligned memory. Panels are those of gemm.h, [K / 2][width][2].
int64_t bf16_gemm_packed_b_size(int64_t k, int64_t n);
void bf16_gemm_pack_b(const float* b, int64_t k_stride, int64_t n_stride, int64_t k, int64_t n, int64_t panel_begin,
                      int64_t panel_end, uint16_t* packed);

struct Bf16GemmArgs {
  int64_t m = 0, n = 0, k = 0;
  const float* a = nullptr;  // rows are contiguous
  int64_t a_row_stride = 0;
  const uint16_t* packed_b = nullptr;
  float* c = nullptr;
  int64_t ldc = 0;
  Epilogue epilogue;
};

GemmGrid bf16_gemm_grid(int64_t m, int64_t n, int64_t k, int threads);
size_t bf16_gemm_scratch_size(int64_t n, int64_t k);
void bf16_gemm_tile(const Bf16GemmArgs& args, int64_t row_begin, int64_t row_end, int64_t col_begin, int64_t col_end,
                    void* scratch);
void bf16_gemm_tile(const Bf16GemmArgs& args, const GemmGrid& grid, int64_t index, void* scratch);

}  // namespace trunnion::kernels
