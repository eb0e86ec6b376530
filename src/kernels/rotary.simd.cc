// Rotation of pairs that are far apart, and of pairs that are neighbours.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rotary.simd.cc"
// clang-format off
#include "kernels/rung_table.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on
#include "kernels/rotary.h"

#include "kernels/vec_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace trunnion::kernels::HWY_NAMESPACE {
namespace {

void Halves(const float* x, float* y, const float* cos, const float* sin, int64_t half) {
  const DF d;
  const size_t n = static_cast<size_t>(half), lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const VF a = hn::LoadU(d, x + i), b = hn::LoadU(d, x + n + i);
    const VF c = hn::LoadU(d, cos + i), s = hn::LoadU(d, sin + i);
    hn::StoreU(hn::NegMulAdd(s, b, hn::Mul(c, a)), d, y + i);
    hn::StoreU(hn::MulAdd(s, a, hn::Mul(c, b)), d, y + n + i);
  }
  if (i < n) {
    const size_t rest = n - i;
    const VF a = LoadTail(d, x + i, rest), b = LoadTail(d, x + n + i, rest);
    const VF c = LoadTail(d, cos + i, rest), s = LoadTail(d, sin + i, rest);
    StoreTail(hn::NegMulAdd(s, b, hn::Mul(c, a)), d, y + i, rest);
    StoreTail(hn::MulAdd(s, a, hn::Mul(c, b)), d, y + n + i, rest);
  }
}

void Pairs(const float* x, float* y, const float* cos, const float* sin, int64_t half) {
  const DF d;
  const size_t n = static_cast<size_t>(half), lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    VF a, b;
    hn::LoadInterleaved2(d, x + 2 * i, a, b);
    const VF c = hn::LoadU(d, cos + i), s = hn::LoadU(d, sin + i);
    hn::StoreInterleaved2(hn::NegMulAdd(s, b, hn::Mul(c, a)), hn::MulAdd(s, a, hn::Mul(c, b)), d, y + 2 * i);
  }
  for (; i < n; ++i) {
    const float a = x[2 * i], b = x[2 * i + 1];
    y[2 * i] = cos[i] * a - sin[i] * b;
    y[2 * i + 1] = sin[i] * a + cos[i] * b;
  }
}

}  // namespace

constexpr RotaryKernels kTable = {&Halves, &Pairs};

}  // namespace trunnion::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trunnion::kernels {
const RotaryKernels& rotary() { TRN_RUNG_TABLE(kTable) }
}  // namespace trunnion::kernels
#endif
