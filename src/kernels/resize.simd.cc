// Resize along one axis by a tap table: over inner when it is longer than one element, else by gathers along the row.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/resize.simd.cc"
// clang-format off
#include "kernels/rung_table.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on
#include "kernels/resize.h"

#include "kernels/vec_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace trunnion::kernels::HWY_NAMESPACE {
namespace {

// One output row of `inner` elements: the weighted sum of the tapped input rows.
template <bool kTail>
HWY_INLINE void Blend(DF d, const float* x, float* y, const int32_t* index, const float* weight, int taps, int64_t out,
                      int64_t inner, size_t n) {
  const auto load = [&](int t) HWY_ATTR {
    const float* p = x + index[t * out] * inner;
    return kTail ? LoadTail(d, p, n) : hn::LoadU(d, p);
  };
  VF acc = hn::Mul(load(0), hn::Set(d, weight[0]));
  for (int t = 1; t < taps; ++t) acc = hn::MulAdd(load(t), hn::Set(d, weight[t * out]), acc);
  kTail ? StoreTail(acc, d, y, n) : hn::StoreU(acc, d, y);
}

HWY_INLINE void Rows(DF d, const float* x, float* y, const ResizeTable& table, int64_t inner) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t j = 0; j < table.out; ++j, y += inner) {
    if (!table.outside.empty() && table.outside[static_cast<size_t>(j)]) {
      for (int64_t i = 0; i < inner; ++i) y[i] = table.extrapolation;
      continue;
    }
    const int32_t* index = table.index.data() + j;
    const float* weight = table.weight.data() + j;
    int64_t i = 0;
    for (; i + lanes <= inner; i += lanes)
      Blend<false>(d, x + i, y + i, index, weight, table.taps, table.out, inner, 0);
    if (i < inner) {
      Blend<true>(d, x + i, y + i, index, weight, table.taps, table.out, inner, static_cast<size_t>(inner - i));
    }
  }
}

// inner == 1: neighbouring outputs share a vector.
HWY_INLINE void Elements(DF d, const float* x, float* y, const ResizeTable& table) {
  const DI di;
  const size_t lanes = hn::Lanes(d), out = static_cast<size_t>(table.out);
  size_t j = 0;
  for (; j + lanes <= out; j += lanes) {
    VF acc = hn::Zero(d);
    for (int t = 0; t < table.taps; ++t) {
      const size_t at = static_cast<size_t>(t) * out + j;
      const VF v = hn::GatherIndex(d, x, hn::LoadU(di, table.index.data() + at));
      acc = hn::MulAdd(v, hn::LoadU(d, table.weight.data() + at), acc);
    }
    hn::StoreU(acc, d, y + j);
  }
  for (; j < out; ++j) {
    float acc = 0;
    for (int t = 0; t < table.taps; ++t) {
      const size_t at = static_cast<size_t>(t) * out + j;
      acc += x[table.index[at]] * table.weight[at];
    }
    y[j] = acc;
  }
  for (j = 0; j < table.outside.size(); ++j) {
    if (table.outside[j]) y[j] = table.extrapolation;
  }
}

void Nearest(const float* x, float* y, const ResizeTable& table, int64_t outer, int64_t inner) {
  resize_nearest(x, y, table, outer, inner, sizeof(float));
  if (table.outside.empty()) return;
  for (int64_t row = 0; row < outer * table.out; ++row) {
    if (!table.outside[static_cast<size_t>(row % table.out)]) continue;
    for (int64_t i = 0; i < inner; ++i) y[row * inner + i] = table.extrapolation;
  }
}

// An input row and the neighbouring output rows that show it.
struct NearestRun {
  const uint32_t* x;
  uint32_t* y;
  int64_t copies;
};

// Growing: the elements of one vector of outputs stand within one vector of inputs, at the same places in all rows.
// What cannot be done so is left to the end, one by one.
HWY_INLINE void NearestRows(const NearestRun* runs, int64_t count, const NearestAxis& cols) {
  constexpr int64_t kVectors = 16;
  const hn::ScalableTag<uint32_t> du;
  const DI di;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(du)), out = cols.out;
  const int32_t* index = cols.index;
  HWY_ALIGN int32_t order[kVectors * HWY_MAX_BYTES / sizeof(int32_t)];
  int64_t from[kVectors];
  int64_t j = 0;
  while (cols.in >= lanes && j + lanes <= out) {
    const int64_t last = cols.in - lanes;  // from where a whole vector can be read
    int64_t n = 0;
    for (; n < kVectors && j + (n + 1) * lanes <= out; ++n) {
      const int32_t* at = index + j + n * lanes;
      const int64_t a = at[0], b = at[lanes - 1], low = a < b ? a : b;
      from[n] = low < last ? low : last;
      if ((a < b ? b : a) - from[n] >= lanes) break;
      hn::Store(hn::Sub(hn::LoadU(di, at), hn::Set(di, static_cast<int32_t>(from[n]))), di, order + n * lanes);
    }
    if (n == 0) break;
    for (int64_t r = 0; r < count; ++r) {
      const uint32_t* x = runs[r].x;
      uint32_t* y = runs[r].y + j;
      const int64_t copies = runs[r].copies;
      for (int64_t v = 0; v < n; ++v, y += lanes) {
        const auto places = hn::IndicesFromVec(du, hn::Load(di, order + v * lanes));
        const auto e = hn::TableLookupLanes(hn::LoadU(du, x + from[v]), places);
        hn::StoreU(e, du, y);
        if (copies > 1) hn::StoreU(e, du, y + out);
        for (int64_t k = 2; k < copies; ++k) hn::StoreU(e, du, y + k * out);
      }
    }
    j += n * lanes;
  }
  for (; j < out; ++j) {
    for (int64_t r = 0; r < count; ++r) {
      for (int64_t k = 0; k < runs[r].copies; ++k) runs[r].y[k * out + j] = runs[r].x[index[j]];
    }
  }
}

void NearestWords(const uint32_t* x, uint32_t* y, const NearestAxis& rows, const NearestAxis& cols, int64_t begin,
                  int64_t end) {
  constexpr int64_t kRuns = 16;
  NearestRun runs[kRuns];
  int64_t count = 0, plane = begin / rows.out, row = begin % rows.out;
  for (int64_t i = begin; i < end;) {
    int64_t copies = 1;
    while (i + copies < end && row + copies < rows.out && rows.index[row + copies] == rows.index[row]) ++copies;
    runs[count++] = {x + (plane * rows.in + rows.index[row]) * cols.in, y + i * cols.out, copies};
    i += copies;
    row += copies;
    if (row == rows.out) row = 0, ++plane;
    if (count == kRuns || i == end) {
      NearestRows(runs, count, cols);
      count = 0;
    }
  }
}

void Axis(const float* x, float* y, const ResizeTable& table, int64_t outer, int64_t inner) {
  if (table.weight.empty()) return Nearest(x, y, table, outer, inner);
  const DF d;
  for (int64_t o = 0; o < outer; ++o, x += table.in * inner, y += table.out * inner) {
    if (inner == 1) {
      Elements(d, x, y, table);
    } else {
      Rows(d, x, y, table, inner);
    }
  }
}

}  // namespace

constexpr ResizeKernels kTable = {&Axis, &NearestWords};

}  // namespace trunnion::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trunnion::kernels {
const ResizeKernels& resize() { TRN_RUNG_TABLE(kTable) }
}  // namespace trunnion::kernels
#endif
