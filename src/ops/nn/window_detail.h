// Window arithmetic of pooling operators: attributes kernel_shape, strides, dilations, pads, auto_pad, ceil_mode.
#pragma once
#include "kernels/pool.h"
#include "ops/op.h"

namespace trunnion::ops {

struct WindowParams {
  enum class AutoPad : uint8_t { notset, valid, same_upper, same_lower };
  std::vector<int64_t> kernel, strides, dilations;  // one entry per spatial dimension
  std::vector<int64_t> pads;                        // begins, then ends
  AutoPad auto_pad = AutoPad::notset;
  bool ceil_mode = false;
  int spatial() const { return static_cast<int>(kernel.size()); }
};

// Refuses missing or contradicting lengths, sizes below 1 and negative pads.
Result<WindowParams> read_window(const ir::Node& node);

// Output size along spatial dimension d; an error when the window does not fit.
Result<Dim> window_output(const WindowParams& p, int d, const Dim& in);

// Padding of spatial dimension d, where auto_pad decides it from the sizes.
struct WindowPads {
  int64_t begin, end;
};
WindowPads window_pads(const WindowParams& p, int d, int64_t in, int64_t out);

// [N, C, D...] -> [N, C, out...]; refuses other ranks.
Result<SymShape> window_shape(const WindowParams& p, const SymShape& x);

// The kernels' description for x and y, both [N, C, D...] with 1 to 3 spatial dimensions.
Result<kernels::PoolShape> pool_shape(const WindowParams& p, std::span<const int64_t> x, std::span<const int64_t> y);

}  // namespace trunnion::ops
