// Direct convolution: a vector of output channels of several pixels at a time, its weights loaded once for all of them.
// In small groups a vector spans several groups; its inputs are picked by lane from one load.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv_direct.simd.cc"
#include "kernels/conv_direct.h"

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
constexpr int kMaxLanes = HWY_MAX_BYTES / sizeof(float);
using Indices = decltype(hn::SetTableIndices(df, static_cast<const int32_t*>(nullptr)));
constexpr int kPixels = 8;
#define TRN_EACH_PIXEL _Pragma("GCC unroll 8") for (int p = 0; p < P; ++p)
#define TRN_EACH_VECTOR _Pragma("GCC unroll 8") for (int q = 0; q < Q; ++q)

// Bias and activation only: what most convolutions have.
HWY_INLINE bool is_simple(const DirectArgs& g) {
  const Epilogue& e = *g.epilogue;
  return e.alpha == 1.0f && e.beta == 0.0f && !g.residual;
}

template <Activation kActivation>
void activate_stored(const Epilogue& e, float* sums, int64_t count) {
  for (int64_t i = 0; i < count; i += static_cast<int64_t>(hn::Lanes(df)))
    hn::Store(epilogue::activate(kActivation, hn::Load(df, sums + i), e.a, e.b), df, sums + i);
}

// An activation that does not fit between a tile and its stores.
HWY_NOINLINE void activate_sums(const Epilogue& e, float* sums, int64_t count) {
  epilogue::with_activation(e.activation,
                            [&]<Activation kActivation>() HWY_ATTR { activate_stored<kActivation>(e, sums, count); });
}

// The general epilogue, out of registers: sums holds a vector per pixel.
HWY_NOINLINE void finish_stored(const DirectArgs& g, const float* sums, int64_t pixels, int64_t c, int64_t pixel,
                                int64_t n) {
  const Epilogue& e = *g.epilogue;
  const V bias = e.bias_col ? load_part(e.bias_col + c, n) : hn::Zero(df);
  for (int64_t p = 0; p < pixels; ++p) {
    float* y = g.y + (pixel + p) * g.y_step + c;
    V x = hn::Mul(hn::Load(df, sums + p * hn::Lanes(df)), hn::Set(df, e.alpha));
    if (e.beta != 0.0f) x = hn::MulAdd(hn::Set(df, e.beta), load_part(y, n), x);
    x = hn::Add(x, bias);
    V residual = hn::Zero(df);
    if (g.residual) residual = load_part(g.residual + (pixel + p) * g.residual_step + c, n);
    if (!e.residual_after_activation) x = hn::Add(x, residual);
    x = epilogue::activate(e.activation, x, e.a, e.b);
    if (g.residual && e.residual_after_activation) x = hn::Add(x, residual);
    store_part(y, x, n);
  }
}

// All pixels of a tile.
template <int P>
HWY_INLINE void finish_all(const DirectArgs& g, V* sum, int64_t c, int64_t pixel, int64_t n, V bias) {
  if (!is_simple(g)) {
    HWY_ALIGN float sums[P * kMaxLanes];
    TRN_EACH_PIXEL hn::Store(sum[p], df, sums + p * hn::Lanes(df));
    finish_stored(g, sums, P, c, pixel, n);
    return;
  }
  TRN_EACH_PIXEL sum[p] = hn::Add(sum[p], bias);
  const Epilogue& e = *g.epilogue;
  if (e.activation != Activation::none) {
    const auto zero = hn::Zero(df);
    if (e.activation == Activation::relu) {
      TRN_EACH_PIXEL sum[p] = hn::Max(zero, sum[p]);
    } else if (e.activation == Activation::clip) {
      TRN_EACH_PIXEL sum[p] = epilogue::bound(sum[p], e.a, e.b);
    } else {
      HWY_ALIGN float sums[P * kMaxLanes];
      TRN_EACH_PIXEL hn::Store(sum[p], df, sums + p * hn::Lanes(df));
      activate_sums(e, sums, P * static_cast<int64_t>(hn::Lanes(df)));
      TRN_EACH_PIXEL sum[p] = hn::Load(df, sums + p * hn::Lanes(df));
    }
  }
  float* y = g.y + pixel * g.y_step + c;
  const int64_t step = g.y_step;
  TRN_EACH_PIXEL {
    store_part(y, sum[p], n);
    y += step;
  }
}

// P pixels by Q vectors from channel c (n channels if Q is 1); depthwise with one output channel per input channel.
// P * Q independent sums hide the latency of a multiply-add.
template <int P, int Q>
HWY_INLINE void pixels_plain(const DirectArgs& g, int64_t c, int64_t pixel, int64_t n) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(df));
  V sum[Q][P];
  TRN_EACH_VECTOR TRN_EACH_PIXEL sum[q][p] = hn::Zero(df);
  const float* x = g.x + pixel * g.x_step + c;
  const float* w = g.w + c;
  const int64_t taps = g.taps, step = g.x_step;
  const int64_t *x_offset = g.x_offset, *w_offset = g.w_offset;
  for (int64_t t = 0; t < taps; ++t) {
    const float* from = w + w_offset[t];
    const float* at = x + x_offset[t];
    TRN_EACH_VECTOR {
      const auto weight = load_part(from + q * lanes, n);
      TRN_EACH_PIXEL sum[q][p] = hn::MulAdd(load_part(at + p * step + q * lanes, n), weight, sum[q][p]);
    }
  }
  const float* bias = g.epilogue->bias_col;
  TRN_EACH_VECTOR {
    finish_all<P>(g, sum[q], c + q * lanes, pixel, n, bias ? load_part(bias + c + q * lanes, n) : hn::Zero(df));
  }
}

// The same for groups: lane j of input i is lane_of[i][j] of the load at channel `from`.
template <int P>
HWY_INLINE void pixels_grouped(const DirectArgs& g, int64_t c, int64_t pixel, int64_t n, V bias, int64_t from,
                               int64_t readable, const Indices* lane_of) {
  V sum[P];
  TRN_EACH_PIXEL sum[p] = hn::Zero(df);
  const float* x = g.x + pixel * g.x_step + from;
  const float* w = g.w + c;
  for (int64_t t = 0; t < g.taps; ++t) {
    V in[P];
    TRN_EACH_PIXEL in[p] = load_part(x + g.x_offset[t] + p * g.x_step, readable);
    for (int64_t i = 0; i < g.cin; ++i) {
      const auto weight = load_part(w + g.w_offset[t] + i * g.channels, n);
      TRN_EACH_PIXEL sum[p] = hn::MulAdd(hn::TableLookupLanes(in[p], lane_of[i]), weight, sum[p]);
    }
  }
  finish_all<P>(g, sum, c, pixel, n, bias);
}

// P pixels of all channels: the channels of a pixel follow each other in memory, so this order suits the prefetchers.
template <int P>
HWY_INLINE void channels_plain(const DirectArgs& g, int64_t pixel) {
  constexpr int Q = kPixels / P;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(df));
  int64_t c = g.channel_begin;
  for (; c + Q * lanes <= g.channel_end; c += Q * lanes) pixels_plain<P, Q>(g, c, pixel, lanes);
  if constexpr (Q > 2) {
    for (; c + Q / 2 * lanes <= g.channel_end; c += Q / 2 * lanes) pixels_plain<P, Q / 2>(g, c, pixel, lanes);
  }
  for (; c + lanes <= g.channel_end; c += lanes) pixels_plain<P, 1>(g, c, pixel, lanes);
  if (c == g.channel_end) return;
  for (int p = 0; p < P; ++p) pixels_plain<1, 1>(g, c, pixel + p, g.channel_end - c);
}

void run_plain(const DirectArgs& g) {
  int64_t p = 0;
  for (; p + kPixels <= g.pixels; p += kPixels) channels_plain<kPixels>(g, p);
  if (p + 4 <= g.pixels) channels_plain<4>(g, p), p += 4;
  if (p + 2 <= g.pixels) channels_plain<2>(g, p), p += 2;
  if (p < g.pixels) channels_plain<1>(g, p);
}

void run_grouped(const DirectArgs& g) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(df));
  for (int64_t c = g.channel_begin; c < g.channel_end; c += lanes) {
    const int64_t n = g.channel_end - c < lanes ? g.channel_end - c : lanes;
    const V bias = g.epilogue->bias_col ? load_part(g.epilogue->bias_col + c, n) : hn::Zero(df);
    const int64_t from = c / g.cout * g.cin;
    Indices lane_of[kMaxLanes];
    for (int64_t i = 0; i < g.cin; ++i) {
      HWY_ALIGN int32_t lane[kMaxLanes] = {};
      for (int64_t j = 0; j < n; ++j) lane[j] = static_cast<int32_t>((c + j) / g.cout * g.cin - from + i);
      lane_of[i] = hn::SetTableIndices(df, lane);
    }
    int64_t p = 0;
    if (n == lanes && from + lanes <= g.in_channels) {  // lets the compiler drop the tails
      for (; p + 4 <= g.pixels; p += 4) pixels_grouped<4>(g, c, p, lanes, bias, from, lanes, lane_of);
    }
    for (; p < g.pixels; ++p) pixels_grouped<1>(g, c, p, n, bias, from, g.in_channels - from, lane_of);
  }
}

// One vector of channels of P pixels: every column of a row of the window is loaded once.
template <int KX, int S, int P, bool kWhole>
HWY_INLINE void window_vector(const WindowArgs& g, int64_t c, int64_t n) {
  constexpr int kColumns = (P - 1) * S + KX;
  V sum[P];
  TRN_EACH_PIXEL sum[p] = hn::Zero(df);
  const int64_t step = g.x_step, channels = g.channels, begin = g.column_begin, end = g.column_end;
  for (int64_t row = 0; row < g.taps; ++row) {
    const float* x = g.x + g.x_offset[row] + c;
    const float* w = g.w + g.w_offset[row] + c;
    V in[kColumns];
    _Pragma("GCC unroll 32") for (int i = 0; i < kColumns; ++i) {
      in[i] = kWhole || (i >= begin && i < end) ? load_part(x + i * step, n) : hn::Zero(df);
    }
    _Pragma("GCC unroll 8") for (int k = 0; k < KX; ++k) {
      const V weight = load_part(w + k * channels, n);
      TRN_EACH_PIXEL sum[p] = hn::MulAdd(in[p * S + k], weight, sum[p]);
    }
  }
  const float* bias = g.epilogue->bias_col;
  finish_all<P>(g, sum, c, 0, n, bias ? load_part(bias + c, n) : hn::Zero(df));
}

template <int KX, int S, int P>
void window(const WindowArgs& g) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(df)), last = g.channel_end - lanes;
  int64_t c = g.channel_begin;
  if (g.column_begin <= 0 && g.column_end >= (P - 1) * S + KX) {
    for (; c <= last; c += lanes) window_vector<KX, S, P, true>(g, c, lanes);
  } else {
    for (; c <= last; c += lanes) window_vector<KX, S, P, false>(g, c, lanes);
  }
  if (c < g.channel_end) window_vector<KX, S, P, false>(g, c, g.channel_end - c);
}

template <int KX, int S>
void window_of(const WindowArgs& g) {
  constexpr void (*kBySize[])(const WindowArgs&) = {nullptr,          window<KX, S, 1>, window<KX, S, 2>,
                                                    window<KX, S, 3>, window<KX, S, 4>, window<KX, S, 5>,
                                                    window<KX, S, 6>, window<KX, S, 7>, window<KX, S, 8>};
  kBySize[g.pixels](g);
}

void run_window(const WindowArgs& g) {
  if (g.taps_x == 3) {
    g.stride == 1 ? window_of<3, 1>(g) : window_of<3, 2>(g);
  } else {
    g.stride == 1 ? window_of<5, 1>(g) : window_of<5, 2>(g);
  }
}

#undef TRN_EACH_PIXEL
#undef TRN_EACH_VECTOR

void run(const DirectArgs& g) {
  if (g.cin == 1 && g.cout == 1) {
    run_plain(g);
  } else {
    run_grouped(g);
  }
}

}  // namespace

constexpr DirectTable kDirectTable = {static_cast<int64_t>(HWY_LANES(float)), &run, &run_window};
}  // namespace trunnion::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trunnion::kernels {
const DirectTable& direct_table() { TRN_RUNG_TABLE(kDirectTable) }
bool has_window(int64_t taps_x, int64_t stride) { return (taps_x == 3 || taps_x == 5) && (stride == 1 || stride == 2); }
}  // namespace trunnion::kernels
#endif
