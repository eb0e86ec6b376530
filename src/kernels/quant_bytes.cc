// Tables of 256 results: eight elements at once, so that loads and stores of the codes cost little.
#include "kernels/quant_bytes.h"

#include <cstring>

namespace trunnion::kernels {

void look_up(const uint8_t* table, const uint8_t* x, uint8_t* y, size_t n) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    uint64_t codes, out = 0;
    std::memcpy(&codes, x + i, 8);
#pragma GCC unroll 8
    for (int k = 0; k < 64; k += 8) out |= static_cast<uint64_t>(table[codes >> k & 255]) << k;
    std::memcpy(y + i, &out, 8);
  }
  for (; i < n; ++i) y[i] = table[x[i]];
}

void look_up(const float* table, const uint8_t* x, float* y, size_t n) {
  for (size_t i = 0; i < n; ++i) y[i] = table[x[i]];
}

}  // namespace trunnion::kernels
