// The tile unit of Intel's AMX, in assembly: the intrinsics of GCC 12 want the number of a tile as a literal, and name
// no memory that they read or write.
#include "kernels/gemm_split.h"

namespace trunnion::kernels::avx512bf16 {
bool split_row(const float* x, int64_t k, int planes, uint16_t* row);
}

namespace trunnion::kernels::amx {
namespace {

struct U {
  template <int T>
  static void zero() {
    __asm__ volatile("tilezero %%tmm%c0" : : "i"(T));
  }
  template <int T>
  static void load(const uint16_t* p) {
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(p), "r"(int64_t{64}), "i"(T) : "memory");
  }
  template <int T>
  static void load_sums(const float* p, int64_t row) {
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(p), "r"(row * 4), "i"(T) : "memory");
  }
  template <int T>
  static void store_sums(float* p, int64_t row) {
    __asm__ volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(p), "r"(row * 4), "i"(T) : "memory");
  }
  template <int C, int A, int B>
  static void dot() {
    __asm__ volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(C), "i"(A), "i"(B));
  }
};

#include "kernels/gemm_split_block_inl.h"

struct alignas(64) Palette {
  unsigned char palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  unsigned char rows[16] = {};
};

// All eight tiles have 16 rows of 64 bytes.
void enter() {
  Palette p;
  for (int i = 0; i < 8; ++i) p.row_bytes[i] = 64, p.rows[i] = 16;
  __asm__ volatile("ldtilecfg %0" : : "m"(p));
}

void leave() { __asm__ volatile("tilerelease"); }

}  // namespace

extern const SplitUnit kSplitUnit;
const SplitUnit kSplitUnit = {
    enter, leave, {nullptr, split_block<U, 1>, split_block<U, 2>, split_block<U, 3>}, avx512bf16::split_row};

}  // namespace trunnion::kernels::amx
