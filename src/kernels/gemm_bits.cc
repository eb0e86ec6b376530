// The integer kernels of the active rung.
#include "kernels/gemm_bits.h"

#include "base/cpu_info.h"

namespace trunnion::kernels {

GemmBitsInt8Fn gemm_bits_int8(int bits) {
#if defined(__x86_64__)
  if (active_avx512_vnni()) return avx512vnni::kGemmBitsInt8[bits == 8];
  // Without VNNI pairs of products go through 16 bits, which those of 8-bit codes do not fit.
  if (active_rung() >= Rung::avx2 && bits == 4) return avx2::kGemmBitsInt8;
#else
  (void)bits;
#endif
  return nullptr;
}

}  // namespace trunnion::kernels
