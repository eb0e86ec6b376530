// Where the taps of a convolution read: shared by the plan, the packing and the loops of all algorithms.
#pragma once
#include <cstdint>
#include <numeric>

#include "kernels/conv.h"
#include "kernels/gemm_driver.h"

namespace trunnion::kernels {

inline int64_t conv_ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
inline int64_t conv_round_up(int64_t a, int64_t b) { return conv_ceil_div(a, b) * b; }
inline int64_t conv_taps(const ConvShape& s) { return s.kernel[0] * s.kernel[1] * s.kernel[2]; }
inline int64_t conv_out_pixels(const ConvShape& s) { return s.out[0] * s.out[1] * s.out[2]; }
inline int64_t conv_in_pixels(const ConvShape& s) { return s.in[0] * s.in[1] * s.in[2]; }

// One dimension of a (transposed) convolution: output index o = phase + step * j reads, through tap k, the input
// index first(k) + advance * j, if that exists. A plain convolution has one phase with step 1.
struct TapLine {
  int64_t in, out, kernel, stride, dilation, pad;
  bool transposed;
  int64_t phase;  // transposed: below both stride and out

  int64_t step() const { return transposed && out > 1 ? stride : 1; }
  int64_t advance() const { return transposed ? 1 : stride; }
  int64_t outputs() const { return out > phase ? (out - phase + step() - 1) / step() : 0; }
  // Whether the tap contributes to this phase.
  bool has(int64_t k) const { return !transposed || (phase + pad - k * dilation) % stride == 0; }
  int64_t first(int64_t k) const { return transposed ? (phase + pad - k * dilation) / stride : k * dilation - pad; }
  int64_t taps() const {
    int64_t n = 0;
    for (int64_t k = 0; k < kernel; ++k) n += has(k);
    return n;
  }
  // Taps of the phases before this one.
  int64_t taps_before() const {
    int64_t n = 0;
    for (int64_t k = 0; k < kernel; ++k) {
      const int64_t owner = (k * dilation - pad) % stride;
      n += (owner < 0 ? owner + stride : owner) < phase;
    }
    return n;
  }
};

inline TapLine tap_line(const ConvShape& s, int dim, int64_t phase) {
  return {s.in[dim], s.out[dim], s.kernel[dim], s.stride[dim], s.dilation[dim], s.pad_begin[dim], s.transposed, phase};
}

// The three lines of one phase; phases count z-major.
struct TapLines {
  TapLine z, y, x;
};
inline int64_t conv_phases(const ConvShape& s, int dim) {
  return !s.transposed ? 1 : s.stride[dim] < s.out[dim] ? s.stride[dim] : s.out[dim];
}
inline int64_t conv_phases(const ConvShape& s) { return conv_phases(s, 0) * conv_phases(s, 1) * conv_phases(s, 2); }
inline TapLines tap_lines(const ConvShape& s, int64_t phase) {
  const int64_t ny = conv_phases(s, 1), nx = conv_phases(s, 2);
  return {tap_line(s, 0, phase / (ny * nx)), tap_line(s, 1, phase / nx % ny), tap_line(s, 2, phase % nx)};
}

// Taps of earlier phases, which is where the weights of a phase begin.
inline int64_t taps_before(const ConvShape& s, const TapLines& l) {
  return l.z.taps_before() * s.kernel[1] * s.kernel[2] +
         l.z.taps() * (l.y.taps_before() * s.kernel[2] + l.y.taps() * l.x.taps_before());
}

// The most taps that one phase has in one dimension.
inline int64_t most_taps(const ConvShape& s, int dim) {
  if (!s.transposed) return s.kernel[dim];
  return conv_ceil_div(s.kernel[dim], s.stride[dim] / std::gcd(s.stride[dim], s.dilation[dim]));
}

// The GEMM of one group (or of group_step groups as a block-diagonal one).
struct ConvGemm {
  int64_t groups;  // how many such GEMMs
  int64_t cin, n;  // channels of one: in and out
};
inline ConvGemm conv_gemm(const ConvPlan& p) {
  const ConvShape& s = p.shape;
  return {s.groups / p.group_step, s.cin / s.groups * p.group_step, s.cout / s.groups * p.group_step};
}

// A shape of any rank with leading dimensions of 1 up to rank 3.
ConvShape conv_with_rank_3(const ConvShape& shape);

// The algorithms; each runs one tile.
void conv_indirect_tile(const ConvPlan& plan, const ConvArgs& args, int64_t tile, void* scratch);
void conv_direct_tile(const ConvPlan& plan, const ConvArgs& args, int64_t tile, void* scratch);

// Fills in tiles and scratch.
void conv_indirect_plan(ConvPlan& plan, int threads);
void conv_direct_plan(ConvPlan& plan, int threads);

// Winograd; a unit of packing is one panel of columns in all planes.
void conv_winograd_plan(ConvPlan& plan, int threads);
void conv_winograd_pack(const ConvPlan& plan, const float* weights, int64_t panel, float* packed);
void conv_winograd_tile(const ConvPlan& plan, const ConvArgs& args, int64_t tile, void* scratch);

// On planes of bfloat16; a unit of packing is one panel.
bool conv_split_fits(const ConvShape& shape);
void conv_split_plan(ConvPlan& plan, int threads);
void conv_split_pack(const ConvPlan& plan, const float* weights, int64_t panel, float* packed);
void conv_split_tile(const ConvPlan& plan, const ConvArgs& args, int64_t tile, void* scratch);

// Whether the direct algorithm can and should run this shape.
bool conv_direct_fits(const ConvShape& shape);

}  // namespace trunnion::kernels
