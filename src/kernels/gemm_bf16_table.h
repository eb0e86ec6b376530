// What the bfloat16 kernels are made of. Two neighbouring values along K are a pair, of the size of one float: with
// pairs for floats and half the K, rows, panels, partial sums and tiles are those of the fp32 kernels, and so are the
// loops around them (gemm_driver.h).
#pragma once
#include <cstdint>

#include "kernels/gemm_microkernel.h"

namespace trunnion::kernels {

struct Bf16Table {
  GemmMicroTable micro;  // lanes, width and rows as the fp32 table of the same rung
  // x[0], x[1], ... to (n + 1) / 2 pairs; an odd last one is paired with zero.
  void (*round_row)(const float* x, int64_t n, float* pairs);
  // (even[i], odd[i]) to n pairs.
  void (*pair_rows)(const float* even, const float* odd, int64_t n, float* pairs);
};

#if defined(__x86_64__)
namespace avx512bf16 {
extern const Bf16Table kBf16Table;
}
#endif

// Null where the CPU does not gain by it.
const Bf16Table* bf16_table();

// pack_b_block (gemm_pack.h) in pairs; k_begin is even and panel_stride counts pairs.
void bf16_pack_b_block(const Bf16Table& table, const float* b, int64_t k_stride, int64_t n_stride, int64_t k_begin,
                       int64_t k_end, int64_t n, int64_t panel_begin, int64_t panel_end, int64_t panel_stride,
                       float* out);
// pack_b_taps (gemm_pack.h) in pairs.
bool bf16_pack_b_taps(const Bf16Table& table, const float* b, int64_t taps, int64_t cin, int64_t n, int64_t panel,
                      float* out);

inline int64_t pairs_of(int64_t k) { return (k + 1) / 2; }

}  // namespace trunnion::kernels
