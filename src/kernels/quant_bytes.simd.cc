// 8-bit elements: widened to f32 for sums and products, to integers for sums of many.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/quant_bytes.simd.cc"
#include <cstring>
#include <limits>
// clang-format off
#include "kernels/rung_table.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on
#include "kernels/quant_bytes.h"
#include "kernels/vec_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace trunnion::kernels::HWY_NAMESPACE {
namespace {

// What the elements become before rounding is bounded, so that the conversion to integers cannot overflow.
template <class T>
HWY_INLINE hn::Vec<hn::Rebind<T, DF>> Narrow(VF v) {
  const DF d;
  v = hn::Max(v, hn::Set(d, static_cast<float>(std::numeric_limits<T>::min())));
  v = hn::Min(v, hn::Set(d, static_cast<float>(std::numeric_limits<T>::max())));
  return hn::DemoteTo(hn::Rebind<T, DF>(), hn::NearestInt(v));
}

template <class T>
HWY_INLINE VF Widen(const T* x) {
  return hn::ConvertTo(DF(), hn::PromoteTo(DI(), hn::LoadU(hn::Rebind<T, DF>(), x)));
}

// y[i] = f(a[i], b[i]) for vectors of f32; a side of step 0 is not read.
template <class T, bool kA, bool kB, class F>
HWY_INLINE void Each(const T* a, const T* b, T* y, size_t n, VF one_a, VF one_b, const F& f) {
  const hn::Rebind<T, DF> dt;
  const size_t lanes = hn::Lanes(DF());
  size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const VF v0 = f(kA ? Widen(a + i) : one_a, kB ? Widen(b + i) : one_b);
    const VF v1 = f(kA ? Widen(a + i + lanes) : one_a, kB ? Widen(b + i + lanes) : one_b);
    hn::StoreU(Narrow<T>(v0), dt, y + i);
    hn::StoreU(Narrow<T>(v1), dt, y + i + lanes);
  }
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(Narrow<T>(f(kA ? Widen(a + i) : one_a, kB ? Widen(b + i) : one_b)), dt, y + i);
  if (i < n) {
    const size_t left = n - i;
    HWY_ALIGN T la[HWY_MAX_BYTES / sizeof(float)] = {}, lb[HWY_MAX_BYTES / sizeof(float)] = {};
    if (kA) std::memcpy(la, a + i, left);
    if (kB) std::memcpy(lb, b + i, left);
    hn::StoreU(Narrow<T>(f(kA ? Widen(la) : one_a, kB ? Widen(lb) : one_b)), dt, la);
    std::memcpy(y + i, la, left);
  }
}

template <class T, bool kA, bool kB>
void Add(const void* av, const void* bv, void* y, size_t n, const ByteBinaryArgs& g) {
  const DF d;
  const T *a = static_cast<const T*>(av), *b = static_cast<const T*>(bv);
  const float ra = g.a.scale / g.y.scale, rb = g.b.scale / g.y.scale;
  float fixed = static_cast<float>(g.y.zero) - (ra * static_cast<float>(g.a.zero) + rb * static_cast<float>(g.b.zero));
  if (n == 0) return;
  if (!kA) fixed += static_cast<float>(*a) * ra;
  if (!kB) fixed += static_cast<float>(*b) * rb;
  const VF va = hn::Set(d, ra), vb = hn::Set(d, rb), start = hn::Set(d, fixed);
  Each<T, kA, kB>(a, b, static_cast<T*>(y), n, va, vb, [&](VF x, VF z) HWY_ATTR {
    VF v = start;
    if (kB) v = hn::MulAdd(z, vb, v);
    if (kA) v = hn::MulAdd(x, va, v);
    return v;
  });
}

template <class T, bool kA, bool kB>
void Mul(const void* av, const void* bv, void* y, size_t n, const ByteBinaryArgs& g) {
  const DF d;
  const T *a = static_cast<const T*>(av), *b = static_cast<const T*>(bv);
  if (n == 0) return;
  const VF ratio = hn::Set(d, g.a.scale * g.b.scale / g.y.scale), zero = hn::Set(d, static_cast<float>(g.y.zero));
  const VF za = hn::Set(d, static_cast<float>(g.a.zero)), zb = hn::Set(d, static_cast<float>(g.b.zero));
  const VF one_a = hn::Set(d, kA ? 0.0f : static_cast<float>(*a)),
           one_b = hn::Set(d, kB ? 0.0f : static_cast<float>(*b));
  // The product of the two differences is a small integer: exact in f32.
  Each<T, kA, kB>(a, b, static_cast<T*>(y), n, one_a, one_b, [&](VF x, VF z) HWY_ATTR {
    return hn::Add(hn::Mul(hn::Mul(hn::Sub(x, za), hn::Sub(z, zb)), ratio), zero);
  });
}

template <class T>
HWY_INLINE void QuantizeAs(const float* x, T* y, size_t n, BytePoint point) {
  const DF d;
  const hn::Rebind<T, DF> dt;
  const size_t lanes = hn::Lanes(d);
  const VF scale = hn::Set(d, point.scale), zero = hn::Set(d, static_cast<float>(point.zero));
  size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(Narrow<T>(hn::Add(hn::Div(hn::LoadU(d, x + i), scale), zero)), dt, y + i);
  if (i < n) {
    HWY_ALIGN T last[HWY_MAX_BYTES / sizeof(float)];
    hn::StoreU(Narrow<T>(hn::Add(hn::Div(LoadTail(d, x + i, n - i), scale), zero)), dt, last);
    std::memcpy(y + i, last, n - i);
  }
}
void Quantize(const float* x, void* y, size_t n, BytePoint point, bool is_signed) {
  is_signed ? QuantizeAs(x, static_cast<int8_t*>(y), n, point) : QuantizeAs(x, static_cast<uint8_t*>(y), n, point);
}

void RowSums(const void* xv, bool is_signed, int64_t rows, int64_t cols, int32_t* y) {
  const hn::ScalableTag<uint8_t> d;
  const hn::ScalableTag<uint64_t> d64;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto* x = static_cast<const uint8_t*>(xv);
  const uint8_t flip = is_signed ? 128 : 0;  // signed elements become unsigned ones that are 128 larger
  const auto flips = hn::Set(d, flip);
  for (int64_t r = 0; r < rows; ++r, x += cols) {
    auto acc = hn::Zero(d64);
    int64_t i = 0;
    for (; i + lanes <= cols; i += lanes) acc = hn::Add(acc, hn::SumsOf8(hn::Xor(hn::LoadU(d, x + i), flips)));
    uint64_t sum = hn::GetLane(hn::SumOfLanes(d64, acc));
    for (; i < cols; ++i) sum += static_cast<uint8_t>(x[i] ^ flip);
    y[r] = static_cast<int32_t>(static_cast<int64_t>(sum) - flip * cols);
  }
}

template <class T>
HWY_INLINE void ColumnSumsAs(const T* x, int64_t rows, int64_t cols, int32_t* y) {
  const DI di;
  const hn::Rebind<T, DI> dt;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(di));
  int64_t c = 0;
  for (; c + 4 * lanes <= cols; c += 4 * lanes) {
    VI s0 = hn::Zero(di), s1 = s0, s2 = s0, s3 = s0;
    const T* p = x + c;
    for (int64_t r = 0; r < rows; ++r, p += cols) {
      s0 = hn::Add(s0, hn::PromoteTo(di, hn::LoadU(dt, p)));
      s1 = hn::Add(s1, hn::PromoteTo(di, hn::LoadU(dt, p + lanes)));
      s2 = hn::Add(s2, hn::PromoteTo(di, hn::LoadU(dt, p + 2 * lanes)));
      s3 = hn::Add(s3, hn::PromoteTo(di, hn::LoadU(dt, p + 3 * lanes)));
    }
    hn::StoreU(s0, di, y + c);
    hn::StoreU(s1, di, y + c + lanes);
    hn::StoreU(s2, di, y + c + 2 * lanes);
    hn::StoreU(s3, di, y + c + 3 * lanes);
  }
  for (; c + lanes <= cols; c += lanes) {
    VI sum = hn::Zero(di);
    for (int64_t r = 0; r < rows; ++r) sum = hn::Add(sum, hn::PromoteTo(di, hn::LoadU(dt, x + r * cols + c)));
    hn::StoreU(sum, di, y + c);
  }
  for (; c < cols; ++c) {
    int32_t sum = 0;
    for (int64_t r = 0; r < rows; ++r) sum += x[r * cols + c];
    y[c] = sum;
  }
}
void ColumnSums(const void* x, bool is_signed, int64_t rows, int64_t cols, int32_t* y) {
  is_signed ? ColumnSumsAs(static_cast<const int8_t*>(x), rows, cols, y)
            : ColumnSumsAs(static_cast<const uint8_t*>(x), rows, cols, y);
}

template <class T>
HWY_INLINE void ColumnMaxAs(const void* const* rows, int64_t count, int64_t cols, T* y) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  constexpr T kLowest = std::numeric_limits<T>::min();
  int64_t c = 0;
  for (; c + lanes <= cols; c += lanes) {
    auto best = hn::Set(d, kLowest);
    for (int64_t r = 0; r < count; ++r) best = hn::Max(best, hn::LoadU(d, static_cast<const T*>(rows[r]) + c));
    hn::StoreU(best, d, y + c);
  }
  for (; c < cols; ++c) {
    T best = kLowest;
    for (int64_t r = 0; r < count; ++r) {
      const T v = static_cast<const T*>(rows[r])[c];
      best = v > best ? v : best;
    }
    y[c] = best;
  }
}
void ColumnMax(const void* const* rows, int64_t count, bool is_signed, int64_t cols, void* y) {
  is_signed ? ColumnMaxAs(rows, count, cols, static_cast<int8_t*>(y))
            : ColumnMaxAs(rows, count, cols, static_cast<uint8_t*>(y));
}

}  // namespace

constexpr QuantByteKernels kTable = {
    {{&Add<uint8_t, true, true>, &Add<uint8_t, true, false>, &Add<uint8_t, false, true>},
     {&Add<int8_t, true, true>, &Add<int8_t, true, false>, &Add<int8_t, false, true>}},
    {{&Mul<uint8_t, true, true>, &Mul<uint8_t, true, false>, &Mul<uint8_t, false, true>},
     {&Mul<int8_t, true, true>, &Mul<int8_t, true, false>, &Mul<int8_t, false, true>}},
    &Quantize,
    &RowSums,
    &ColumnSums,
    &ColumnMax};

}  // namespace trunnion::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trunnion::kernels {
const QuantByteKernels& quant_bytes() { TRN_RUNG_TABLE(kTable) }
}  // namespace trunnion::kernels
#endif
