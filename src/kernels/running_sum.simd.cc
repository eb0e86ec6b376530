// Running sums of rows (a tree within a vector, one addition from vector to vector) and of columns.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/running_sum.simd.cc"
#include <type_traits>
// clang-format off
#include "kernels/rung_table.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on
#include "kernels/running_sum_table.h"

HWY_BEFORE_NAMESPACE();
namespace trunnion::kernels::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// The lanes moved up by kBy places, zeros below.
template <int kBy, class D, class V = hn::Vec<D>>
HWY_INLINE V Up(D d, V v) {
#if HWY_TARGET == HWY_AVX3
  const hn::RebindToSigned<D> di;
  const auto bits = hn::BitCast(di, v), zero = hn::Zero(di);
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    return hn::BitCast(d, hn::VFromD<decltype(di)>{_mm512_alignr_epi32(bits.raw, zero.raw, 16 - kBy)});
  } else {
    return hn::BitCast(d, hn::VFromD<decltype(di)>{_mm512_alignr_epi64(bits.raw, zero.raw, 8 - kBy)});
  }
#elif HWY_TARGET == HWY_AVX2
  const hn::RebindToSigned<D> di;
  const __m256i bits = hn::BitCast(di, v).raw;
  const __m256i low = _mm256_permute2x128_si256(bits, bits, 0x08);  // the low half in the high one, zeros below
  constexpr int kBytes = kBy * int(sizeof(hn::TFromD<D>));
  if constexpr (kBytes == 16) {
    return hn::BitCast(d, hn::VFromD<decltype(di)>{low});
  } else {
    return hn::BitCast(d, hn::VFromD<decltype(di)>{_mm256_alignr_epi8(bits, low, 16 - kBytes)});
  }
#else
  return hn::ShiftLeftLanes<kBy>(d, v);
#endif
}

// The last lane in all lanes.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Last([[maybe_unused]] D d, V v) {
  [[maybe_unused]] constexpr bool kNarrow = sizeof(hn::TFromD<D>) == 4;
  [[maybe_unused]] const hn::RebindToSigned<D> di;
#if HWY_TARGET == HWY_AVX3
  const __m512i bits = hn::BitCast(di, v).raw;
  const __m512i last = kNarrow ? _mm512_permutexvar_epi32(_mm512_set1_epi32(15), bits)
                               : _mm512_permutexvar_epi64(_mm512_set1_epi64(7), bits);
  return hn::BitCast(d, hn::VFromD<decltype(di)>{last});
#elif HWY_TARGET == HWY_AVX2
  const __m256i bits = hn::BitCast(di, v).raw;
  const __m256i last =
      kNarrow ? _mm256_permutevar8x32_epi32(bits, _mm256_set1_epi32(7)) : _mm256_permute4x64_epi64(bits, 0xff);
  return hn::BitCast(d, hn::VFromD<decltype(di)>{last});
#else
  return hn::Broadcast<int(16 / sizeof(hn::TFromD<D>)) - 1>(v);
#endif
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V Prefix(D d, V v) {
  constexpr size_t kLanes = HWY_LANES(hn::TFromD<D>);
  v = hn::Add(v, Up<1>(d, v));
  if constexpr (kLanes > 2) v = hn::Add(v, Up<2>(d, v));
  if constexpr (kLanes > 4) v = hn::Add(v, Up<4>(d, v));
  if constexpr (kLanes > 8) v = hn::Add(v, Up<8>(d, v));
  return v;
}

template <class T>
T Sum(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
  } else {
    return a + b;
  }
}

template <class T, bool kExclusive, bool kReverse>
void RowAs(const T* x, T* y, int64_t n) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  auto before = hn::Zero(d);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const int64_t at = kReverse ? n - i - lanes : i;
    auto v = hn::LoadU(d, x + at);
    if constexpr (kReverse) v = hn::Reverse(d, v);
    const auto sums = Prefix(d, v);
    auto out = hn::Add(before, kExclusive ? Up<1>(d, sums) : sums);
    before = hn::Add(before, Last(d, sums));
    if constexpr (kReverse) out = hn::Reverse(d, out);
    hn::StoreU(out, d, y + at);
  }
  T total = hn::GetLane(before);
  for (; i < n; ++i) {
    const int64_t at = kReverse ? n - 1 - i : i;
    const T sum = Sum(total, x[at]);
    y[at] = kExclusive ? total : sum;
    total = sum;
  }
}

template <class T>
void Row(const void* xv, void* yv, int64_t n, bool exclusive, bool reverse) {
  const T* x = static_cast<const T*>(xv);
  T* y = static_cast<T*>(yv);
  if (exclusive) return reverse ? RowAs<T, true, true>(x, y, n) : RowAs<T, true, false>(x, y, n);
  return reverse ? RowAs<T, false, true>(x, y, n) : RowAs<T, false, false>(x, y, n);
}

template <class T, bool kExclusive>
void ColumnsAs(const T* x, T* y, int64_t n, int64_t width, int64_t step) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t c = 0;
  // Wide blocks row by row, as memory likes it; the sums stay in the first-level cache.
  constexpr int64_t kBlock = 4096 / int64_t{sizeof(T)};
  HWY_ALIGN T block_sums[kBlock];
  while (width - c >= 4 * lanes) {
    const int64_t block = (width - c < kBlock ? width - c : kBlock) / lanes * lanes;
    for (int64_t j = 0; j < block; ++j) block_sums[j] = 0;
    for (int64_t i = 0; i < n; ++i) {
      const T* in = x + i * step + c;
      T* out = y + i * step + c;
      for (int64_t j = 0; j < block; j += lanes) {
        const auto sum = hn::Load(d, block_sums + j), next = hn::Add(sum, hn::LoadU(d, in + j));
        hn::StoreU(kExclusive ? sum : next, d, out + j);
        hn::Store(next, d, block_sums + j);
      }
    }
    c += block;
  }
  for (; c + lanes <= width; c += lanes) {
    auto sum = hn::Zero(d);
    for (int64_t i = 0; i < n; ++i) {
      const auto next = hn::Add(sum, hn::LoadU(d, x + i * step + c));
      hn::StoreU(kExclusive ? sum : next, d, y + i * step + c);
      sum = next;
    }
  }
  if (c == width) return;
  T sums[HWY_LANES(T)] = {};
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < width - c; ++j) {
      const T next = Sum(sums[j], x[i * step + c + j]);
      y[i * step + c + j] = kExclusive ? sums[j] : next;
      sums[j] = next;
    }
  }
}

template <class T>
void Columns(const void* xv, void* yv, int64_t n, int64_t width, int64_t stride, bool exclusive, bool reverse) {
  if (n == 0) return;
  const int64_t first = reverse ? (n - 1) * stride : 0, step = reverse ? -stride : stride;
  const T* x = static_cast<const T*>(xv) + first;
  T* y = static_cast<T*>(yv) + first;
  return exclusive ? ColumnsAs<T, true>(x, y, n, width, step) : ColumnsAs<T, false>(x, y, n, width, step);
}

}  // namespace

constexpr RunningSumTable kTable = {{&Row<float>, &Columns<float>},
                                    {&Row<double>, &Columns<double>},
                                    {&Row<int32_t>, &Columns<int32_t>},
                                    {&Row<int64_t>, &Columns<int64_t>}};

}  // namespace trunnion::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trunnion::kernels {
const RunningSumTable& running_sum_table() { TRN_RUNG_TABLE(kTable) }

const RunningSum* running_sum(Elem type) {
  const RunningSumTable& t = running_sum_table();
  switch (type) {
    case Elem::f32:
      return &t.f32;
    case Elem::f64:
      return &t.f64;
    case Elem::i32:
    case Elem::u32:
      return &t.i32;
    case Elem::i64:
    case Elem::u64:
      return &t.i64;
    default:
      return nullptr;
  }
}

}  // namespace trunnion::kernels
#endif
