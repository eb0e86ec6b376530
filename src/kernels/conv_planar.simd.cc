// Convolution over planes: rows of outputs in registers, several channels (or several rows of one channel) at a time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv_planar.simd.cc"
// clang-format off
#include "kernels/rung_table.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on
#include "kernels/conv_planar_table.h"
#include "kernels/vec_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace trunnion::kernels::HWY_NAMESPACE {
namespace {

// Vectors of outputs at a time: with all channels, what the registers hold.
constexpr int kMostVectors = HWY_TARGET == HWY_AVX3 ? 4 : 2;
constexpr int64_t kLanes = HWY_MAX_BYTES / sizeof(float);
#define TRN_EACH_CHANNEL _Pragma("GCC unroll 8") for (int c = 0; c < C; ++c)
#define TRN_EACH_VECTOR _Pragma("GCC unroll 4") for (int v = 0; v < V; ++v)

HWY_INLINE void StorePart(VF x, float* y, int64_t n) {
  const DF d;
  if (n >= kLanes)
    hn::StoreU(x, d, y);
  else if (n > 0)
    StoreTail(x, d, y, static_cast<size_t>(n));
}

// Outputs [j, j + V vectors) of all channels; kTail: only those below count exist, and x is read no further.
template <int C, int V, bool kTail>
HWY_INLINE void RowBlock(const PlanarRow& g, int64_t j) {
  const DF d;
  VF sum[C][V];
  TRN_EACH_CHANNEL TRN_EACH_VECTOR sum[c][v] = hn::Set(d, g.bias[c]);
  const float* x = g.x + j;
  const float* w = g.w;
  const int64_t* offset = g.offset;
  const int64_t left = g.count - j;
  const bool careful = kTail && !g.padded;
#pragma GCC unroll 1
  for (int64_t k = 0; k < g.taps; ++k, w += C) {
    const float* from = x + offset[k];
    VF in[V];
    TRN_EACH_VECTOR {
      if (careful && left < (v + 1) * kLanes)
        in[v] =
            left > v * kLanes ? LoadTail(d, from + v * kLanes, static_cast<size_t>(left - v * kLanes)) : hn::Zero(d);
      else
        in[v] = hn::LoadU(d, from + v * kLanes);
    }
    TRN_EACH_CHANNEL {
      const VF weight = hn::Set(d, w[c]);
      TRN_EACH_VECTOR sum[c][v] = hn::MulAdd(in[v], weight, sum[c][v]);
    }
  }
  if (!g.paired) {
    TRN_EACH_CHANNEL TRN_EACH_VECTOR {
      if constexpr (kTail)
        StorePart(sum[c][v], g.y[c] + j + v * kLanes, left - v * kLanes);
      else
        hn::StoreU(sum[c][v], d, g.y[c] + j + v * kLanes);
    }
    return;
  }
  if constexpr (C % 2 == 0) {
#pragma GCC unroll 4
    for (int c = 0; c < C; c += 2) {
      TRN_EACH_VECTOR {
        float* to = g.y[c / 2] + 2 * (j + v * kLanes);
        const int64_t n = 2 * (left - v * kLanes);
        if (!kTail || n >= 2 * kLanes) {
          hn::StoreInterleaved2(sum[c][v], sum[c + 1][v], d, to);
        } else {
          HWY_ALIGN float both[2 * kLanes];
          hn::StoreInterleaved2(sum[c][v], sum[c + 1][v], d, both);
          for (int64_t i = 0; i < n; ++i) to[i] = both[i];
        }
      }
    }
  }
}

template <int C, int V>
HWY_INLINE void RowEnd(const PlanarRow& g, int64_t j) {
  if constexpr (V >= 1) {
    if (g.count - j > (V - 1) * kLanes)
      RowBlock<C, V, true>(g, j);
    else
      RowEnd<C, V - 1>(g, j);
  }
}

template <int C>
HWY_NOINLINE void RowOf(const PlanarRow& g) {
  int64_t j = 0;
  for (; j + kMostVectors * kLanes <= g.count; j += kMostVectors * kLanes) RowBlock<C, kMostVectors, false>(g, j);
  if (j < g.count) RowEnd<C, kMostVectors>(g, j);
}

void Row(const PlanarRow& g) {
  switch (g.channels) {
    case 1:
      return RowOf<1>(g);
    case 2:
      return RowOf<2>(g);
    case 3:
      return RowOf<3>(g);
    case 4:
      return RowOf<4>(g);
    case 5:
      return RowOf<5>(g);
    default:
      return RowOf<6>(g);
  }
}

// C rows of V vectors of one plane from column j.
template <int C, int V>
HWY_INLINE void PlaneBlock(const PlanarPlane& g, int64_t row, int64_t j) {
  const DF d;
  VF sum[C][V];
  const VF bias = hn::Set(d, g.bias);
  TRN_EACH_CHANNEL TRN_EACH_VECTOR sum[c][v] = bias;
  const float* x = g.x + row * g.x_step + j;
  const int64_t step = g.x_step, *offset = g.offset;
#pragma GCC unroll 1
  for (int64_t k = 0; k < g.taps; ++k) {
    const VF weight = hn::Set(d, g.w[k]);
    const float* from = x + offset[k];
    TRN_EACH_CHANNEL TRN_EACH_VECTOR {
      sum[c][v] = hn::MulAdd(hn::LoadU(d, from + c * step + v * kLanes), weight, sum[c][v]);
    }
  }
  float* y = g.y + row * g.y_step + j;
  const int64_t left = g.count - j;
  TRN_EACH_CHANNEL {
    TRN_EACH_VECTOR StorePart(sum[c][v], y + v * kLanes, left - v * kLanes);
    y += g.y_step;
  }
}

// The same where rows are neighbours, H kernel rows: every load serves all output rows that it belongs to. The order of
// additions does not depend on C.
template <int H, int C, int V>
HWY_INLINE void NeighbourBlock(const PlanarPlane& g, int64_t row, int64_t j) {
  const DF d;
  VF sum[C][V];
  const VF bias = hn::Set(d, g.bias);
  TRN_EACH_CHANNEL TRN_EACH_VECTOR sum[c][v] = bias;
  const float* x = g.x + row * g.x_step + j;
  const int64_t step = g.x_step, columns = g.kernel_columns;
#pragma GCC unroll 1
  for (int64_t k = 0; k < columns; ++k) {
    VF weight[H];
#pragma GCC unroll 8
    for (int h = 0; h < H; ++h) weight[h] = hn::Set(d, g.w[h * columns + k]);
    const float* from = x + g.offset[k];
#pragma GCC unroll 16
    for (int i = 0; i < C + H - 1; ++i) {
      TRN_EACH_VECTOR {
        const VF in = hn::LoadU(d, from + i * step + v * kLanes);
        TRN_EACH_CHANNEL {
          if (i - c >= 0 && i - c < H) sum[c][v] = hn::MulAdd(in, weight[i - c], sum[c][v]);
        }
      }
    }
  }
  float* y = g.y + row * g.y_step + j;
  const int64_t left = g.count - j;
  TRN_EACH_CHANNEL {
    TRN_EACH_VECTOR StorePart(sum[c][v], y + v * kLanes, left - v * kLanes);
    y += g.y_step;
  }
}

template <int H>
HWY_INLINE void Neighbours(const PlanarPlane& g) {
  for (int64_t j = 0; j < g.count; j += 2 * kLanes) {
    int64_t r = 0;
    if (g.count - j > kLanes) {
      for (; r + 4 <= g.rows; r += 4) NeighbourBlock<H, 4, 2>(g, r, j);
      for (; r < g.rows; ++r) NeighbourBlock<H, 1, 2>(g, r, j);
    } else {
      for (; r + 7 <= g.rows; r += 7) NeighbourBlock<H, 7, 1>(g, r, j);
      for (; r < g.rows; ++r) NeighbourBlock<H, 1, 1>(g, r, j);
    }
  }
}

template <int V>
HWY_INLINE void PlaneColumns(const PlanarPlane& g, int64_t j) {
  int64_t r = 0;
  if constexpr (V == 1) {
    for (; r + 8 <= g.rows; r += 8) PlaneBlock<8, 1>(g, r, j);
  }
  for (; r + 4 <= g.rows; r += 4) PlaneBlock<4, V>(g, r, j);
  if (r + 2 <= g.rows) PlaneBlock<2, V>(g, r, j), r += 2;
  if (r < g.rows) PlaneBlock<1, V>(g, r, j);
}

void Plane(const PlanarPlane& g) {
  if (g.neighbours && g.kernel_rows == 3) return Neighbours<3>(g);
  if (g.neighbours && g.kernel_rows == 5) return Neighbours<5>(g);
  for (int64_t j = 0; j < g.count; j += kMostVectors * kLanes) {
    const int64_t left = g.count - j;
    if (left <= kLanes)
      PlaneColumns<1>(g, j);
    else if (left <= 2 * kLanes)
      PlaneColumns<2>(g, j);
    else if (left <= 3 * kLanes)
      PlaneColumns<3 < kMostVectors ? 3 : kMostVectors>(g, j);
    else
      PlaneColumns<kMostVectors>(g, j);
  }
}
#undef TRN_EACH_CHANNEL
#undef TRN_EACH_VECTOR

void Copy(const float* x, int64_t x_step, float* to, int64_t to_step, int64_t n, int64_t rows) {
  const DF d;
  for (int64_t r = 0; r < rows; ++r, x += x_step, to += to_step) {
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) hn::StoreU(hn::LoadU(d, x + i), d, to + i);
    if (i == n) continue;
    if (n >= kLanes)  // some of them twice
      hn::StoreU(hn::LoadU(d, x + n - kLanes), d, to + n - kLanes);
    else
      for (; i < n; ++i) to[i] = x[i];
  }
}

void Split(const float* x, int64_t x_step, float* even, float* odd, int64_t to_step, int64_t n, int64_t rows) {
  const DF d;
  for (int64_t r = 0; r < rows; ++r, x += x_step, even += to_step, odd += to_step) {
    int64_t i = 0;
    const auto whole = [&](int64_t at) HWY_ATTR {
      const VF a = hn::LoadU(d, x + 2 * at), b = hn::LoadU(d, x + 2 * at + kLanes);
      hn::StoreU(hn::ConcatEven(d, b, a), d, even + at);
      hn::StoreU(hn::ConcatOdd(d, b, a), d, odd + at);
    };
    for (; 2 * (i + kLanes) <= n; i += kLanes) whole(i);
    if (2 * i < n && n >= 2 * kLanes) {  // some of them twice
      i = n / 2 - kLanes;
      whole(i);
      i += kLanes;
    }
    for (; 2 * i < n; ++i) {
      even[i] = x[2 * i];
      if (2 * i + 1 < n) odd[i] = x[2 * i + 1];
    }
  }
}

}  // namespace

constexpr PlanarTable kTable = {kLanes, &Row, &Plane, &Copy, &Split};

}  // namespace trunnion::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trunnion::kernels {
const PlanarTable& planar_table() { TRN_RUNG_TABLE(kTable) }
}  // namespace trunnion::kernels
#endif
