// Softmax by row (max, exp and sum, scale: three passes over a row that stays in L1) and along a strided axis (the
// same by columns, a vector of columns at a time).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/softmax.simd.cc"
#include <cmath>
#include <limits>
// clang-format off
#include "kernels/rung_table.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on
#include "kernels/softmax.h"
#include "kernels/transpose.h"
#include "kernels/vec_reduce-inl.h"

HWY_BEFORE_NAMESPACE();
namespace trunnion::kernels::HWY_NAMESPACE {
namespace {

// y = e^(x - max); returns the sum.
HWY_INLINE float ExpAndSum(DF d, const float* x, float* y, size_t n, float max) {
  const size_t lanes = hn::Lanes(d);
  const VF center = hn::Set(d, max);
  VF s0 = hn::Zero(d), s1 = s0;
  size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const VF e0 = ExpFlush(d, hn::Sub(hn::LoadU(d, x + i), center));
    const VF e1 = ExpFlush(d, hn::Sub(hn::LoadU(d, x + i + lanes), center));
    hn::StoreU(e0, d, y + i);
    hn::StoreU(e1, d, y + i + lanes);
    s0 = hn::Add(s0, e0);
    s1 = hn::Add(s1, e1);
  }
  for (; i + lanes <= n; i += lanes) {
    const VF e = ExpFlush(d, hn::Sub(hn::LoadU(d, x + i), center));
    hn::StoreU(e, d, y + i);
    s0 = hn::Add(s0, e);
  }
  if (i < n) {
    const VF e = ExpFlush(d, hn::Sub(LoadTail(d, x + i, n - i), center));
    StoreTail(e, d, y + i, n - i);
    s1 = hn::Add(s1, hn::IfThenElseZero(hn::FirstN(d, n - i), e));
  }
  return SumLanes(d, hn::Add(s0, s1));
}

HWY_INLINE void Scale(DF d, float* y, size_t n, float factor) {
  const size_t lanes = hn::Lanes(d);
  const VF f = hn::Set(d, factor);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(hn::Mul(hn::LoadU(d, y + i), f), d, y + i);
  if (i < n) StoreTail(hn::Mul(LoadTail(d, y + i, n - i), f), d, y + i, n - i);
}

void Rows(const float* x, float* y, int64_t rows, int64_t cols) {
  const DF d;
  const size_t n = static_cast<size_t>(cols);
  for (int64_t r = 0; r < rows; ++r, x += cols, y += cols) {
    const float max = MaxRange(d, x, n);
    Scale(d, y, n, 1.0f / ExpAndSum(d, x, y, n, max));
  }
}

void LogRows(const float* x, float* y, int64_t rows, int64_t cols) {
  const DF d;
  const size_t n = static_cast<size_t>(cols), lanes = hn::Lanes(d);
  for (int64_t r = 0; r < rows; ++r, x += cols, y += cols) {
    const float max = MaxRange(d, x, n);
    const VF center = hn::Set(d, max);
    const VF log_sum = hn::Set(d, std::log(SumRange(d, x, n, ExpFromMap{center})));
    size_t i = 0;
    for (; i + lanes <= n; i += lanes) {
      hn::StoreU(hn::Sub(hn::Sub(hn::LoadU(d, x + i), center), log_sum), d, y + i);
    }
    if (i < n) StoreTail(hn::Sub(hn::Sub(LoadTail(d, x + i, n - i), center), log_sum), d, y + i, n - i);
  }
}

void Attention(float* x, const float* mask, int64_t rows, int64_t cols, int64_t stride, int64_t mask_stride,
               float scale) {
  const DF d;
  const size_t n = static_cast<size_t>(cols), lanes = hn::Lanes(d);
  const VF factor = hn::Set(d, scale), low = hn::Neg(hn::Inf(d));
  for (int64_t r = 0; r < rows; ++r, x += stride) {
    VF m = low;
    size_t i = 0;
    if (mask) {
      for (; i + lanes <= n; i += lanes) {
        const VF v = hn::MulAdd(hn::LoadU(d, x + i), factor, hn::LoadU(d, mask + i));
        hn::StoreU(v, d, x + i);
        m = hn::Max(v, m);
      }
      if (i < n) {
        const VF v = hn::MulAdd(LoadTail(d, x + i, n - i), factor, LoadTail(d, mask + i, n - i));
        StoreTail(v, d, x + i, n - i);
        m = hn::Max(hn::IfThenElse(hn::FirstN(d, n - i), v, low), m);
      }
      mask += mask_stride;
    } else {
      for (; i + lanes <= n; i += lanes) {
        const VF v = hn::Mul(hn::LoadU(d, x + i), factor);
        hn::StoreU(v, d, x + i);
        m = hn::Max(v, m);
      }
      if (i < n) {
        const VF v = hn::Mul(LoadTail(d, x + i, n - i), factor);
        StoreTail(v, d, x + i, n - i);
        m = hn::Max(hn::IfThenElse(hn::FirstN(d, n - i), v, low), m);
      }
    }
    const float max = MaxLanes(d, m);
    if (max == -std::numeric_limits<float>::infinity()) {
      for (size_t k = 0; k < n; ++k) x[k] = x[k] == max ? 0.0f : x[k];  // NaN stays
      continue;
    }
    Scale(d, x, n, 1.0f / ExpAndSum(d, x, x, n, max));
  }
}

// Rows that are added up before they meet the sum of those before: bounds the growth of the rounding error.
constexpr int64_t kSumRows = 128;

// `count` columns, fewer than a vector has: axis elements, `inner` apart.
template <bool kLog>
HWY_INLINE void Columns(DF d, const float* x, float* y, int64_t axis, int64_t inner, size_t count) {
  const auto load = [&](const float* p) HWY_ATTR { return LoadTail(d, p, count); };
  const auto store = [&](VF v, float* p) HWY_ATTR { StoreTail(v, d, p, count); };
  VF max = hn::Neg(hn::Inf(d));
  for (int64_t k = 0; k < axis; ++k) max = hn::Max(load(x + k * inner), max);
  VF sum = hn::Zero(d);
  for (int64_t at = 0; at < axis; at += kSumRows) {
    VF part = hn::Zero(d);
    for (int64_t k = at; k < axis && k < at + kSumRows; ++k) {
      const VF e = ExpFlush(d, hn::Sub(load(x + k * inner), max));
      if constexpr (!kLog) store(e, y + k * inner);
      part = hn::Add(part, e);
    }
    sum = hn::Add(sum, part);
  }
  if constexpr (kLog) {
    const VF log_sum = Log(d, sum);
    for (int64_t k = 0; k < axis; ++k) store(hn::Sub(hn::Sub(load(x + k * inner), max), log_sum), y + k * inner);
  } else {
    const VF factor = hn::Div(hn::Set(d, 1.0f), sum);
    for (int64_t k = 0; k < axis; ++k) store(hn::Mul(load(y + k * inner), factor), y + k * inner);
  }
}

// Whole vectors of columns by rows of a block of them, so that memory is read in its order; the arithmetic is that of
// Columns. Returns how many columns were done.
template <bool kLog>
HWY_INLINE int64_t WideColumns(DF d, const float* x, float* y, int64_t axis, int64_t inner) {
  constexpr int64_t kBlock = 256;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  HWY_ALIGN float max[kBlock], sum[kBlock], part[kBlock];
  int64_t c = 0;
  while (inner - c >= lanes) {
    const int64_t n = (inner - c < kBlock ? inner - c : kBlock) / lanes * lanes;
    for (int64_t i = 0; i < n; i += lanes) {
      hn::Store(hn::Neg(hn::Inf(d)), d, max + i);
      hn::Store(hn::Zero(d), d, sum + i);
    }
    for (int64_t k = 0; k < axis; ++k) {
      for (int64_t i = 0; i < n; i += lanes)
        hn::Store(hn::Max(hn::LoadU(d, x + k * inner + c + i), hn::Load(d, max + i)), d, max + i);
    }
    for (int64_t first = 0; first < axis; first += kSumRows) {
      for (int64_t i = 0; i < n; i += lanes) hn::Store(hn::Zero(d), d, part + i);
      for (int64_t k = first; k < axis && k < first + kSumRows; ++k) {
        for (int64_t i = 0; i < n; i += lanes) {
          const int64_t at = k * inner + c + i;
          const VF e = ExpFlush(d, hn::Sub(hn::LoadU(d, x + at), hn::Load(d, max + i)));
          if constexpr (!kLog) hn::StoreU(e, d, y + at);
          hn::Store(hn::Add(hn::Load(d, part + i), e), d, part + i);
        }
      }
      for (int64_t i = 0; i < n; i += lanes)
        hn::Store(hn::Add(hn::Load(d, sum + i), hn::Load(d, part + i)), d, sum + i);
    }
    for (int64_t i = 0; i < n; i += lanes) {
      const VF s = hn::Load(d, sum + i);
      hn::Store(kLog ? Log(d, s) : hn::Div(hn::Set(d, 1.0f), s), d, sum + i);
    }
    for (int64_t k = 0; k < axis; ++k) {
      for (int64_t i = 0; i < n; i += lanes) {
        const int64_t at = k * inner + c + i;
        const VF s = hn::Load(d, sum + i);
        if constexpr (kLog) {
          hn::StoreU(hn::Sub(hn::Sub(hn::LoadU(d, x + at), hn::Load(d, max + i)), s), d, y + at);
        } else {
          hn::StoreU(hn::Mul(hn::LoadU(d, y + at), s), d, y + at);
        }
      }
    }
    c += n;
  }
  return c;
}

// Elements of one (axis, inner) that are turned on the stack.
constexpr int64_t kTurned = 8192;

template <bool kLog>
void Strided(const float* x, float* y, int64_t outer, int64_t axis, int64_t inner) {
  if (inner == 1) return kLog ? LogRows(x, y, outer, axis) : Rows(x, y, outer, axis);
  const DF d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t o = 0; o < outer; ++o, x += axis * inner, y += axis * inner) {
    if (inner < lanes && axis * inner <= kTurned) {  // few columns are rows the other way round
      HWY_ALIGN float turned[kTurned];
      transpose_2d_f32(x, inner, turned, axis, axis, inner);
      kLog ? LogRows(turned, turned, inner, axis) : Rows(turned, turned, inner, axis);
      transpose_2d_f32(turned, axis, y, inner, inner, axis);
      continue;
    }
    const int64_t i = WideColumns<kLog>(d, x, y, axis, inner);
    if (i < inner) Columns<kLog>(d, x + i, y + i, axis, inner, static_cast<size_t>(inner - i));
  }
}

}  // namespace

constexpr SoftmaxKernels kTable = {&Rows, &LogRows, &Strided<false>, &Strided<true>, &Attention};

}  // namespace trunnion::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trunnion::kernels {

const SoftmaxKernels& softmax() { TRN_RUNG_TABLE(kTable) }

void softmax_f64(const double* x, double* y, int64_t outer, int64_t axis, int64_t inner, bool log) {
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      const double* in = x + o * axis * inner + i;
      double* out = y + o * axis * inner + i;
      double max = -std::numeric_limits<double>::infinity(), sum = 0;
      for (int64_t k = 0; k < axis; ++k) max = in[k * inner] > max ? in[k * inner] : max;
      for (int64_t k = 0; k < axis; ++k) sum += std::exp(in[k * inner] - max);
      const double log_sum = std::log(sum);
      for (int64_t k = 0; k < axis; ++k) {
        const double shifted = in[k * inner] - max;
        out[k * inner] = log ? shifted - log_sum : std::exp(shifted) / sum;
      }
    }
  }
}

}  // namespace trunnion::kernels
#endif
