// Product of f32 rows with a matrix of 4- or 8-bit codes, quantized in blocks along K; the codes are never unpacked as
// a whole. Every panel stands for itself: threads may take any of them.
#pragma once
#include <cstddef>
#include <cstdint>

namespace trunnion::kernels {

inline constexpr int kBitsPanel = 32;   // columns of a panel
inline constexpr int kBitsMaxRows = 4;  // rows that one pass over a panel serves

// A panel is a sequence of groups of four k; what the last one has behind K does not count.
// 4 bits: a group has 16 x 4 bytes; byte [c][i] has the codes, 0 to 15, of columns c (low half) and c + 16 for k = i.
// 8 bits: 32 x 4 signed bytes [c][i].
// The weight is (code - zero) * scale; scales and zeros are those of the panel, 32 for each block of K. The length of a
// block is a multiple of four.
struct BitsPanel {
  int bits = 4;
  int64_t k = 0, block = 32;
  const uint8_t* codes = nullptr;
  const float* scales = nullptr;
  const float* zeros = nullptr;  // null: `zero` for all
  float zero = 0;
};

// Bytes of a panel's codes.
inline int64_t bits_panel_bytes(int bits, int64_t k) { return (k + 3) / 4 * (bits * kBitsPanel / 2); }

// Rows as signed bytes with a scale for each block of K: its largest magnitude is 127.
struct BitsRows {
  int8_t* codes = nullptr;  // [rows][ld]; zeros behind K
  int64_t ld = 0;           // at least K, a multiple of four
  float* scales = nullptr;  // [rows][blocks], as the following
  int32_t* sums = nullptr;  // of the codes
};

struct GemmBitsKernels {
  // sums[r * blocks + b] = sum of a[r * lda + k] over the k of block b.
  void (*block_sums)(const float* a, int64_t lda, int64_t rows, int64_t k, int64_t block, float* sums);
  // y[r * ldy + c] = sum over k of a[r * lda + k] * weight, + bias[c]; rows <= kBitsMaxRows, cols <= kBitsPanel. bias
  // may be null. `sums` are the rows' block sums.
  void (*rows)(const BitsPanel& panel, const float* a, int64_t lda, int rows, const float* sums, const float* bias,
               int64_t cols, float* y, int64_t ldy);
  // y[k * ldy + c] = weight, for all k and kBitsPanel columns.
  void (*unpack)(const BitsPanel& panel, float* y, int64_t ldy);
  void (*quantize_rows)(const float* a, int64_t lda, int64_t rows, int64_t k, int64_t block, const BitsRows& to);
};
const GemmBitsKernels& gemm_bits();

// As GemmBitsKernels::rows for quantized rows: products and sums of a block are integers. `a` is at the first of them.
using GemmBitsInt8Fn = void (*)(const BitsPanel& panel, const BitsRows& a, int rows, const float* bias, int64_t cols,
                                float* y, int64_t ldy);
// Null where this CPU has no fast way for that many bits.
GemmBitsInt8Fn gemm_bits_int8(int bits);

#if defined(__x86_64__)
namespace avx512vnni {
extern const GemmBitsInt8Fn kGemmBitsInt8[2];  // 4 and 8 bits
}
namespace avx2 {
extern const GemmBitsInt8Fn kGemmBitsInt8;  // 4 bits
}
#endif

}  // namespace trunnion::kernels
