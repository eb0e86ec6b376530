#include "ops/nn/conv_detail.h"

#include <algorithm>

#include "kernels/transpose.h"
#include "ops/half_adapter.h"
#include "ops/nn/conv_planar_detail.h"
#include "ops/packing.h"
#include "ops/shape.h"
#include "ops/tiles.h"

namespace trunnion::ops {
namespace {

int64_t at(const std::vector<int64_t>& v, int i, int64_t otherwise) {
  return v.empty() ? otherwise : v[static_cast<size_t>(i)];
}

Status check_list(const std::vector<int64_t>& v, size_t want, const char* name, int64_t least) {
  if (v.empty()) return {};
  if (v.size() != want) return invalid_argument("attribute {} has {} entries, {} are needed", name, v.size(), want);
  for (int64_t e : v)
    if (e < least || e > INT32_MAX)
      return invalid_argument("attribute {} is [{}]: every entry must be {} to {}", name, fmt::join(v, ","), least,
                              INT32_MAX);
  return {};
}

Status check_attributes(const ConvParams& p, size_t spatial) {
  if (p.groups < 1) return invalid_argument("attribute group is {}, it must be at least 1", p.groups);
  TRN_TRY(check_list(p.kernel, spatial, "kernel_shape", 1));
  TRN_TRY(check_list(p.strides, spatial, "strides", 1));
  TRN_TRY(check_list(p.dilations, spatial, "dilations", 1));
  TRN_TRY(check_list(p.pads, 2 * spatial, "pads", p.transposed ? INT32_MIN : 0));
  TRN_TRY(check_list(p.output_padding, spatial, "output_padding", 0));
  if (!p.output_shape.empty() && p.output_shape.size() != spatial && p.output_shape.size() != spatial + 2)
    return invalid_argument("attribute output_shape has {} entries, {} are needed", p.output_shape.size(), spatial);
  return {};
}

int64_t output_shape_at(const ConvParams& p, int axis, size_t spatial) {
  return p.output_shape[static_cast<size_t>(axis) + (p.output_shape.size() - spatial)];
}

constexpr size_t kNone = SIZE_MAX;  // no buffer: used in place, for both layouts are the same (or there is none)
constexpr size_t kLine = 64;
size_t aligned(size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

// [N, C, P] -> [N, P, C] or back, split over threads.
template <class Context>
void swap_layout(Context& ctx, const float* x, float* y, int64_t n, int64_t rows, int64_t cols) {
  const int64_t dims[] = {n, rows, cols}, perm[] = {0, 2, 1};
  kernels::TransposePlan plan;
  if (!kernels::transpose_plan(dims, perm, 3, sizeof(float), plan)) return;
  const int64_t grain = std::max<int64_t>(1, (int64_t{256} << 10) / std::max<int64_t>(1, plan.unit_bytes));
  ctx.parallel_for(plan.units, grain, [&](int64_t begin, int64_t end) { kernels::transpose(plan, x, y, begin, end); });
}

}  // namespace

ConvParams read_conv(const ir::Node& node, bool transposed) {
  ConvParams p;
  p.transposed = transposed;
  const std::string pad = node.attr("auto_pad", "NOTSET");
  p.auto_pad = pad == "VALID"        ? ConvParams::AutoPad::valid
               : pad == "SAME_UPPER" ? ConvParams::AutoPad::same_upper
               : pad == "SAME_LOWER" ? ConvParams::AutoPad::same_lower
                                     : ConvParams::AutoPad::notset;
  p.groups = node.attr("group", 1);
  p.kernel = node.ints("kernel_shape");
  p.strides = node.ints("strides");
  p.dilations = node.ints("dilations");
  p.pads = node.ints("pads");
  p.output_padding = node.ints("output_padding");
  p.output_shape = node.ints("output_shape");
  return p;
}

Result<ConvAxis> conv_axis(const ConvParams& p, int axis, int64_t in, int64_t kernel) {
  const int64_t stride = at(p.strides, axis, 1), dilation = at(p.dilations, axis, 1);
  const int64_t begin = p.pads.empty() ? 0 : p.pads[static_cast<size_t>(axis)];
  const int64_t end = p.pads.empty() ? 0 : p.pads[p.pads.size() / 2 + static_cast<size_t>(axis)];
  const int64_t extent = dilation * (kernel - 1) + 1;
  ConvAxis out;
  if (!p.transposed) {
    if (p.auto_pad == ConvParams::AutoPad::same_upper || p.auto_pad == ConvParams::AutoPad::same_lower) {
      out.out = (in + stride - 1) / stride;
      const int64_t total = std::max<int64_t>(0, (out.out - 1) * stride + extent - in);
      out.pad_begin = p.auto_pad == ConvParams::AutoPad::same_upper ? total / 2 : total - total / 2;
      return out;
    }
    const bool valid = p.auto_pad == ConvParams::AutoPad::valid;
    const int64_t padded = in + (valid ? 0 : begin + end);
    if (padded < extent)
      return invalid_argument("the kernel covers {} positions of axis {}, the padded input has only {}", extent, axis,
                              padded);
    out.pad_begin = valid ? 0 : begin;
    out.out = (padded - extent) / stride + 1;
    return out;
  }
  const int64_t extra = at(p.output_padding, axis, 0);
  const int64_t full = stride * (in - 1) + extra + extent;
  if (!p.output_shape.empty()) {
    const auto rank = p.kernel.empty() ? p.output_shape.size() : p.kernel.size();
    out.out = output_shape_at(p, axis, std::min(rank, p.output_shape.size()));
    const int64_t total = std::max<int64_t>(0, full - out.out);
    out.pad_begin = p.auto_pad == ConvParams::AutoPad::same_upper ? total / 2 : total - total / 2;
  } else if (p.auto_pad == ConvParams::AutoPad::same_upper || p.auto_pad == ConvParams::AutoPad::same_lower) {
    out.out = in * stride;
    const int64_t total = std::max<int64_t>(0, full - out.out);
    out.pad_begin = p.auto_pad == ConvParams::AutoPad::same_upper ? total / 2 : total - total / 2;
  } else {
    const bool valid = p.auto_pad == ConvParams::AutoPad::valid;
    out.pad_begin = valid ? 0 : begin;
    out.out = full - (valid ? 0 : begin + end);
  }
  if (out.out < 0 || (out.out == 0 && in > 0))
    return invalid_argument("axis {} of the output would have {} positions (input {}, pads {} and {})", axis, out.out,
                            in, begin, end);
  return out;
}

Result<ConvChannels> conv_channels(const ConvParams& p, std::span<const int64_t> w) {
  ConvChannels c;
  c.cout = p.transposed ? w[1] * p.groups : w[0];
  c.cin = p.transposed ? w[0] : w[1] * p.groups;
  c.kernel.assign(w.begin() + 2, w.end());
  if (!p.kernel.empty() && p.kernel != c.kernel)
    return invalid_argument("attribute kernel_shape is [{}], the weights have shape {}", fmt::join(p.kernel, ","),
                            shape_text(w));
  if (c.cout % p.groups != 0 || c.cin % p.groups != 0)
    return invalid_argument("{} input and {} output channels cannot be split into group = {}", c.cin, c.cout, p.groups);
  for (int64_t k : c.kernel)
    if (k < 1) return invalid_argument("the weights have shape {}: a kernel dimension is empty", shape_text(w));
  return c;
}

Status expect_same_shape(const SymShape& found, const SymShape& wanted, const char* what) {
  bool same = found.size() == wanted.size();
  for (size_t i = 0; same && i < found.size(); ++i)
    same = !found[i].is_int() || !wanted[i].is_int() || found[i].value() == wanted[i].value();
  if (same) return {};
  return invalid_argument("{} has shape {}, needs {}", what, shape_text(found), shape_text(wanted));
}

Status infer_conv(const ConvParams& p, ir::Facts& f, DType out, int x_input, int w_input, bool channels_last) {
  f.set(0, out);
  const ir::Fact &x = f.in(x_input), &w = f.in(w_input);
  if (!x.has_rank() && !w.has_rank()) return {};
  const int rank = x.has_rank() ? x.rank() : w.rank();
  if (rank < 3)
    return invalid_argument(
        "input {} has rank {} (shape {}), a convolution needs at least 3: batch, channels, positions", x_input, rank,
        shape_text((x.has_rank() ? x : w).shape()));
  if (x.has_rank() && w.has_rank() && x.rank() != w.rank())
    return invalid_argument("input {} has rank {} (shape {}) and the weights rank {} (shape {}): they must agree",
                            x_input, x.rank(), shape_text(x.shape()), w.rank(), shape_text(w.shape()));
  const auto spatial = static_cast<size_t>(rank - 2);
  TRN_TRY(check_attributes(p, spatial));
  SymShape y(static_cast<size_t>(rank));
  const int channel_axis = channels_last ? rank - 1 : 1, first = channels_last ? 1 : 2;
  if (x.has_rank()) y[0] = x.dim(0);
  std::vector<Dim> kernel(spatial);
  for (size_t i = 0; i < spatial; ++i)
    kernel[i] = w.has_rank() ? w.dim(static_cast<int>(i) + 2) : p.kernel.empty() ? Dim() : Dim(p.kernel[i]);
  if (w.has_rank()) {
    y[static_cast<size_t>(channel_axis)] = p.transposed ? w.dim(1) * Dim(p.groups) : w.dim(0);
    if (auto dims = w.concrete()) {
      TRN_ASSIGN(const ConvChannels c, conv_channels(p, *dims));
      if (x.has_rank() && x.dim(channel_axis).is_int() && x.dim(channel_axis).value() != c.cin)
        return invalid_argument("input {} has {} channels (shape {}); the weights of shape {} with group = {} need {}",
                                x_input, x.dim(channel_axis).value(), shape_text(x.shape()), shape_text(*dims),
                                p.groups, c.cin);
      if (f.has_rank(2) && f.in(2).rank() != 1)
        return invalid_argument("the bias has shape {}, it must have one dimension of {} output channels",
                                shape_text(f.in(2).shape()), c.cout);
      if (f.has_rank(2) && f.in(2).dim(0).is_int() && f.in(2).dim(0).value() != c.cout)
        return invalid_argument("the bias has {} entries, there are {} output channels", f.in(2).dim(0).value(),
                                c.cout);
    }
  }
  if (x.has_rank()) {
    for (size_t i = 0; i < spatial; ++i) {
      const Dim in = x.dim(first + static_cast<int>(i));
      Dim& o = y[static_cast<size_t>(first) + i];
      if (in.is_int() && kernel[i].is_int()) {
        TRN_ASSIGN(const ConvAxis axis, conv_axis(p, static_cast<int>(i), in.value(), kernel[i].value()));
        o = axis.out;
        continue;
      }
      const Dim stride = at(p.strides, static_cast<int>(i), 1), dilation = at(p.dilations, static_cast<int>(i), 1);
      const Dim extent = dilation * (kernel[i] - Dim(1)) + Dim(1);
      const bool same = p.auto_pad == ConvParams::AutoPad::same_upper || p.auto_pad == ConvParams::AutoPad::same_lower;
      const bool padded = p.auto_pad == ConvParams::AutoPad::notset && !p.pads.empty();
      const Dim pads = padded ? Dim(p.pads[i] + p.pads[spatial + i]) : Dim(0);
      if (!p.transposed)
        o = same ? ceil_div(in, stride) : floor_div(in + pads - extent, stride) + Dim(1);
      else if (!p.output_shape.empty())
        o = output_shape_at(p, static_cast<int>(i), spatial);
      else
        o = same ? in * stride
                 : stride * (in - Dim(1)) + Dim(at(p.output_padding, static_cast<int>(i), 0)) + extent - pads;
    }
  }
  if (f.has_rank(3)) TRN_TRY(expect_same_shape(f.in(3).shape(), y, "the residual"));
  f.set(0, out, std::move(y));
  return {};
}

Result<kernels::ConvShape> conv_shape(const ConvParams& p, std::span<const int64_t> x, const ConvChannels& w) {
  kernels::ConvShape s;
  s.rank = static_cast<int>(w.kernel.size());
  s.transposed = p.transposed;
  s.batch = x[0];
  s.cin = w.cin;
  s.cout = w.cout;
  s.groups = p.groups;
  for (int i = 0; i < s.rank; ++i) {
    s.in[i] = x[static_cast<size_t>(i) + 2];
    s.kernel[i] = w.kernel[static_cast<size_t>(i)];
    s.stride[i] = at(p.strides, i, 1);
    s.dilation[i] = at(p.dilations, i, 1);
    TRN_ASSIGN(const ConvAxis axis, conv_axis(p, i, s.in[i], s.kernel[i]));
    s.pad_begin[i] = axis.pad_begin;
    s.out[i] = axis.out;
  }
  return s;
}

Result<Tensor> pack_conv(const Tensor& weights, const kernels::ConvPlan& plan) {
  const kernels::ConvShape& s = plan.shape;
  std::vector<int64_t> numbers{static_cast<int64_t>(plan.algorithm),
                               s.winograd,
                               s.bf16,
                               plan.group_step,
                               s.transposed,
                               plan.channels_in,
                               s.cout,
                               s.groups};
  for (const auto* list : {&s.kernel, &s.stride, &s.dilation, &s.pad_begin})
    numbers.insert(numbers.end(), std::begin(*list), std::end(*list));
  if (s.transposed) numbers.insert(numbers.end(), std::begin(s.out), std::end(s.out));
  const Packing how{.layout = s.bf16 != 0 ? "bf16 conv" : "conv",
                    .numbers = numbers,
                    .dtype = s.bf16 != 0 ? DType::bf16 : DType::f32,
                    .count = s.bf16 != 0 ? 2 * plan.packed_size : plan.packed_size,
                    .units = plan.pack_units,
                    .any_alignment = plan.group_step == 1 && !s.transposed &&
                                     (plan.algorithm == kernels::ConvAlgorithm::gemm ||
                                      plan.algorithm == kernels::ConvAlgorithm::indirect ||
                                      plan.algorithm == kernels::ConvAlgorithm::winograd)};
  return pack(weights, how, [&](const Tensor& from, int64_t begin, int64_t end, void* to) {
    kernels::conv_pack(plan, from.data<float>(), begin, end, static_cast<float*>(to));
  });
}

Result<ConvEngine> ConvEngine::make(const ir::Node& node, ConvParams params, bool channels_last,
                                    kernels::Epilogue activation) {
  ConvEngine e;
  e.params_ = std::move(params);
  e.channels_last_ = channels_last;
  e.activation_ = activation;
  const ir::Value* w = node.input(1);
  if (!w->is_constant()) return e;
  const Tensor& weights = w->constant();
  if (weights.rank() < 3 || weights.rank() > 5)
    return not_implemented("a convolution over {} spatial dimensions", weights.rank() - 2);
  if (weights.count() == 0) return e;
  TRN_ASSIGN(const ConvChannels c, conv_channels(e.params_, weights.shape()));
  // The packed order of a transposed convolution depends on the padding, which output_shape makes depend on the
  // picture.
  if (e.params_.transposed && !e.params_.output_shape.empty()) return e;
  // It never depends on the size of the picture: any that the kernel fits will do.
  Shape x{1, c.cin};
  for (size_t i = 0; i < c.kernel.size(); ++i) {
    int64_t size = at(e.params_.dilations, static_cast<int>(i), 1) * (c.kernel[i] - 1) + 1;
    if (e.params_.transposed && !e.params_.pads.empty())
      size += std::max<int64_t>(0, e.params_.pads[i] + e.params_.pads[i + c.kernel.size()]);
    x.push_back(size);
  }
  ConvParams loose = e.params_;
  if (!loose.transposed) loose.pads.clear();
  TRN_ASSIGN(kernels::ConvShape shape, conv_shape(loose, x, c));
  const int64_t winograd = node.attr("winograd", 0);
  if ((winograd == 2 || winograd == 4) && kernels::conv_winograd_fits(shape)) e.winograd_ = static_cast<int>(winograd);
  shape.winograd = e.winograd_;
  const int64_t planes = node.attr("bf16", 0);
  if (planes > 0 && planes <= 3 && weights.dtype() == DType::f32) shape.bf16 = e.bf16_ = static_cast<int>(planes);
  const kernels::ConvPlan plan = kernels::conv_plan(shape, 1);
  TRN_ASSIGN(e.packed_, pack_conv(weights, plan));
  return e;
}

Result<std::unique_ptr<KernelState>> ConvEngine::prepare(PrepareContext& ctx) const {
  auto state = std::make_unique<State>();
  const TensorView &x = ctx.in(0), &w = ctx.in(1), &y = ctx.out(0);
  if (x.rank < 3 || x.rank > 5)
    return not_implemented("a convolution over {} spatial dimensions (input of shape {})", x.rank - 2,
                           shape_text(x.shape()));
  if (y.count == 0) return std::unique_ptr<KernelState>(std::move(state));
  TRN_ASSIGN(const ConvChannels c, conv_channels(params_, w.shape()));
  Shape dims{x.dim(0), c.cin};
  for (int i = 2; i < x.rank; ++i) dims.push_back(channels_last_ ? x.dim(i - 1) : x.dim(i));
  TRN_ASSIGN(kernels::ConvShape shape, conv_shape(params_, dims, c));
  shape.winograd = winograd_;
  shape.bf16 = bf16_;
  state->plan = kernels::conv_plan(shape, ctx.threads());
  state->pixels_in = product(dims, 2, x.rank);
  state->pixels_out = y.count / (x.dim(0) * c.cout);
  const bool one_channel_in = c.cin == 1 || state->pixels_in == 1,
             one_channel_out = c.cout == 1 || state->pixels_out == 1;
  size_t offset = 0;
  const auto take = [&](size_t bytes) {
    const size_t at_offset = offset;
    offset += aligned(bytes);
    return at_offset;
  };
  state->needs_transpose = !channels_last_;
  state->x_offset =
      state->needs_transpose && !one_channel_in ? take(static_cast<size_t>(x.count) * sizeof(float)) : kNone;
  const kernels::ConvPlan& plan = state->plan;
  const int64_t pixels = x.dim(0) * state->pixels_in;
  state->rounded_offset = plan.rounds_x ? take(static_cast<size_t>(pixels * plan.x_stride) * sizeof(float)) : kNone;
  state->y_offset =
      state->needs_transpose && !one_channel_out ? take(static_cast<size_t>(y.count) * sizeof(float)) : kNone;
  state->r_offset = state->needs_transpose && !one_channel_out && ctx.has_in(3)
                        ? take(static_cast<size_t>(y.count) * sizeof(float))
                        : kNone;
  state->packed_offset = packed_.valid() ? kNone : take(static_cast<size_t>(state->plan.packed_size) * sizeof(float));
  state->scratch_stride = aligned(state->plan.scratch_size);
  state->scratch_offset =
      take(state->scratch_stride * static_cast<size_t>(tile_slots(state->plan.tiles, ctx.threads())));
  ctx.request_scratch(offset);
  return std::unique_ptr<KernelState>(std::move(state));
}

Status ConvEngine::run(KernelContext& ctx) const {
  const TensorView &x = ctx.in(0), &y = ctx.out(0);
  if (y.count == 0) return {};
  const State& s = *ctx.state<State>();
  std::byte* scratch = ctx.scratch();
  const auto buffer = [&](size_t offset) { return reinterpret_cast<float*>(scratch + offset); };
  const int64_t batch = s.plan.shape.batch, cin = s.plan.channels_in, cout = s.plan.shape.cout;

  kernels::ConvArgs args;
  args.x = x.as<float>();
  if (s.x_offset != kNone) {
    swap_layout(ctx, x.as<float>(), buffer(s.x_offset), batch, cin, s.pixels_in);
    args.x = buffer(s.x_offset);
  }
  args.x_pixel_stride = cin;
  if (s.rounded_offset != kNone) {
    float* rounded = buffer(s.rounded_offset);
    const int64_t grain = std::max<int64_t>(1, (int64_t{64} << 10) / cin);
    ctx.parallel_for(batch * s.pixels_in, grain,
                     [&](int64_t b, int64_t e) { kernels::conv_round_x(s.plan, args.x, cin, b, e, rounded); });
    args.x = rounded;
    args.x_pixel_stride = s.plan.x_stride;
  }
  args.packed = packed_.data<float>();
  if (s.packed_offset != kNone) {
    float* packed = buffer(s.packed_offset);
    const float* weights = ctx.in(1).as<float>();
    ctx.parallel_for(s.plan.pack_units, 4,
                     [&](int64_t b, int64_t e) { kernels::conv_pack(s.plan, weights, b, e, packed); });
    args.packed = packed;
  }
  args.y = s.y_offset != kNone ? buffer(s.y_offset) : y.as<float>();
  args.y_pixel_stride = cout;
  args.epilogue = activation_;
  if (ctx.has_in(2)) args.epilogue.bias_col = ctx.in(2).as<float>();
  if (ctx.has_in(3)) {
    args.epilogue.residual = ctx.in(3).as<float>();
    args.epilogue.residual_ld = cout;
    if (s.r_offset != kNone) {
      swap_layout(ctx, ctx.in(3).as<float>(), buffer(s.r_offset), batch, cout, s.pixels_out);
      args.epilogue.residual = buffer(s.r_offset);
    }
  }
  for_each_tile(ctx, s.plan.tiles, scratch + s.scratch_offset, s.scratch_stride,
                [&](int64_t tile, std::byte* own) { kernels::conv_tile(s.plan, args, tile, tile + 1, own); });
  if (s.y_offset != kNone) swap_layout(ctx, buffer(s.y_offset), y.as<float>(), batch, s.pixels_out, cout);
  return {};
}

namespace {

class ConvKernel final : public Kernel {
 public:
  explicit ConvKernel(ConvEngine engine) : engine_(std::move(engine)) {}
  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override { return engine_.prepare(ctx); }
  Status run(KernelContext& ctx) const override { return engine_.run(ctx); }
  bool reads_input(int i) const override { return engine_.reads_input(i); }

 private:
  ConvEngine engine_;
};

}  // namespace

Result<std::unique_ptr<Kernel>> make_conv(const ir::Node& node, ConvParams params, bool channels_last,
                                          kernels::Epilogue activation) {
  if (!channels_last && runs_on_planes(node, params)) return make_planar_conv(node, params, activation);
  TRN_ASSIGN(ConvEngine engine, ConvEngine::make(node, std::move(params), channels_last, activation));
  std::unique_ptr<Kernel> kernel(new ConvKernel(std::move(engine)));
  return is_half(node.input(0)->fact.dtype()) ? adapt_half(std::move(kernel)) : std::move(kernel);
}

namespace {
constexpr std::string_view kActivationNames[] = {"none", "relu",       "clip",         "leaky_relu", "sigmoid",  "tanh",
                                                 "silu", "hard_swish", "hard_sigmoid", "gelu",       "gelu_tanh"};
}

std::string_view activation_name(kernels::Activation a) { return kActivationNames[static_cast<size_t>(a)]; }

Result<kernels::Epilogue> read_activation(const ir::Node& node) {
  kernels::Epilogue e;
  const std::string name = node.attr("activation", "none");
  const auto it = std::find(std::begin(kActivationNames), std::end(kActivationNames), name);
  if (it == std::end(kActivationNames))
    return invalid_argument("attribute activation is '{}', expected one of {}", name,
                            fmt::join(kActivationNames, ", "));
  e.activation = static_cast<kernels::Activation>(it - std::begin(kActivationNames));
  e.a = node.attr("activation_a", 0.0f);
  e.b = node.attr("activation_b", 0.0f);
  e.residual_after_activation = node.attr("residual_after_activation", 0) != 0;
  return e;
}

}  // namespace trunnion::ops
