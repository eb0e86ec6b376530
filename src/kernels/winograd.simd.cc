// Winograd's transforms: a vector of channels at a time, first down the columns of the tile, then along its rows.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/winograd.simd.cc"
#include "kernels/winograd.h"

#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/epilogue-inl.h"
#include "kernels/rung_table.h"

HWY_BEFORE_NAMESPACE();
namespace trunnion::kernels::HWY_NAMESPACE {
namespace {

using epilogue::load_part;
using epilogue::store_part;
using epilogue::V;
constexpr hn::ScalableTag<float> df;

HWY_INLINE V times(float a, V x) { return hn::Mul(hn::Set(df, a), x); }
HWY_INLINE V plus_times(V sum, float a, V x) { return hn::MulAdd(hn::Set(df, a), x, sum); }

// One dimension of each transform. Values step floats (vectors) apart: columns and rows use the same code.
struct Two {
  static constexpr int kOut = 2, kIn = 4;
  static HWY_INLINE void input(const V* d, int step, V* r) {
    const V d0 = d[0], d1 = d[step], d2 = d[2 * step], d3 = d[3 * step];
    r[0] = hn::Sub(d0, d2);
    r[1] = hn::Add(d1, d2);
    r[2] = hn::Sub(d2, d1);
    r[3] = hn::Sub(d1, d3);
  }
  static HWY_INLINE void output(const V* s, int step, V* y) {
    const V s1 = s[step], s2 = s[2 * step];
    y[0] = hn::Add(hn::Add(s[0], s1), s2);
    y[1] = hn::Sub(hn::Sub(s1, s2), s[3 * step]);
  }
  static HWY_INLINE void weights(V g0, V g1, V g2, V* u) {
    const V sum = times(0.5f, hn::Add(g0, g2)), half = times(0.5f, g1);
    u[0] = g0;
    u[1] = hn::Add(sum, half);
    u[2] = hn::Sub(sum, half);
    u[3] = g2;
  }
};

struct Four {
  static constexpr int kOut = 4, kIn = 6;
  static HWY_INLINE void input(const V* d, int step, V* r) {
    const V d0 = d[0], d1 = d[step], d2 = d[2 * step], d3 = d[3 * step], d4 = d[4 * step], d5 = d[5 * step];
    const V odd = hn::Sub(d3, d1), even = hn::Sub(d4, d2);
    r[0] = plus_times(plus_times(hn::Add(d0, d4), -2.0f, d2), 1.5f, odd);
    r[1] = hn::Add(plus_times(d4, 0.5f, d2), plus_times(hn::Neg(d1), 2.5f, d3));
    r[2] = hn::Add(plus_times(d4, -2.5f, d2), plus_times(d1, 0.5f, d3));
    r[3] = plus_times(even, 2.0f, odd);
    r[4] = plus_times(even, -0.5f, odd);
    r[5] = plus_times(plus_times(hn::Add(d1, d5), -2.0f, d3), 1.5f, even);
  }
  static HWY_INLINE void output(const V* s, int step, V* y) {
    const V s1 = s[step], s2 = s[2 * step], s3 = s[3 * step], s4 = s[4 * step];
    const V sum = hn::Add(s1, s2), difference = hn::Sub(s1, s2);
    y[0] = hn::Add(hn::Add(s[0], sum), hn::Add(s3, s4));
    y[1] = plus_times(plus_times(difference, 0.5f, s3), -2.0f, s4);
    y[2] = plus_times(plus_times(sum, 0.25f, s3), 4.0f, s4);
    y[3] = hn::Add(plus_times(plus_times(difference, 0.125f, s3), -8.0f, s4), s[5 * step]);
  }
  static HWY_INLINE void weights(V g0, V g1, V g2, V* u) {
    const V sum = hn::Add(g0, g2);
    u[0] = g0;
    u[1] = times(1.0f / 3.0f, hn::Add(sum, g1));
    u[2] = times(-1.0f / 3.0f, hn::Sub(sum, g1));
    u[3] = times(-4.0f / 15.0f, plus_times(plus_times(g2, 2.0f, g1), 4.0f, g0));
    u[4] = times(1.0f / 15.0f, plus_times(plus_times(g0, -2.0f, g1), 4.0f, g2));
    u[5] = g2;
  }
};

// One vector of channels of the tile.
template <class T>
HWY_INLINE void input_at(const float* const* x, int64_t c, float* v, int64_t plane) {
  constexpr int kA = T::kIn;
  V columns[kA * kA];  // [j][i]
#pragma GCC unroll 6
  for (int j = 0; j < kA; ++j) {
    V d[kA];
#pragma GCC unroll 6
    for (int i = 0; i < kA; ++i) d[i] = hn::LoadU(df, x[i * kA + j] + c);
    T::input(d, 1, columns + j * kA);
  }
#pragma GCC unroll 6
  for (int i = 0; i < kA; ++i) {
    V r[kA];
    T::input(columns + i, kA, r);
#pragma GCC unroll 6
    for (int j = 0; j < kA; ++j) hn::StoreU(r[j], df, v + (i * kA + j) * plane + c);
  }
}

template <class T>
void input(const float* const* x, int64_t channels, float* v, int64_t plane) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(df));
  int64_t c = 0;
  for (; c + lanes <= channels; c += lanes) input_at<T>(x, c, v, plane);
  // The last vector may do channels again: at least as many as a vector has are there.
  if (c < channels) input_at<T>(x, channels - lanes, v, plane);
}

template <class T>
void weights(const float* taps, int64_t width, float* u, int64_t plane) {
  constexpr int kA = T::kIn;
  for (int64_t c = 0; c < width; c += static_cast<int64_t>(hn::Lanes(df))) {
    V columns[3 * kA];  // [j][i]
#pragma GCC unroll 3
    for (int j = 0; j < 3; ++j) {
      T::weights(hn::LoadU(df, taps + j * width + c), hn::LoadU(df, taps + (3 + j) * width + c),
                 hn::LoadU(df, taps + (6 + j) * width + c), columns + j * kA);
    }
#pragma GCC unroll 6
    for (int i = 0; i < kA; ++i) {
      V r[kA];
      T::weights(columns[i], columns[kA + i], columns[2 * kA + i], r);
#pragma GCC unroll 6
      for (int j = 0; j < kA; ++j) hn::StoreU(r[j], df, u + (i * kA + j) * plane + c);
    }
  }
}

template <class T>
HWY_INLINE void outputs_at(const float* sums, int64_t plane, V* y) {
  constexpr int kA = T::kIn, kM = T::kOut;
  V columns[kA * kM];  // [j][i]
#pragma GCC unroll 6
  for (int j = 0; j < kA; ++j) {
    V s[kA];
#pragma GCC unroll 6
    for (int i = 0; i < kA; ++i) s[i] = hn::LoadU(df, sums + (i * kA + j) * plane);
    T::output(s, 1, columns + j * kM);
  }
#pragma GCC unroll 4
  for (int i = 0; i < kM; ++i) T::output(columns + i, kM, y + i * kM);
}

// Bias, residual and bounds before or without anything else: what nearly all convolutions have.
HWY_INLINE bool is_simple(const Epilogue& e) {
  return e.alpha == 1.0f && e.beta == 0.0f && !(e.residual && e.residual_after_activation) &&
         (e.activation == Activation::none || e.activation == Activation::relu || e.activation == Activation::clip);
}

template <class T, bool kSimple>
void output_as(const WinogradOutput& o) {
  constexpr int kOutputs = T::kOut * T::kOut;
  const Epilogue& e = *o.epilogue;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(df));
  for (int64_t c = 0; c < o.cols; c += lanes) {
    const int64_t n = o.cols - c, at = o.col + c;
    const V bias = e.bias_col ? load_part(e.bias_col + at, n) : hn::Zero(df);
    V y[kOutputs];
    outputs_at<T>(o.sums + c, o.plane, y);
#pragma GCC unroll 16
    for (int i = 0; i < kOutputs; ++i) {
      const int64_t pixel = o.pixels[i];
      if (pixel < 0) continue;
      float* to = o.y + pixel * o.y_pixel_stride + at;
      V x = y[i];
      if (kSimple) {
        x = hn::Add(x, bias);
        if (e.residual) x = hn::Add(x, load_part(e.residual + pixel * e.residual_ld + at, n));
        if (e.activation == Activation::relu) {
          x = hn::Max(hn::Zero(df), x);
        } else if (e.activation == Activation::clip) {
          x = epilogue::bound(x, e.a, e.b);
        }
      } else {
        x = hn::Mul(x, hn::Set(df, e.alpha));
        if (e.beta != 0.0f) x = hn::MulAdd(hn::Set(df, e.beta), load_part(to, n), x);
        x = hn::Add(x, bias);
        V residual = hn::Zero(df);
        if (e.residual) residual = load_part(e.residual + pixel * e.residual_ld + at, n);
        if (e.residual && !e.residual_after_activation) x = hn::Add(x, residual);
        x = epilogue::activate(e.activation, x, e.a, e.b);
        if (e.residual && e.residual_after_activation) x = hn::Add(x, residual);
      }
      store_part(to, x, n);
    }
  }
}

template <class T>
void output(const WinogradOutput& o) {
  if (is_simple(*o.epilogue)) {
    output_as<T, true>(o);
  } else {
    output_as<T, false>(o);
  }
}

}  // namespace

constexpr WinogradTable kWinogradTable = {{&input<Two>, &output<Two>, &weights<Two>},
                                          {&input<Four>, &output<Four>, &weights<Four>}};

}  // namespace trunnion::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trunnion::kernels {
const WinogradTable& winograd_table() { TRN_RUNG_TABLE(kWinogradTable) }
}  // namespace trunnion::kernels
#endif
