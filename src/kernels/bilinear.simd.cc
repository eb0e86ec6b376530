#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/bilinear.simd.cc"
// clang-format off
#include "kernels/rung_table.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on
#include "kernels/bilinear.h"

HWY_BEFORE_NAMESPACE();
namespace trunnion::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace {

void Row(const float* a, const float* b, float a_weight, float b_weight, const BilinearColumns& c, float* y) {
  const hn::ScalableTag<float> d;
  const hn::ScalableTag<int32_t> di;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto wa = hn::Set(d, a_weight), wb = hn::Set(d, b_weight);
  int64_t j = 0;
  for (; j + lanes <= c.count; j += lanes) {
    const auto left = hn::LoadU(di, c.left + j), right = hn::LoadU(di, c.right + j);
    const auto wl = hn::LoadU(d, c.left_weight + j), wr = hn::LoadU(d, c.right_weight + j);
    auto sum = hn::Mul(hn::Mul(wl, wa), hn::GatherIndex(d, a, left));
    sum = hn::Add(sum, hn::Mul(hn::Mul(wr, wa), hn::GatherIndex(d, a, right)));
    sum = hn::Add(sum, hn::Mul(hn::Mul(wl, wb), hn::GatherIndex(d, b, left)));
    sum = hn::Add(sum, hn::Mul(hn::Mul(wr, wb), hn::GatherIndex(d, b, right)));
    hn::StoreU(sum, d, y + j);
  }
  for (; j < c.count; ++j) {
    const float wl = c.left_weight[j], wr = c.right_weight[j];
    float sum = (wl * a_weight) * a[c.left[j]];
    sum += (wr * a_weight) * a[c.right[j]];
    sum += (wl * b_weight) * b[c.left[j]];
    y[j] = sum + (wr * b_weight) * b[c.right[j]];
  }
}

}  // namespace

constexpr BilinearKernels kTable = {&Row};

}  // namespace trunnion::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trunnion::kernels {
const BilinearKernels& bilinear() { TRN_RUNG_TABLE(kTable) }
}  // namespace trunnion::kernels
#endif
