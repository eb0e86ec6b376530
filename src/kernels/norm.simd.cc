// Row norms (two passes for mean and variance, one to write), moments and per-channel scale and shift.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/norm.simd.cc"
#include <cmath>
#include <limits>
// clang-format off
#include "kernels/rung_table.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on
#include "kernels/norm.h"
#include "kernels/vec_reduce-inl.h"

HWY_BEFORE_NAMESPACE();
namespace trunnion::kernels::HWY_NAMESPACE {
namespace {

// y = (x - mean) * inv * scale + bias over one row; each of scale and bias is there or not.
template <bool kScale, bool kBias>
HWY_INLINE void WriteRow(DF d, const float* x, const float* scale, const float* bias, float* y, size_t n, float mean,
                         float inv) {
  const size_t lanes = hn::Lanes(d);
  const VF m = hn::Set(d, mean), f = hn::Set(d, inv);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    VF v = hn::Mul(hn::Sub(hn::LoadU(d, x + i), m), f);
    if constexpr (kScale && kBias) v = hn::MulAdd(v, hn::LoadU(d, scale + i), hn::LoadU(d, bias + i));
    if constexpr (kScale && !kBias) v = hn::Mul(v, hn::LoadU(d, scale + i));
    if constexpr (!kScale && kBias) v = hn::Add(v, hn::LoadU(d, bias + i));
    hn::StoreU(v, d, y + i);
  }
  if (i < n) {
    VF v = hn::Mul(hn::Sub(LoadTail(d, x + i, n - i), m), f);
    if constexpr (kScale) v = hn::Mul(v, LoadTail(d, scale + i, n - i));
    if constexpr (kBias) v = hn::Add(v, LoadTail(d, bias + i, n - i));
    StoreTail(v, d, y + i, n - i);
  }
}

HWY_INLINE void WriteRowAny(DF d, const float* x, const float* scale, const float* bias, float* y, size_t n, float mean,
                            float inv) {
  if (scale && bias) return WriteRow<true, true>(d, x, scale, bias, y, n, mean, inv);
  if (scale) return WriteRow<true, false>(d, x, scale, bias, y, n, mean, inv);
  if (bias) return WriteRow<false, true>(d, x, scale, bias, y, n, mean, inv);
  WriteRow<false, false>(d, x, scale, bias, y, n, mean, inv);
}

HWY_INLINE void RowMoments(DF d, const float* x, size_t n, float* mean, float* var) {
  const float count = static_cast<float>(n);
  *mean = SumRange(d, x, n, SameMap()) / count;
  *var = SumRange(d, x, n, SquareFromMap{hn::Set(d, *mean)}) / count;
}

void Layer(const float* x, const float* scale, const float* bias, float* y, float* mean, float* inv_std, int64_t rows,
           int64_t cols, float eps) {
  const DF d;
  const size_t n = static_cast<size_t>(cols);
  for (int64_t r = 0; r < rows; ++r, x += cols, y += cols) {
    float m, v;
    RowMoments(d, x, n, &m, &v);
    const float inv = 1.0f / std::sqrt(v + eps);
    WriteRowAny(d, x, scale, bias, y, n, m, inv);
    if (mean) mean[r] = m;
    if (inv_std) inv_std[r] = inv;
  }
}

void Rms(const float* x, const float* scale, float* y, float* inv_rms, int64_t rows, int64_t cols, float eps) {
  const DF d;
  const size_t n = static_cast<size_t>(cols);
  for (int64_t r = 0; r < rows; ++r, x += cols, y += cols) {
    const float inv = 1.0f / std::sqrt(SumRange(d, x, n, SquareMap()) / static_cast<float>(n) + eps);
    WriteRowAny(d, x, scale, nullptr, y, n, 0.0f, inv);
    if (inv_rms) inv_rms[r] = inv;
  }
}

// s = x + skip + bias over one row.
HWY_INLINE void AddRow(DF d, const float* x, const float* skip, const float* bias, float* s, size_t n) {
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    VF v = hn::Add(hn::LoadU(d, x + i), hn::LoadU(d, skip + i));
    if (bias) v = hn::Add(v, hn::LoadU(d, bias + i));
    hn::StoreU(v, d, s + i);
  }
  if (i < n) {
    VF v = hn::Add(LoadTail(d, x + i, n - i), LoadTail(d, skip + i, n - i));
    if (bias) v = hn::Add(v, LoadTail(d, bias + i, n - i));
    StoreTail(v, d, s + i, n - i);
  }
}

void Skip(const float* x, const float* skip, const float* add_bias, const float* scale, const float* bias, float* y,
          float* sum, float* mean, float* inv_std, int64_t rows, int64_t cols, int64_t skip_rows, float eps, bool rms) {
  const DF d;
  const size_t n = static_cast<size_t>(cols);
  for (int64_t r = 0; r < rows; ++r, x += cols, y += cols) {
    // The row's sum lives in `sum`, or else in y, which is then normalized in place.
    float* s = sum ? sum + r * cols : y;
    AddRow(d, x, skip + (r % skip_rows) * cols, add_bias, s, n);
    if (rms) {
      Rms(s, scale, y, inv_std ? inv_std + r : nullptr, 1, cols, eps);
      if (mean) mean[r] = 0;
    } else {
      Layer(s, scale, bias, y, mean ? mean + r : nullptr, inv_std ? inv_std + r : nullptr, 1, cols, eps);
    }
  }
}

void Lp(const float* x, float* y, int64_t rows, int64_t cols, int p) {
  const DF d;
  const size_t n = static_cast<size_t>(cols);
  for (int64_t r = 0; r < rows; ++r, x += cols, y += cols) {
    const float norm = p == 1 ? SumRange(d, x, n, AbsMap()) : std::sqrt(SumRange(d, x, n, SquareMap()));
    WriteRow<false, false>(d, x, nullptr, nullptr, y, n, 0.0f, norm == 0 ? 0.0f : 1.0f / norm);
  }
}

void Moments(const float* x, int64_t n, float* mean, float* var) {
  RowMoments(DF(), x, static_cast<size_t>(n), mean, var);
}

// One vector of columns; n lanes of it count.
template <bool kTail>
HWY_INLINE void ColumnMoments(DF d, const float* x, int64_t rows, int64_t stride, float* mean, float* var, size_t n) {
  const auto load = [&](const float* p) HWY_ATTR { return kTail ? LoadTail(d, p, n) : hn::LoadU(d, p); };
  const auto store = [&](VF v, float* p) HWY_ATTR { kTail ? StoreTail(v, d, p, n) : hn::StoreU(v, d, p); };
  constexpr int64_t kChunk = 64;
  const VF count = hn::Set(d, static_cast<float>(rows));
  VF total = hn::Zero(d);
  for (int64_t at = 0; at < rows; at += kChunk) {
    const int64_t end = at + kChunk < rows ? at + kChunk : rows;
    VF s = hn::Zero(d);
    for (int64_t r = at; r < end; ++r) s = hn::Add(s, load(x + r * stride));
    total = hn::Add(total, s);
  }
  const VF m = hn::Div(total, count);
  total = hn::Zero(d);
  for (int64_t at = 0; at < rows; at += kChunk) {
    const int64_t end = at + kChunk < rows ? at + kChunk : rows;
    VF s = hn::Zero(d);
    for (int64_t r = at; r < end; ++r) {
      const VF c = hn::Sub(load(x + r * stride), m);
      s = hn::MulAdd(c, c, s);
    }
    total = hn::Add(total, s);
  }
  store(m, mean);
  store(hn::Div(total, count), var);
}

void MomentsColumns(const float* x, int64_t rows, int64_t cols, int64_t stride, float* mean, float* var) {
  const DF d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= cols; i += lanes) ColumnMoments<false>(d, x + i, rows, stride, mean + i, var + i, 0);
  if (i < cols) ColumnMoments<true>(d, x + i, rows, stride, mean + i, var + i, static_cast<size_t>(cols - i));
}

void ScaleShift(const float* x, float* y, int64_t count, float scale, float shift) {
  const DF d;
  const size_t lanes = hn::Lanes(d), n = static_cast<size_t>(count);
  const VF f = hn::Set(d, scale), s = hn::Set(d, shift);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(hn::MulAdd(hn::LoadU(d, x + i), f, s), d, y + i);
  if (i < n) StoreTail(hn::MulAdd(LoadTail(d, x + i, n - i), f, s), d, y + i, n - i);
}

void ScaleShiftColumns(const float* x, float* y, int64_t rows, int64_t cols, const float* scale, const float* shift) {
  const DF d;
  const size_t lanes = hn::Lanes(d), n = static_cast<size_t>(cols);
  for (int64_t r = 0; r < rows; ++r, x += cols, y += cols) {
    size_t i = 0;
    for (; i + lanes <= n; i += lanes) {
      const VF f = hn::LoadU(d, scale + i), v = hn::LoadU(d, x + i);
      hn::StoreU(shift ? hn::MulAdd(v, f, hn::LoadU(d, shift + i)) : hn::Mul(v, f), d, y + i);
    }
    if (i < n) {
      const VF f = LoadTail(d, scale + i, n - i), v = LoadTail(d, x + i, n - i);
      StoreTail(shift ? hn::MulAdd(v, f, LoadTail(d, shift + i, n - i)) : hn::Mul(v, f), d, y + i, n - i);
    }
  }
}

}  // namespace

constexpr NormKernels kTable = {&Layer, &Rms, &Skip, &Lp, &Moments, &MomentsColumns, &ScaleShift, &ScaleShiftColumns};

}  // namespace trunnion::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trunnion::kernels {

const NormKernels& norm() { TRN_RUNG_TABLE(kTable) }

void fold_batch_norm(const float* scale, const float* bias, const float* mean, const float* var, float eps,
                     int64_t channels, float* scale_out, float* shift_out) {
  for (int64_t c = 0; c < channels; ++c) {
    const double factor = (scale ? scale[c] : 1.0) / std::sqrt(static_cast<double>(var[c]) + eps);
    scale_out[c] = static_cast<float>(factor);
    shift_out[c] = static_cast<float>((bias ? bias[c] : 0.0) - mean[c] * factor);
  }
}

void lrn(const float* x, float* y, int64_t channels, int64_t plane, int64_t size, float alpha, float beta, float k) {
  const int64_t before = (size - 1) / 2, after = size - 1 - before;
  for (int64_t c = 0; c < channels; ++c) {
    const int64_t first = c - before < 0 ? 0 : c - before, last = c + after < channels ? c + after : channels - 1;
    float* out = y + c * plane;
    for (int64_t i = 0; i < plane; ++i) out[i] = 0;
    for (int64_t w = first; w <= last; ++w) {
      const float* in = x + w * plane;
      for (int64_t i = 0; i < plane; ++i) out[i] += in[i] * in[i];
    }
    const float* in = x + c * plane;
    const float factor = alpha / static_cast<float>(size);
    if (beta == 0.75f) {  // the usual one
      for (int64_t i = 0; i < plane; ++i) {
        const float root = std::sqrt(k + factor * out[i]);
        out[i] = in[i] / (root * std::sqrt(root));
      }
    } else {
      for (int64_t i = 0; i < plane; ++i) out[i] = in[i] / std::pow(k + factor * out[i], beta);
    }
  }
}

}  // namespace trunnion::kernels
#endif
