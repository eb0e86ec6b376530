// Plain matrix products: signed integers run as unsigned ones, which wrap; 64-bit ones in a loop nest.
#include "kernels/gemm_plain.h"

#include "kernels/gemm_plain_table.h"

namespace trunnion::kernels {
namespace {

template <class To, class From>
PlainGemmArgs<To> as(const PlainGemmArgs<From>& g) {
  static_assert(sizeof(To) == sizeof(From));
  return {g.m,
          g.n,
          g.k,
          reinterpret_cast<const To*>(g.a),
          g.a_row_stride,
          g.a_k_stride,
          reinterpret_cast<const To*>(g.b),
          g.b_k_stride,
          g.b_n_stride,
          reinterpret_cast<To*>(g.c),
          g.ldc,
          static_cast<To>(g.alpha),
          static_cast<To>(g.beta)};
}

}  // namespace

void plain_gemm_tile(const PlainGemmArgs<double>& args, int64_t row_begin, int64_t row_end, int64_t col_begin,
                     int64_t col_end) {
  plain_gemm_table().f64(args, row_begin, row_end, col_begin, col_end);
}

void plain_gemm_tile(const PlainGemmArgs<uint32_t>& args, int64_t row_begin, int64_t row_end, int64_t col_begin,
                     int64_t col_end) {
  plain_gemm_table().u32(args, row_begin, row_end, col_begin, col_end);
}

void plain_gemm_tile(const PlainGemmArgs<int32_t>& args, int64_t row_begin, int64_t row_end, int64_t col_begin,
                     int64_t col_end) {
  plain_gemm_table().u32(as<uint32_t>(args), row_begin, row_end, col_begin, col_end);
}

void plain_gemm_tile(const PlainGemmArgs<uint64_t>& g, int64_t row_begin, int64_t row_end, int64_t col_begin,
                     int64_t col_end) {
  for (int64_t i = row_begin; i < row_end; ++i) {
    uint64_t* c = g.c + i * g.ldc;
    for (int64_t j = col_begin; j < col_end; ++j) c[j] = g.beta != 0 ? c[j] * g.beta : 0;
    for (int64_t k = 0; k < g.k; ++k) {
      const uint64_t a = g.a[i * g.a_row_stride + k * g.a_k_stride] * g.alpha;
      const uint64_t* b = g.b + k * g.b_k_stride;
      for (int64_t j = col_begin; j < col_end; ++j) c[j] += a * b[j * g.b_n_stride];
    }
  }
}

void plain_gemm_tile(const PlainGemmArgs<int64_t>& args, int64_t row_begin, int64_t row_end, int64_t col_begin,
                     int64_t col_end) {
  plain_gemm_tile(as<uint64_t>(args), row_begin, row_end, col_begin, col_end);
}

}  // namespace trunnion::kernels
