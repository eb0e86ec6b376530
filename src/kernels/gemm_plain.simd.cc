// Matrix products of double and 32-bit integers: blocks of B are packed on the stack, some rows at a time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm_plain.simd.cc"
#include "kernels/gemm_plain.h"

#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/gemm_plain_table.h"
#include "kernels/rung_table.h"

HWY_BEFORE_NAMESPACE();
namespace trunnion::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace {

constexpr int64_t kDepth = 128;  // multiply-adds in one chain; fixed, since it decides the bits
constexpr int kRows = HWY_MAX_BYTES == 64 ? 8 : 4;

template <class V>
HWY_INLINE V mul_add(V a, V b, V c) {
  if constexpr (sizeof(hn::TFromV<V>) == sizeof(double)) {
    return hn::MulAdd(a, b, c);
  } else {
    return hn::Add(hn::Mul(a, b), c);
  }
}

template <class T>
HWY_INLINE void store_row(const PlainGemmArgs<T>& g, const T* sums, int64_t i, int64_t j, int64_t n, bool first) {
  T* c = g.c + i * g.ldc + j;
  for (int64_t x = 0; x < n; ++x) {
    const T product = g.alpha * sums[x];
    c[x] = !first ? c[x] + product : g.beta != T(0) ? product + g.beta * c[x] : product;
  }
}

// R rows from i by two vectors of columns from j, over one block of K.
template <int R, class T, class D>
HWY_INLINE void rows(D d, const PlainGemmArgs<T>& g, const T* b, int64_t depth, int64_t k, int64_t i, int64_t j,
                     int64_t n) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  using V = hn::Vec<D>;
  V sum[R][2];
  const T* a[R];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    sum[r][0] = sum[r][1] = hn::Zero(d);
    a[r] = g.a + (i + r) * g.a_row_stride + k * g.a_k_stride;
  }
  for (int64_t p = 0; p < depth; ++p) {
    const V b0 = hn::Load(d, b + p * 2 * lanes), b1 = hn::Load(d, b + p * 2 * lanes + lanes);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const V x = hn::Set(d, a[r][p * g.a_k_stride]);
      sum[r][0] = mul_add(x, b0, sum[r][0]);
      sum[r][1] = mul_add(x, b1, sum[r][1]);
    }
  }
  HWY_ALIGN T out[2 * HWY_MAX_BYTES / sizeof(T)];
  if (n == 2 * lanes) {
    const V alpha = hn::Set(d, g.alpha), beta = hn::Set(d, g.beta);
    const auto store = [&](V v, T* c) HWY_ATTR {
      const V product = hn::Mul(alpha, v);
      if (k != 0) {
        hn::StoreU(hn::Add(hn::LoadU(d, c), product), d, c);
      } else {
        hn::StoreU(g.beta != T(0) ? hn::Add(product, hn::Mul(beta, hn::LoadU(d, c))) : product, d, c);
      }
    };
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      T* c = g.c + (i + r) * g.ldc + j;
      store(sum[r][0], c);
      store(sum[r][1], c + lanes);
    }
    return;
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    hn::Store(sum[r][0], d, out);
    hn::Store(sum[r][1], d, out + lanes);
    store_row(g, out, i + r, j, n, k == 0);
  }
}

template <class T>
void tile(const PlainGemmArgs<T>& g, int64_t row_begin, int64_t row_end, int64_t col_begin, int64_t col_end) {
  const hn::ScalableTag<T> d;
  const int64_t width = 2 * static_cast<int64_t>(hn::Lanes(d));
  HWY_ALIGN T b[kDepth * 2 * HWY_MAX_BYTES / sizeof(T)];
  for (int64_t j = col_begin; j < col_end; j += width) {
    const int64_t n = col_end - j < width ? col_end - j : width;
    int64_t k = 0;
    do {
      const int64_t depth = g.k - k < kDepth ? g.k - k : kDepth;
      for (int64_t p = 0; p < depth; ++p) {
        const T* from = g.b + (k + p) * g.b_k_stride + j * g.b_n_stride;
        if (g.b_n_stride == 1 && n == width) {
          hn::Store(hn::LoadU(d, from), d, b + p * width);
          hn::Store(hn::LoadU(d, from + width / 2), d, b + p * width + width / 2);
          continue;
        }
        for (int64_t x = 0; x < n; ++x) b[p * width + x] = from[x * g.b_n_stride];
        for (int64_t x = n; x < width; ++x) b[p * width + x] = T(0);
      }
      int64_t i = row_begin;
      for (; i + kRows <= row_end; i += kRows) rows<kRows>(d, g, b, depth, k, i, j, n);
      for (; i < row_end; ++i) rows<1>(d, g, b, depth, k, i, j, n);
      k += depth;
    } while (k < g.k);
  }
}

}  // namespace

constexpr PlainGemmTable kPlainGemmTable = {&tile<double>, &tile<uint32_t>};
}  // namespace trunnion::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trunnion::kernels {
const PlainGemmTable& plain_gemm_table() { TRN_RUNG_TABLE(kPlainGemmTable) }
}  // namespace trunnion::kernels
#endif
