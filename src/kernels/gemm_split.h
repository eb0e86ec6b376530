// Matrix product of fp32 values on a tile unit for bfloat16 (AMX). Every value is split into planes, x = h + m + l,
// each rounded to bfloat16 from what the ones before leave, and products of planes are summed in fp32:
//   3 planes, 6 products: as accurate as fp32 FMA or better; 2 planes, 3 products: about 2^-16 of each factor;
//   1 plane, 1 product: factors rounded to bfloat16.
// The algorithm stands over a small interface, so that an emulation can run it on any CPU. Panels are those of gemm.h
// on the AVX-512 rung: 32 columns. Subnormal planes and sums count as zero. B must be finite; rows of A with
// infinities, NaNs are worked out in plain fp32.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/epilogue.h"
#include "kernels/gemm.h"

namespace trunnion::kernels {

inline constexpr int64_t kSplitPanel = 32;  // columns
inline constexpr int64_t kSplitRows = 32;   // rows of a block of C
inline constexpr int64_t kSplitDepth = 32;  // values along K of one step
inline constexpr int kMostPlanes = 3;

// One block of C, [32][32] sums, over `steps` steps of K. A step of A is [planes][2][16 rows][32 values], a step of B
// is [planes][2][16 pairs along K][16 columns][2]: tiles of 1 KB.
struct SplitBlockArgs {
  const uint16_t* a = nullptr;
  const uint16_t* b = nullptr;
  int64_t steps = 0;
  bool first = true;  // sums are only written
  float* sums = nullptr;
};

struct SplitUnit {
  void (*enter)();  // on a thread, before its blocks
  void (*leave)();  // after them: the unit's state is nothing that a context switch should carry
  void (*block[kMostPlanes + 1])(const SplitBlockArgs&);  // by planes
  // A row of A to its place in the tiles of its block (tile row 0 of the first step); false, and what it wrote is of no
  // use, if a value is not finite.
  bool (*split_row)(const float* x, int64_t k, int planes, uint16_t* row);
};
bool split_row_plain(const float* x, int64_t k, int planes, uint16_t* row);

// The unit of this CPU; null unless it has one and it is asked for (TRUNNION_CPU=amx).
const SplitUnit* split_unit();
void set_split_unit_for_test(const SplitUnit* unit);  // stands for it until null is set

// Whether a product of so many columns and so long sums is one for the unit.
bool split_fits(int64_t k, int64_t n);

// Bfloat16 values that packed B takes; 64-byte aligned memory.
int64_t split_packed_b_size(int64_t k, int64_t n, int planes);
void split_pack_b(const float* b, int64_t k_stride, int64_t n_stride, int64_t k, int64_t n, int planes,
                  int64_t panel_begin, int64_t panel_end, uint16_t* packed);
// One panel of a convolution's B: column co has b[(co * cin + ci) * taps + tap], and rows go tap by tap.
void split_pack_b_taps(const float* b, int64_t taps, int64_t cin, int64_t n, int planes, int64_t panel,
                       uint16_t* packed);
inline int64_t split_panel_count(int64_t n) { return (n + kSplitPanel - 1) / kSplitPanel; }

struct SplitGemmArgs {
  int64_t m = 0, n = 0, k = 0;
  int planes = 3;
  const float* a = nullptr;  // rows are contiguous
  int64_t a_row_stride = 0;
  void (*gather)(const void* context, int64_t row, float* out) = nullptr;  // or copies a row of A
  const void* context = nullptr;
  const uint16_t* packed_b = nullptr;
  float* c = nullptr;
  int64_t ldc = 0;
  Epilogue epilogue;
};

GemmGrid split_grid(int64_t m, int64_t n, int64_t k, int threads);
size_t split_scratch_size(int64_t k, int planes);
// Columns begin at a multiple of kSplitPanel. The bits do not depend on the ranges.
void split_gemm_tile(const SplitUnit& unit, const SplitGemmArgs& args, int64_t row_begin, int64_t row_end,
                     int64_t col_begin, int64_t col_end, void* scratch);

}  // namespace trunnion::kernels
