// Matrix products of the types that have no packed kernel: double and the 32- and 64-bit integers (wrapping).
#pragma once
#include <cstdint>

namespace trunnion::kernels {

// Element (i, k) of A is a[i * a_row_stride + k * a_k_stride], (k, j) of B is b[k * b_k_stride + j * b_n_stride].
template <class T>
struct PlainGemmArgs {
  int64_t m = 0, n = 0, k = 0;
  const T* a = nullptr;
  int64_t a_row_stride = 0, a_k_stride = 1;
  const T* b = nullptr;
  int64_t b_k_stride = 0, b_n_stride = 1;
  T* c = nullptr;
  int64_t ldc = 0;
  T alpha = 1;
  T beta = 0;  // 0: the old C is not read
};

// C = alpha * A * B + beta * C for a part of C; any ranges. The bits do not depend on how C is cut into tiles.
void plain_gemm_tile(const PlainGemmArgs<double>& args, int64_t row_begin, int64_t row_end, int64_t col_begin,
                     int64_t col_end);
void plain_gemm_tile(const PlainGemmArgs<int32_t>& args, int64_t row_begin, int64_t row_end, int64_t col_begin,
                     int64_t col_end);
void plain_gemm_tile(const PlainGemmArgs<uint32_t>& args, int64_t row_begin, int64_t row_end, int64_t col_begin,
                     int64_t col_end);
void plain_gemm_tile(const PlainGemmArgs<int64_t>& args, int64_t row_begin, int64_t row_end, int64_t col_begin,
                     int64_t col_end);
void plain_gemm_tile(const PlainGemmArgs<uint64_t>& args, int64_t row_begin, int64_t row_end, int64_t col_begin,
                     int64_t col_end);

}  // namespace trunnion::kernels
