// The table of fp32 micro-kernels that each rung exports: what a register tile of C computes.
// Plain data only: the intrinsics files include this.
#pragma once
#include <cstdint>

#include "kernels/epilogue.h"

namespace trunnion::kernels {

// Row pointers of one segment stand this far apart in GemmMicroArgs::rows, whatever the number of rows.
inline constexpr int kRowSlots = 14;

// Register tiles of so few rows can read a row-major B in place.
inline constexpr int kDirectRows = 6;

// One register tile: `rows` x `cols` of C over one block of K.
// K consists of segments; in segment s row i reads `length` floats at rows[s * kRowSlots + i] + a_offset.
struct GemmMicroArgs {
  const float* const* rows = nullptr;
  int64_t a_offset = 0;
  int64_t segments = 0;
  int64_t length = 0;
  const float* b = nullptr;       // first k of the block in the first panel
  int64_t b_panel_stride = 0;     // floats from panel to panel; narrow kernels: from column to column
  int64_t b_step = 0;             // floats from k to k + 1; looked at by tiles of up to kDirectRows rows only
  const float* next_b = nullptr;  // what is wanted next, to be fetched meanwhile (or null) ...
  int64_t next_b_step = 0;        // ... so many floats at every k; tiles of up to two vectors only
  float* partial = nullptr;       // sums of earlier K blocks, private to this register tile
  bool first = true;              // no earlier K block: partial is only written
  bool last = true;               // the tile is finished: epilogue, store to c
  int64_t cols = 0;               // columns of C that exist
  float* c = nullptr;
  int64_t ldc = 0;

  // The epilogue; pointers already at the tile. Activations: none, relu, clip, leaky_relu, hard_swish, hard_sigmoid.
  // simple: alpha is 1, beta 0, no bias_row, residual before the activation, which is none or bounds act_a, act_b.
  bool simple = false;
  float alpha = 1.0f;
  float beta = 0.0f;
  const float* bias_col = nullptr;
  const float* bias_row = nullptr;
  const float* residual = nullptr;
  int64_t residual_ld = 0;
  bool residual_after_activation = false;
  Activation activation = Activation::none;
  float act_a = 0.0f;
  float act_b = 0.0f;
};

using GemmMicroFn = void (*)(const GemmMicroArgs&);

inline constexpr int kNarrowRows = 4;
inline constexpr int kNarrowCols = 4;

// Columns of a wide B come in panels of two vectors. A last panel that needs only one vector is half as wide.
// An N of at most kNarrowCols is packed column by column ([N][K]) and computed as dot products.
struct GemmMicroTable {
  int lanes;                        // floats of a vector
  int width;                        // columns of a panel
  int max_rows;                     // rows of the largest register tile
  int wide_rows;                    // up to so many rows, four panels at once
  GemmMicroFn half[kRowSlots + 1];  // [rows]: a half panel
  GemmMicroFn one[kRowSlots + 1];   // [rows]: one panel
  GemmMicroFn four[kRowSlots + 1];  // [rows]: four panels, rows <= wide_rows
  GemmMicroFn narrow[kNarrowRows + 1][kNarrowCols + 1];
};

#if defined(__x86_64__)
namespace avx512 {
extern const GemmMicroTable kGemmMicroTable;
}
namespace avx2 {
extern const GemmMicroTable kGemmMicroTable;
}
#endif
namespace baseline {
extern const GemmMicroTable kGemmMicroTable;
}

// The table of the active rung.
const GemmMicroTable& gemm_micro_table();

}  // namespace trunnion::kernels
