#include "ops/nn/window_detail.h"

#include <algorithm>
#include <limits>

namespace trunnion::ops {
namespace {

// Sizes above this could overflow in sums and products of two of them.
constexpr int64_t kMaxSize = int64_t{1} << 31;

Status check(std::vector<int64_t>& v, size_t count, int64_t fallback, int64_t lowest, const char* name) {
  if (v.empty()) v.assign(count, fallback);
  if (v.size() != count) return invalid_argument("attribute {} has {} values, needs {}", name, v.size(), count);
  for (int64_t e : v)
    if (e < lowest || e > kMaxSize)
      return invalid_argument("attribute {} holds {}, expected {} to {}", name, e, lowest, kMaxSize);
  return {};
}

int64_t extent(const WindowParams& p, int d) { return (p.kernel[d] - 1) * p.dilations[d] + 1; }

}  // namespace

Result<WindowParams> read_window(const ir::Node& node) {
  WindowParams p;
  p.kernel = node.ints("kernel_shape");
  if (p.kernel.empty()) return invalid_argument("attribute kernel_shape is missing or empty");
  p.strides = node.ints("strides");
  p.dilations = node.ints("dilations");
  p.pads = node.ints("pads");
  const size_t n = p.kernel.size();
  TRN_TRY(check(p.kernel, n, 1, 1, "kernel_shape"));
  TRN_TRY(check(p.strides, n, 1, 1, "strides"));
  TRN_TRY(check(p.dilations, n, 1, 1, "dilations"));
  TRN_TRY(check(p.pads, 2 * n, 0, 0, "pads"));
  for (size_t d = 0; d < n; ++d)
    if (p.kernel[d] > kMaxSize / p.dilations[d])
      return invalid_argument("kernel_shape {} with dilation {} is too large", p.kernel[d], p.dilations[d]);
  p.ceil_mode = node.attr("ceil_mode", 0) != 0;
  const std::string pad = node.attr("auto_pad", "NOTSET");
  using AutoPad = WindowParams::AutoPad;
  if (pad == "VALID")
    p.auto_pad = AutoPad::valid;
  else if (pad == "SAME_UPPER")
    p.auto_pad = AutoPad::same_upper;
  else if (pad == "SAME_LOWER")
    p.auto_pad = AutoPad::same_lower;
  else if (pad != "NOTSET" && !pad.empty())
    return invalid_argument("attribute auto_pad is '{}', expected NOTSET, VALID, SAME_UPPER or SAME_LOWER", pad);
  if (p.auto_pad != AutoPad::notset) p.pads.assign(2 * n, 0);
  return p;
}

Result<Dim> window_output(const WindowParams& p, int d, const Dim& in) {
  const int64_t stride = p.strides[d], window = extent(p, d), begin = p.pads[d], end = p.pads[d + p.spatial()];
  if (p.auto_pad == WindowParams::AutoPad::same_upper || p.auto_pad == WindowParams::AutoPad::same_lower)
    return ceil_div(in, Dim(stride));
  const Dim room = in + Dim(begin + end - window);
  if (in.is_int() && room.value() < 0)
    return invalid_argument(
        "a window of {} (kernel {}, dilation {}) does not fit into spatial dimension {} of size {} with padding {} and "
        "{}",
        window, p.kernel[d], p.dilations[d], d, in.value(), begin, end);
  if (!p.ceil_mode || p.auto_pad == WindowParams::AutoPad::valid) return floor_div(room + Dim(stride), Dim(stride));
  // Windows that would start behind the input and the padding before it are left out.
  return dim_min(ceil_div(room + Dim(stride), Dim(stride)), ceil_div(in + Dim(begin), Dim(stride)));
}

WindowPads window_pads(const WindowParams& p, int d, int64_t in, int64_t out) {
  const bool upper = p.auto_pad == WindowParams::AutoPad::same_upper;
  if (!upper && p.auto_pad != WindowParams::AutoPad::same_lower) return {p.pads[d], p.pads[d + p.spatial()]};
  const int64_t total = std::max<int64_t>((out - 1) * p.strides[d] + extent(p, d) - in, 0);
  const int64_t begin = upper ? total / 2 : total - total / 2;
  return {begin, total - begin};
}

Result<SymShape> window_shape(const WindowParams& p, const SymShape& x) {
  if (static_cast<int>(x.size()) != p.spatial() + 2)
    return invalid_argument("input 0 has shape {}, but kernel_shape has {} values: rank {} is needed", shape_text(x),
                            p.spatial(), p.spatial() + 2);
  SymShape out = {x[0], x[1]};
  for (int d = 0; d < p.spatial(); ++d) {
    TRN_ASSIGN(Dim size, window_output(p, d, x[d + 2]));
    out.push_back(std::move(size));
  }
  return out;
}

Result<kernels::PoolShape> pool_shape(const WindowParams& p, std::span<const int64_t> x, std::span<const int64_t> y) {
  const int n = p.spatial();
  if (n > 3) return not_implemented("pooling over {} spatial dimensions: 3 are the limit", n);
  if (static_cast<int>(x.size()) != n + 2 || x.size() != y.size())
    return invalid_argument("input of shape {} and output of shape {} do not go with {} spatial dimensions",
                            shape_text(x), shape_text(y), n);
  kernels::PoolShape s;
  for (int d = 0; d < n; ++d) {
    const int at = 3 - n + d;
    s.in[at] = x[d + 2];
    s.out[at] = y[d + 2];
    s.kernel[at] = p.kernel[d];
    s.stride[at] = p.strides[d];
    s.dilation[at] = p.dilations[d];
    const WindowPads pads = window_pads(p, d, s.in[at], s.out[at]);
    s.pad_begin[at] = pads.begin;
    s.pad_end[at] = pads.end;
  }
  return s;
}

}  // namespace trunnion::ops
