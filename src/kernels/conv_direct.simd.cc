// Direct convolution: a vector of output channels of several pixels at a time, its weights loaded once for all of them.
// In small groups a vector spans several groups; its inputs are picked by lane from one load.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv_direct.simd.cc"
#include "kernels/rung_table.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/conv_direct.h"
#include "kernels/epilogue-inl.h"

HWY_BEFORE_NAMESPACE();
namespace trunnion::kernels::HWY_NAMESPACE {
namespace {

using epilogue::V;
constexpr hn::ScalableTag<float> df;
constexpr int kMaxLanes = HWY_MAX_BYTES / sizeof(float);
using Indices = decltype(hn::SetTableIndices(df, static_cast<const int32_t*>(nullptr)));
constexpr int kPixels = 6;
#define TRN_EACH_PIXEL _Pragma("GCC unroll 8") for (int p = 0; p < P; ++p)

HWY_INLINE V load_part(const float* p, int64_t n) {
  return n >= static_cast<int64_t>(hn::Lanes(df)) ? hn::LoadU(df, p) : epilogue::load_n(p, n);
}

HWY_INLINE void finish(const DirectArgs& g, V x, int64_t c, int64_t pixel, int64_t n, V bias) {
  const Epilogue& e = *g.epilogue;
  float* y = g.y + pixel * g.y_step + c;
  if (e.alpha != 1.0f) x = hn::Mul(x, hn::Set(df, e.alpha));
  if (e.beta != 0.0f) x = hn::MulAdd(hn::Set(df, e.beta), load_part(y, n), x);
  x = hn::Add(x, bias);
  V residual = hn::Zero(df);
  if (g.residual) residual = load_part(g.residual + pixel * g.residual_step + c, n);
  if (g.residual && !e.residual_after_activation) x = hn::Add(x, residual);
  x = epilogue::activate(e.activation, x, e.a, e.b);
  if (g.residual && e.residual_after_activation) x = hn::Add(x, residual);
  if (n >= static_cast<int64_t>(hn::Lanes(df))) {
    hn::StoreU(x, df, y);
  } else {
    epilogue::store_n(y, x, n);
  }
}

// P pixels by one vector of n channels from c; depthwise with one output channel per input channel.
template <int P>
HWY_INLINE void pixels_plain(const DirectArgs& g, int64_t c, int64_t pixel, int64_t n, V bias) {
  V sum[P];
  TRN_EACH_PIXEL sum[p] = hn::Zero(df);
  const float* x = g.x + pixel * g.x_step + c;
  const float* w = g.w + c;
  for (int64_t t = 0; t < g.taps; ++t) {
    const auto weight = load_part(w + g.w_offset[t], n);
    const float* at = x + g.x_offset[t];
    TRN_EACH_PIXEL sum[p] = hn::MulAdd(load_part(at + p * g.x_step, n), weight, sum[p]);
  }
  TRN_EACH_PIXEL finish(g, sum[p], c, pixel + p, n, bias);
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
  TRN_EACH_PIXEL finish(g, sum[p], c, pixel + p, n, bias);
}

void run_plain(const DirectArgs& g) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(df));
  for (int64_t c = g.channel_begin; c < g.channel_end; c += lanes) {
    const int64_t n = g.channel_end - c < lanes ? g.channel_end - c : lanes;
    const V bias = g.epilogue->bias_col ? load_part(g.epilogue->bias_col + c, n) : hn::Zero(df);
    int64_t p = 0;
    if (n == lanes) {  // lets the compiler drop the tails
      for (; p + kPixels <= g.pixels; p += kPixels) pixels_plain<kPixels>(g, c, p, lanes, bias);
      if (p + 4 <= g.pixels) pixels_plain<4>(g, c, p, lanes, bias), p += 4;
      if (p + 2 <= g.pixels) pixels_plain<2>(g, c, p, lanes, bias), p += 2;
      if (p < g.pixels) pixels_plain<1>(g, c, p, lanes, bias);
    } else {
      for (; p < g.pixels; ++p) pixels_plain<1>(g, c, p, n, bias);
    }
  }
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

#undef TRN_EACH_PIXEL

void run(const DirectArgs& g) {
  if (g.cin == 1 && g.cout == 1) {
    run_plain(g);
  } else {
    run_grouped(g);
  }
}

}  // namespace

constexpr DirectTable kDirectTable = {static_cast<int64_t>(HWY_LANES(float)), &run};
}  // namespace trunnion::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trunnion::kernels {
const DirectTable& direct_table() { TRN_RUNG_TABLE(kDirectTable) }
}  // namespace trunnion::kernels
#endif
