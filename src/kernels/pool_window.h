// Window arithmetic of pooling, shared by its vector and plain kernels.
#pragma once
#include "kernels/pool.h"

namespace trunnion::kernels {

// Outputs [lo, hi) of dimension d have their whole window inside the input; empty ranges have lo == hi.
struct WholeRange {
  int64_t lo, hi;
};
inline WholeRange whole_range(const PoolShape& s, int d) {
  const int64_t span = (s.kernel[d] - 1) * s.dilation[d], last = s.in[d] - 1 - span + s.pad_begin[d];
  int64_t lo = (s.pad_begin[d] + s.stride[d] - 1) / s.stride[d];
  int64_t hi = last < 0 ? 0 : last / s.stride[d] + 1;
  if (hi > s.out[d]) hi = s.out[d];
  if (lo > s.out[d]) lo = s.out[d];
  return {lo, hi < lo ? lo : hi};
}

// ceil(n / d) for n > 0; most dilations are 1, and divisions are what short rows would spend their time on.
inline int64_t ceil_quotient(int64_t n, int64_t d) { return d == 1 ? n : (n - 1) / d + 1; }

// For output position o of dimension d: taps [first, last) inside the input, and the input position of tap 0.
struct Window {
  int64_t first, last, start;
};
inline Window window(const PoolShape& s, int d, int64_t o) {
  const int64_t start = o * s.stride[d] - s.pad_begin[d], dilation = s.dilation[d];
  int64_t first = start < 0 ? ceil_quotient(-start, dilation) : 0;
  int64_t last = start >= s.in[d] ? 0 : ceil_quotient(s.in[d] - start, dilation);
  if (last > s.kernel[d]) last = s.kernel[d];
  if (first > last) first = last;
  return {first, last, start};
}

// What an average counts along dimension d for output position o.
inline int64_t window_count(const PoolShape& s, int d, int64_t o) {
  const Window w = window(s, d, o);
  if (!s.count_include_pad) return w.last - w.first;
  const int64_t room = s.in[d] + s.pad_end[d] - w.start;  // up to the end of the padding
  const int64_t taps = room <= 0 ? 0 : ceil_quotient(room, s.dilation[d]);
  return taps < s.kernel[d] ? taps : s.kernel[d];
}

}  // namespace trunnion::kernels
