// 8-bit integer micro-kernels for 128-bit vectors: operands widened to 16 bits.
#include "hwy/highway.h"
#include "kernels/gemm_int8_microkernel.h"

HWY_BEFORE_NAMESPACE();
namespace trunnion::kernels::baseline {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

struct V {
  using D = hn::CappedTag<int32_t, 4>;
  using T = hn::Vec<D>;
  static constexpr int kLanes = static_cast<int>(hn::MaxLanes(D()));
  static T zero() { return hn::Zero(D()); }
  static T set1(int32_t x) { return hn::Set(D(), x); }
  static T load(const void* p) { return hn::LoadU(D(), static_cast<const int32_t*>(p)); }
  static void store_n(int32_t* p, T x, int64_t n) {
    if (n >= kLanes) return hn::StoreU(x, D(), p);
    HWY_ALIGN int32_t lanes[kLanes];
    hn::Store(x, D(), lanes);
    for (int64_t i = 0; i < n; ++i) p[i] = lanes[i];
  }
  static T mul(T a, T b) { return hn::Mul(a, b); }
  static T sub(T a, T b) { return hn::Sub(a, b); }
  template <bool kSigned>
  static T group(const unsigned char* p) {
    int32_t pair;
    __builtin_memcpy(&pair, p, 4);
    return hn::Set(D(), pair);
  }
  static T dot(T sum, T a, T b) {
#if HWY_TARGET == HWY_SSE4
    return T{_mm_add_epi32(sum.raw, _mm_madd_epi16(a.raw, b.raw))};
#else
    const auto even = hn::Mul(hn::ShiftRight<16>(hn::ShiftLeft<16>(a)), hn::ShiftRight<16>(hn::ShiftLeft<16>(b)));
    return hn::Add(hn::Add(sum, even), hn::Mul(hn::ShiftRight<16>(a), hn::ShiftRight<16>(b)));
#endif
  }
};

#include "kernels/gemm_int8_microkernel_inl.h"

#define TRN_ROWS(NV) \
  { nullptr, int8_tile<1, NV, false>, int8_tile<2, NV, false>, int8_tile<3, NV, false>, int8_tile<4, NV, false> }

}  // namespace

extern const Int8MicroTable kInt8MicroTable;
const Int8MicroTable kInt8MicroTable = {
    V::kLanes, 2 * V::kLanes, 4, false, {TRN_ROWS(2), TRN_ROWS(2)}, {TRN_ROWS(1), TRN_ROWS(1)}};

}  // namespace trunnion::kernels::baseline
HWY_AFTER_NAMESPACE();
