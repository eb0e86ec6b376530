// Window arithmetic of pooling, shared by its vector and plain kernels.
#pragma once
#include "kernels/pool.h"

namespace trunnion::kernels {

// For tap k of dimension d: output positions [lo, hi) whose tap lies inside the input; offset is the tap's input
// position for output 0.
struct TapRange {
  int64_t lo, hi, offset;
};
inline TapRange tap_range(const PoolShape& s, int d, int64_t k) {
  const int64_t offset = k * s.dilation[d] - s.pad_begin[d], last = s.in[d] - 1 - offset;
  int64_t lo = offset < 0 ? (-offset + s.stride[d] - 1) / s.stride[d] : 0;
  int64_t hi = last < 0 ? 0 : last / s.stride[d] + 1;
  if (hi > s.out[d]) hi = s.out[d];
  if (lo > hi) lo = hi;
  return {lo, hi, offset};
}

// For output position o of dimension d: taps [first, last) inside the input, and the input position of tap 0.
struct Window {
  int64_t first, last, start;
};
inline Window window(const PoolShape& s, int d, int64_t o) {
  const int64_t start = o * s.stride[d] - s.pad_begin[d], dilation = s.dilation[d];
  int64_t first = start < 0 ? (-start + dilation - 1) / dilation : 0;
  int64_t last = start >= s.in[d] ? 0 : (s.in[d] - 1 - start) / dilation + 1;
  if (last > s.kernel[d]) last = s.kernel[d];
  if (first > last) first = last;
  return {first, last, start};
}

// What an average counts along dimension d for output position o.
inline int64_t window_count(const PoolShape& s, int d, int64_t o) {
  const Window w = window(s, d, o);
  if (!s.count_include_pad) return w.last - w.first;
  const int64_t room = s.in[d] + s.pad_end[d] - w.start;  // up to the end of the padding
  const int64_t taps = room <= 0 ? 0 : (room - 1) / s.dilation[d] + 1;
  return taps < s.kernel[d] ? taps : s.kernel[d];
}

}  // namespace trunnion::kernels
