// Index of the largest or smallest element. Rows: the extreme value first, then its place. Columns (inner > 1): a few
// vectors of columns at a time, the best element and its index kept by lane. Narrow types are widened to 32 bits.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/arg_extreme.simd.cc"
#include <limits>
#include <type_traits>
// clang-format off
#include "kernels/rung_table.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on
#include "kernels/arg_extreme_table.h"
#include "kernels/half.h"

HWY_BEFORE_NAMESPACE();
namespace trunnion::kernels::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// Elements as they stand in memory. wide() is what they are compared as, scalar and by vector.
template <class T>
struct Plain {
  using Memory = T;
  using Wide = std::conditional_t<(sizeof(T) < 4), int32_t, T>;
  static Wide wide(T v) { return v; }
  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const T* p) {
    if constexpr (sizeof(T) < 4) {
      return hn::PromoteTo(d, hn::LoadU(hn::Rebind<T, D>(), p));
    } else {
      return hn::LoadU(d, p);
    }
  }
};
struct F16 {
  using Memory = uint16_t;
  using Wide = float;
  static float wide(uint16_t v) { return half::from_f16(v); }
  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const uint16_t* p) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
    const hn::Rebind<hwy::float16_t, D> dh;
    return hn::PromoteTo(d, hn::BitCast(dh, hn::LoadU(hn::Rebind<uint16_t, D>(), p)));
#else
    HWY_ALIGN float lanes[HWY_MAX_BYTES / sizeof(float)];
    for (size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = half::from_f16(p[i]);
    return hn::Load(d, lanes);
#endif
  }
};
struct Bf16 {
  using Memory = uint16_t;
  using Wide = float;
  static float wide(uint16_t v) { return half::from_bf16(v); }
  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const uint16_t* p) {
    const hn::RebindToUnsigned<D> du;
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du, hn::LoadU(hn::Rebind<uint16_t, D>(), p))));
  }
};

// True when v takes the place of best, which came before it: it is better (or as good when kLast), or the first NaN.
template <bool kLargest, bool kLast, class C>
bool replaces(C v, C best) {
  if (best != best) return false;
  return kLargest ? (kLast ? !(v < best) : !(v <= best)) : (kLast ? !(v > best) : !(v >= best));
}
template <bool kLargest, bool kLast, class V, class D>
HWY_INLINE hn::Mask<D> Replaces(D, V v, V best) {
  if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
    const auto worse =
        kLargest ? (kLast ? hn::Lt(v, best) : hn::Le(v, best)) : (kLast ? hn::Gt(v, best) : hn::Ge(v, best));
    return hn::AndNot(worse, hn::Eq(best, best));
  } else if constexpr (kLast) {
    return hn::Not(kLargest ? hn::Lt(v, best) : hn::Gt(v, best));  // integers of some targets have no Ge
  } else {
    return kLargest ? hn::Gt(v, best) : hn::Lt(v, best);
  }
}

// One column, or one short row: axis elements, `stride` apart.
template <class E, bool kLargest, bool kLast>
int64_t One(const typename E::Memory* x, int64_t axis, int64_t stride) {
  int64_t at = 0;
  auto best = E::wide(x[0]);
  for (int64_t k = 1; k < axis; ++k) {
    const auto v = E::wide(x[k * stride]);
    if (replaces<kLargest, kLast>(v, best)) best = v, at = k;
  }
  return at;
}

// kVectors vectors of columns from x on.
template <class E, bool kLargest, bool kLast, int kVectors>
HWY_INLINE void Columns(const typename E::Memory* x, int64_t* y, int64_t axis, int64_t stride) {
  using C = typename E::Wide;
  const hn::ScalableTag<C> d;
  const hn::RebindToSigned<decltype(d)> di;
  using I = hn::TFromD<decltype(di)>;
  const size_t lanes = hn::Lanes(d);
  hn::Vec<decltype(d)> best[kVectors];
  hn::Vec<decltype(di)> at[kVectors];
#pragma GCC unroll 8
  for (int j = 0; j < kVectors; ++j) {
    best[j] = E::load(d, x + static_cast<size_t>(j) * lanes);
    at[j] = hn::Zero(di);
  }
  for (int64_t k = 1; k < axis; ++k) {
    const auto* row = x + k * stride;
    const auto index = hn::Set(di, static_cast<I>(k));
#pragma GCC unroll 8
    for (int j = 0; j < kVectors; ++j) {
      const auto v = E::load(d, row + static_cast<size_t>(j) * lanes);
      const auto m = Replaces<kLargest, kLast>(d, v, best[j]);
      best[j] = hn::IfThenElse(m, v, best[j]);
      at[j] = hn::IfThenElse(hn::RebindMask(di, m), index, at[j]);
    }
  }
#pragma GCC unroll 8
  for (int j = 0; j < kVectors; ++j) {
    int64_t* to = y + static_cast<size_t>(j) * lanes;
    if constexpr (sizeof(I) == 8) {
      hn::StoreU(at[j], di, to);
    } else {
      const hn::ScalableTag<int64_t> d64;
      const hn::Half<decltype(di)> half;
      hn::StoreU(hn::PromoteTo(d64, hn::LowerHalf(half, at[j])), d64, to);
      hn::StoreU(hn::PromoteTo(d64, hn::UpperHalf(half, at[j])), d64, to + lanes / 2);
    }
  }
}

// One long contiguous row. Elements are compared as they stand where the vectors can.
template <class E, bool kLargest, bool kLast>
HWY_INLINE int64_t Row(const typename E::Memory* x, int64_t n) {
  using M = typename E::Memory;
  constexpr bool kDirect = std::is_same_v<E, Plain<M>>;
  using C = std::conditional_t<kDirect, M, typename E::Wide>;
  using Load = std::conditional_t<kDirect && (sizeof(M) < 4), std::false_type, std::true_type>;
  const hn::ScalableTag<C> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto load = [&](const M* p) HWY_ATTR {
    if constexpr (Load::value) {
      return E::load(d, p);
    } else {
      return hn::LoadU(d, p);
    }
  };
  const auto better = [&](auto v, auto w) HWY_ATTR { return kLargest ? hn::Max(v, w) : hn::Min(v, w); };
  auto b0 = load(x), b1 = b0, b2 = b0, b3 = b0;
  auto nan = hn::Not(hn::Eq(b0, b0));
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    const auto v0 = load(x + i), v1 = load(x + i + lanes), v2 = load(x + i + 2 * lanes), v3 = load(x + i + 3 * lanes);
    b0 = better(b0, v0);
    b1 = better(b1, v1);
    b2 = better(b2, v2);
    b3 = better(b3, v3);
    if constexpr (hwy::IsFloat<C>()) {
      // A sum is NaN when one of its parts is; infinities of both signs only make the slower way be taken.
      const auto sum = hn::Add(hn::Add(v0, v1), hn::Add(v2, v3));
      nan = hn::Or(nan, hn::Not(hn::Eq(sum, sum)));
    }
  }
  for (; i < n; i += lanes) {  // the last vector overlaps the one before it
    const auto v = load(x + (i + lanes <= n ? i : n - lanes));
    b0 = better(b0, v);
    if constexpr (hwy::IsFloat<C>()) nan = hn::Or(nan, hn::Not(hn::Eq(v, v)));
  }
  if constexpr (hwy::IsFloat<C>()) {
    if (!hn::AllFalse(d, nan)) return One<E, kLargest, kLast>(x, n, 1);
  }
  HWY_ALIGN C lane[HWY_MAX_BYTES / sizeof(C)];
  hn::Store(better(better(b0, b1), better(b2, b3)), d, lane);
  C best = lane[0];
  for (int64_t k = 1; k < lanes; ++k)
    if (kLargest ? lane[k] > best : lane[k] < best) best = lane[k];
  const auto wanted = hn::Set(d, best);
  if constexpr (kLast) {
    for (int64_t k = n - lanes;; k = k >= lanes ? k - lanes : 0) {
      HWY_ALIGN C values[HWY_MAX_BYTES / sizeof(C)];
      const auto v = load(x + k);
      if (hn::AllFalse(d, hn::Eq(v, wanted))) continue;
      hn::Store(v, d, values);
      int64_t last = lanes - 1;
      while (values[last] != best) --last;
      return k + last;
    }
  } else {
    for (int64_t k = 0;; k = k + 2 * lanes <= n ? k + lanes : n - lanes) {
      const int64_t at = hn::FindFirstTrue(d, hn::Eq(load(x + k), wanted));
      if (at >= 0) return k + at;
    }
  }
}

// Short contiguous rows, a block of them at a time: turned into columns first. Returns the number of rows done.
constexpr int64_t kShort = 32, kLine = 2048;
template <class E, bool kLargest, bool kLast>
HWY_INLINE int64_t ShortRows(const typename E::Memory* x, int64_t* y, int64_t rows, int64_t axis) {
  using M = typename E::Memory;
  constexpr int64_t kBlock = 4 * HWY_LANES(typename E::Wide);
  HWY_ALIGN M turned[kShort * kBlock];
  int64_t r = 0;
  for (; r + kBlock <= rows; r += kBlock, x += kBlock * axis) {
    for (int64_t i = 0; i < kBlock; ++i)
      for (int64_t k = 0; k < axis; ++k) turned[k * kBlock + i] = x[i * axis + k];
    Columns<E, kLargest, kLast, 4>(turned, y + r, axis, kBlock);
  }
  return r;
}

template <class E, bool kLargest, bool kLast>
void Run(const void* xv, int64_t* y, const ReduceShape& s) {
  const auto* x = static_cast<const typename E::Memory*>(xv);
  const hn::ScalableTag<typename E::Wide> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t row_lanes = HWY_MAX_BYTES / static_cast<int64_t>(sizeof(typename E::Memory));
  const bool vectors = s.inner >= lanes && s.axis < std::numeric_limits<int32_t>::max();
  int64_t first = 0;
  if (s.stride == 1 && s.axis <= kShort && s.axis < 2 * row_lanes) {
    first = ShortRows<E, kLargest, kLast>(x, y, s.outer, s.axis);
    x += first * s.axis;
    y += first;
  }
  for (int64_t o = first; o < s.outer; ++o, x += s.axis * s.stride, y += s.stride) {
    int64_t i = 0;
    if (s.stride == 1 && s.axis >= 2 * row_lanes) {
      *y = Row<E, kLargest, kLast>(x, s.axis);
      continue;
    }
    if (vectors) {
      for (; i + 4 * lanes <= s.inner; i += 4 * lanes) Columns<E, kLargest, kLast, 4>(x + i, y + i, s.axis, s.stride);
      for (; i < s.inner; i += lanes) {  // the last vector overlaps the one before it
        const int64_t at = i + lanes <= s.inner ? i : s.inner - lanes;
        Columns<E, kLargest, kLast, 1>(x + at, y + at, s.axis, s.stride);
      }
    }
    // Few columns: each as a row of its own, where that is short enough to be turned.
    typename E::Memory line[kLine];
    if (!vectors && s.axis >= 2 * row_lanes && s.axis <= kLine) {
      for (; i < s.inner; ++i) {
        for (int64_t k = 0; k < s.axis; ++k) line[k] = x[k * s.stride + i];
        y[i] = Row<E, kLargest, kLast>(line, s.axis);
      }
    }
    for (; i < s.inner; ++i) y[i] = One<E, kLargest, kLast>(x + i, s.axis, s.stride);
  }
}

#define TRN_ROW(type)                                                                                        \
  {                                                                                                          \
    {&Run<type, false, false>, &Run<type, false, true>}, { &Run<type, true, false>, &Run<type, true, true> } \
  }

}  // namespace

// In the order of arg_row().
constexpr ArgTable kTable = {{
    TRN_ROW(Plain<float>),
    TRN_ROW(Plain<double>),
    TRN_ROW(F16),
    TRN_ROW(Bf16),
    TRN_ROW(Plain<int8_t>),
    TRN_ROW(Plain<int16_t>),
    TRN_ROW(Plain<int32_t>),
    TRN_ROW(Plain<int64_t>),
    TRN_ROW(Plain<uint8_t>),
    TRN_ROW(Plain<uint16_t>),
    TRN_ROW(Plain<uint32_t>),
    TRN_ROW(Plain<uint64_t>),
}};
#undef TRN_ROW

}  // namespace trunnion::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trunnion::kernels {
const ArgTable& arg_table() { TRN_RUNG_TABLE(kTable) }
}  // namespace trunnion::kernels
#endif
