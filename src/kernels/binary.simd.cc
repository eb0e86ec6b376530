// f32 element-wise functions of two inputs: arithmetic, min, max, prelu and comparisons.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/binary.simd.cc"
// clang-format off
#include "kernels/rung_table.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on
#include "kernels/binary_table.h"
#include "kernels/vec_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace trunnion::kernels::HWY_NAMESPACE {
namespace {

using Op = BinaryOp;
using Shape = BinaryShape;

template <Op kOp>
HWY_INLINE VF Arithmetic(VF a, VF b) {
  if constexpr (kOp == Op::add) return hn::Add(a, b);
  if constexpr (kOp == Op::sub) return hn::Sub(a, b);
  if constexpr (kOp == Op::mul) return hn::Mul(a, b);
  if constexpr (kOp == Op::div) return hn::Div(a, b);
  // Max and Min keep a NaN in b only.
  if constexpr (kOp == Op::min) return hn::IfThenElse(hn::IsNaN(a), a, MinKeepNan(a, b));
  if constexpr (kOp == Op::max) return hn::IfThenElse(hn::IsNaN(a), a, MaxKeepNan(a, b));
  if constexpr (kOp == Op::prelu) return hn::IfThenElse(hn::Lt(a, hn::Zero(DF())), hn::Mul(a, b), a);
}

template <Op kOp>
HWY_INLINE MF Compare(VF a, VF b) {
  if constexpr (kOp == Op::equal) return hn::Eq(a, b);
  if constexpr (kOp == Op::not_equal) return hn::Not(hn::Eq(a, b));  // Ne is false for NaN on some targets
  if constexpr (kOp == Op::less) return hn::Lt(a, b);
  if constexpr (kOp == Op::less_equal) return hn::Le(a, b);
  if constexpr (kOp == Op::greater) return hn::Gt(a, b);
  if constexpr (kOp == Op::greater_equal) return hn::Ge(a, b);
}

template <Op kOp, Shape kShape>
void Run(const void* av, const void* bv, void* yv, size_t n) {
  const float* a = static_cast<const float*>(av);
  const float* b = static_cast<const float*>(bv);
  const DF d;
  const size_t lanes = hn::Lanes(d);
  if (n == 0) return;
  const VF a0 = hn::Set(d, a[0]);
  const VF b0 = hn::Set(d, b[0]);
  size_t i = 0;
  if constexpr (gives_boolean(kOp)) {
    uint8_t* y = static_cast<uint8_t*>(yv);
    const hn::Rebind<uint8_t, DF> d8;
    const DI di;
    const VI one = hn::Set(di, 1);
    for (; i + lanes <= n; i += lanes) {
      const MF m = Compare<kOp>(kShape == Shape::scalar_vector ? a0 : hn::LoadU(d, a + i),
                                kShape == Shape::vector_scalar ? b0 : hn::LoadU(d, b + i));
      hn::StoreU(hn::DemoteTo(d8, hn::IfThenElseZero(hn::RebindMask(di, m), one)), d8, y + i);
    }
    if (i < n) {
      const MF m = Compare<kOp>(kShape == Shape::scalar_vector ? a0 : LoadTail(d, a + i, n - i),
                                kShape == Shape::vector_scalar ? b0 : LoadTail(d, b + i, n - i));
      HWY_ALIGN int32_t flags[HWY_MAX_BYTES / sizeof(int32_t)];
      hn::Store(hn::IfThenElseZero(hn::RebindMask(di, m), one), di, flags);
      for (size_t k = 0; i < n; ++i, ++k) y[i] = static_cast<uint8_t>(flags[k]);
    }
  } else {
    float* y = static_cast<float*>(yv);
    for (; i + lanes <= n; i += lanes) {
      const VF v = Arithmetic<kOp>(kShape == Shape::scalar_vector ? a0 : hn::LoadU(d, a + i),
                                   kShape == Shape::vector_scalar ? b0 : hn::LoadU(d, b + i));
      hn::StoreU(v, d, y + i);
    }
    if (i < n) {
      const VF v = Arithmetic<kOp>(kShape == Shape::scalar_vector ? a0 : LoadTail(d, a + i, n - i),
                                   kShape == Shape::vector_scalar ? b0 : LoadTail(d, b + i, n - i));
      StoreTail(v, d, y + i, n - i);
    }
  }
}

#define TRN_ROW(op) \
  { &Run<Op::op, Shape::vector_vector>, &Run<Op::op, Shape::vector_scalar>, &Run<Op::op, Shape::scalar_vector> }

}  // namespace

// In the order of BinaryOp.
constexpr BinaryTable kTable = {{
    TRN_ROW(add),
    TRN_ROW(sub),
    TRN_ROW(mul),
    TRN_ROW(div),
    TRN_ROW(min),
    TRN_ROW(max),
    {},  // pow
    {},  // mod
    {},  // fmod
    TRN_ROW(prelu),
    {},  // atan2
    {},  // bit_and
    {},  // bit_or
    {},  // bit_xor
    {},  // shift_left
    {},  // shift_right
    TRN_ROW(equal),
    TRN_ROW(not_equal),
    TRN_ROW(less),
    TRN_ROW(less_equal),
    TRN_ROW(greater),
    TRN_ROW(greater_equal),
}};
#undef TRN_ROW

}  // namespace trunnion::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trunnion::kernels {
static_assert(int(BinaryOp::atan2) == 10 && int(BinaryOp::equal) == 16, "kTable lists the operations in this order");
const BinaryTable& binary_table() { TRN_RUNG_TABLE(kTable) }
}  // namespace trunnion::kernels
#endif
