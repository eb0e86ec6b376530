// The table of 8-bit integer micro-kernels that each rung exports. Plain data only: the intrinsics files include this.
#pragma once
#include <cstdint>

namespace trunnion::kernels {

inline constexpr int kInt8RowSlots = 14;

// One register tile. K runs in groups of four bytes of A: four 8-bit values, or two that were widened to 16 bits.
// In segment s row i reads `groups` groups at rows[s * kInt8RowSlots + i] + a_offset (bytes).
// Stores sum - a_zero[i] * col_sums[j] - row_terms[i] * b_zero[j]; b_zero null leaves the last term out.
struct Int8MicroArgs {
  const unsigned char* const* rows = nullptr;
  int64_t a_offset = 0;
  int64_t segments = 0;
  int64_t groups = 0;
  const void* b = nullptr;  // [group][panel width][values of a group]
  int64_t cols = 0;         // columns of C that exist
  int32_t* c = nullptr;
  int64_t ldc = 0;
  const int32_t* a_zero = nullptr;     // per row
  const int32_t* col_sums = nullptr;   // a whole panel
  const int32_t* row_terms = nullptr;  // per row
  const int32_t* b_zero = nullptr;     // a whole panel
};

using Int8MicroFn = void (*)(const Int8MicroArgs&);

struct Int8MicroTable {
  int lanes;  // 32-bit sums of a vector
  int width;  // columns of a panel: two vectors; a last panel of at most one vector is half as wide
  int max_rows;
  bool bytes;                             // A is read as bytes and B packed as signed bytes; else both as 16-bit values
  Int8MicroFn one[2][kInt8RowSlots + 1];  // [A is signed][rows]
  Int8MicroFn half[2][kInt8RowSlots + 1];
};

#if defined(__x86_64__)
namespace avx512vnni {
extern const Int8MicroTable kInt8MicroTable;
}
namespace avx2 {
extern const Int8MicroTable kInt8MicroTable;
}
#endif
namespace baseline {
extern const Int8MicroTable kInt8MicroTable;
}

// The table of the active rung.
const Int8MicroTable& int8_micro_table();

}  // namespace trunnion::kernels
