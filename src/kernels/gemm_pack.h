// Packing of B into the order that the fp32 micro-kernels read, and of A into rows.
#pragma once
#include <cstdint>

#include "kernels/gemm_microkernel.h"

namespace trunnion::kernels {

int64_t packed_b_size(const GemmMicroTable& table, int64_t k, int64_t n);

// Packs rows [k_begin, k_end) of panels [panel_begin, panel_end) of a B with n columns. `out` is where the first of
// these panels begins; panels stand panel_stride floats apart (narrow: columns do).
void pack_b_block(const GemmMicroTable& table, const float* b, int64_t k_stride, int64_t n_stride, int64_t k_begin,
                  int64_t k_end, int64_t n, int64_t panel_begin, int64_t panel_end, int64_t panel_stride, float* out);

// Panel `panel` of a convolution's B: column co has b[(co * cin + ci) * taps + tap], and rows go tap by tap. False, and
// nothing is done, where n is narrow or the taps are too many.
bool pack_b_taps(const GemmMicroTable& table, const float* b, int64_t taps, int64_t cin, int64_t n, int64_t panel,
                 float* out);

// out[i * out_stride + j] = x[i * row_stride + j * col_stride].
void copy_strided(const float* x, int64_t row_stride, int64_t col_stride, int64_t rows, int64_t cols, float* out,
                  int64_t out_stride);

}  // namespace trunnion::kernels
