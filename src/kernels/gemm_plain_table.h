// The vectorised plain matrix products of one rung.
#pragma once
#include <cstdint>

#include "kernels/gemm_plain.h"

namespace trunnion::kernels {

struct PlainGemmTable {
  void (*f64)(const PlainGemmArgs<double>&, int64_t row_begin, int64_t row_end, int64_t col_begin, int64_t col_end);
  void (*u32)(const PlainGemmArgs<uint32_t>&, int64_t row_begin, int64_t row_end, int64_t col_begin, int64_t col_end);
};
const PlainGemmTable& plain_gemm_table();

}  // namespace trunnion::kernels
