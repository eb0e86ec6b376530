// For tests: a tile unit that does what Intel's description of TDPBF16PS says, on any CPU. Pairs along K are multiplied
// and added to fp32 sums, even and odd ones apart, subnormal numbers are flushed to zero, every sum is rounded once.
#pragma once
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/gemm_split.h"
#include "kernels/half.h"

namespace trunnion::kernels {
namespace {

struct EmulatedTiles {
  struct Tile {
    alignas(64) unsigned char bytes[16][64];
  };
  Tile tiles[8];
  bool configured = false;
  int64_t dots = 0;
};
thread_local EmulatedTiles t_unit;

inline float flushed(float x) { return std::fabs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x; }

struct U {
  template <int T>
  static void zero() {
    std::memset(&t_unit.tiles[T], 0, sizeof t_unit.tiles[T]);
  }
  template <int T>
  static void load(const uint16_t* p) {
    std::memcpy(&t_unit.tiles[T], p, sizeof t_unit.tiles[T]);
  }
  template <int T>
  static void load_sums(const float* p, int64_t row) {
    for (int i = 0; i < 16; ++i) std::memcpy(t_unit.tiles[T].bytes[i], p + i * row, 64);
  }
  template <int T>
  static void store_sums(float* p, int64_t row) {
    for (int i = 0; i < 16; ++i) std::memcpy(p + i * row, t_unit.tiles[T].bytes[i], 64);
  }
  template <int C, int A, int B>
  static void dot() {
    ++t_unit.dots;
    float c[16][16], a[16][32], b[16][32];
    uint16_t halves[2][16][32];
    std::memcpy(c, t_unit.tiles[C].bytes, sizeof c);
    std::memcpy(halves[0], t_unit.tiles[A].bytes, 1024);
    std::memcpy(halves[1], t_unit.tiles[B].bytes, 1024);
    for (int i = 0; i < 16; ++i) {
      for (int j = 0; j < 32; ++j) {
        a[i][j] = flushed(half::from_bf16(halves[0][i][j]));
        b[i][j] = flushed(half::from_bf16(halves[1][i][j]));
      }
    }
    for (int m = 0; m < 16; ++m) {
      float sums[32] = {};  // of even and of odd values
      for (int k = 0; k < 16; ++k) {
        for (int n = 0; n < 32; ++n) {
          const float product = a[m][2 * k + n % 2] * b[k][n];  // exact
          sums[n] = flushed(sums[n] + product);
        }
      }
      for (int n = 0; n < 16; ++n) c[m][n] = flushed(flushed(c[m][n]) + flushed(sums[2 * n] + sums[2 * n + 1]));
    }
    std::memcpy(t_unit.tiles[C].bytes, c, sizeof c);
  }
};

#include "kernels/gemm_split_block_inl.h"

const SplitUnit kEmulated = {[] { t_unit.configured = true; },
                             [] { t_unit.configured = false; },
                             {nullptr, split_block<U, 1>, split_block<U, 2>, split_block<U, 3>},
                             split_row_plain};

}  // namespace
}  // namespace trunnion::kernels
