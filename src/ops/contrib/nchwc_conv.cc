// Conv (com.microsoft.nchwc 1): convolution with bias, a sum and an activation, in this order. Blocks are unfolded to
// channels last for the engine, and its result folded again; one block is channels last as it is.
#include <algorithm>

#include "kernels/transpose.h"
#include "ops/contrib/fused_activation_detail.h"
#include "ops/contrib/nchwc_detail.h"
#include "ops/shape.h"
#include "ops/tiles.h"

namespace trunnion::ops {
namespace {

constexpr size_t kNone = SIZE_MAX;
size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const ConvParams p, read_nchwc_conv(n));
  return infer_conv(p, f, f.dtype(0));
}

// [N, a, b, unit] -> [N, b, a, unit], split over threads.
void swap_middle(KernelContext& ctx, const float* x, float* y, int64_t n, int64_t a, int64_t b, int64_t unit) {
  const int64_t dims[] = {n, a, b, unit}, perm[] = {0, 2, 1, 3};
  kernels::TransposePlan plan;
  if (!kernels::transpose_plan(dims, perm, 4, sizeof(float), plan)) return;
  const int64_t grain = std::max<int64_t>(1, (int64_t{256} << 10) / std::max<int64_t>(1, plan.unit_bytes));
  ctx.parallel_for(plan.units, grain, [&](int64_t begin, int64_t end) { kernels::transpose(plan, x, y, begin, end); });
}

class NchwcConvCpu final : public Kernel {
 public:
  struct State final : KernelState {
    kernels::ConvPlan plan;
    int64_t pixels_in = 0, pixels_out = 0;
    size_t x_offset = 0, y_offset = 0, sum_offset = 0, scratch_offset = 0, scratch_stride = 0;
  };

  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    std::unique_ptr<NchwcConvCpu> k(new NchwcConvCpu);
    TRN_ASSIGN(k->conv_, read_nchwc_weights(n));
    TRN_ASSIGN(const FusedActivation activation, read_listed_activation(n));
    if (!activation.into(k->epilogue_))
      return not_implemented("attribute activation is '{}', which a convolution cannot compute",
                             n.attr("activation", ""));
    TRN_ASSIGN(k->channels_, conv_channels(k->conv_.params, k->conv_.weights.shape()));
    // How weights are packed does not depend on the size of the picture: any that the kernel fits will do.
    ConvParams loose = k->conv_.params;
    loose.pads.clear();
    loose.auto_pad = ConvParams::AutoPad::notset;
    Shape x{1, k->channels_.cin};
    for (size_t i = 0; i < 2; ++i)
      x.push_back((loose.dilations.empty() ? 1 : loose.dilations[i]) * (k->channels_.kernel[i] - 1) + 1);
    TRN_ASSIGN(const kernels::ConvShape shape, conv_shape(loose, x, k->channels_));
    const kernels::ConvPlan plan = kernels::conv_plan(shape, 1);
    const int64_t size[] = {plan.packed_size};
    TRN_ASSIGN(k->packed_, Tensor::allocate(DType::f32, size));
    kernels::conv_pack(plan, k->conv_.weights.data<float>(), 0, plan.pack_units, k->packed_.data<float>());
    k->conv_.weights = {};
    return std::unique_ptr<Kernel>(std::move(k));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto s = std::make_unique<State>();
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    if (y.count == 0) return std::unique_ptr<KernelState>(std::move(s));
    TRN_ASSIGN(const kernels::ConvShape shape, conv_shape(conv_.params, x.shape(), channels_));
    s->plan = kernels::conv_plan(shape, ctx.threads());
    s->pixels_in = x.dim(2) * x.dim(3);
    s->pixels_out = y.dim(2) * y.dim(3);
    size_t offset = 0;
    const auto take = [&](bool wanted, size_t bytes) {
      const size_t at = offset;
      offset += wanted ? aligned(bytes) : 0;
      return wanted ? at : kNone;
    };
    const bool unfold_x = conv_.blocked_input ? channels_.cin != conv_.block : channels_.cin != 1 && s->pixels_in != 1;
    const bool fold_y = channels_.cout != conv_.block;
    s->x_offset = take(unfold_x, static_cast<size_t>(x.count) * sizeof(float));
    s->y_offset = take(fold_y, static_cast<size_t>(y.count) * sizeof(float));
    s->sum_offset = take(fold_y && ctx.has_in(3), static_cast<size_t>(y.count) * sizeof(float));
    s->scratch_stride = aligned(s->plan.scratch_size);
    s->scratch_offset = take(true, s->scratch_stride * static_cast<size_t>(tile_slots(s->plan.tiles, ctx.threads())));
    ctx.request_scratch(offset);
    return std::unique_ptr<KernelState>(std::move(s));
  }

  Status run(KernelContext& ctx) const override {
    const State& s = *ctx.state<State>();
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    if (y.count == 0) return {};
    const int64_t n = x.dim(0), cin = channels_.cin, cout = channels_.cout, block = conv_.block;
    const auto buffer = [&](size_t offset) { return reinterpret_cast<float*>(ctx.scratch() + offset); };
    kernels::ConvArgs args;
    args.x = x.as<float>();
    if (s.x_offset != kNone) {
      if (conv_.blocked_input)
        swap_middle(ctx, x.as<float>(), buffer(s.x_offset), n, cin / block, s.pixels_in, block);
      else
        swap_middle(ctx, x.as<float>(), buffer(s.x_offset), n, cin, s.pixels_in, 1);
      args.x = buffer(s.x_offset);
    }
    args.x_pixel_stride = cin;
    args.packed = packed_.data<float>();
    args.y = s.y_offset != kNone ? buffer(s.y_offset) : y.as<float>();
    args.y_pixel_stride = cout;
    args.epilogue = epilogue_;
    if (ctx.has_in(2)) args.epilogue.bias_col = ctx.in(2).as<float>();
    if (ctx.has_in(3)) {
      args.epilogue.residual = ctx.in(3).as<float>();
      args.epilogue.residual_ld = cout;
      if (s.sum_offset != kNone) {
        swap_middle(ctx, ctx.in(3).as<float>(), buffer(s.sum_offset), n, cout / block, s.pixels_out, block);
        args.epilogue.residual = buffer(s.sum_offset);
      }
    }
    for_each_tile(ctx, s.plan.tiles, ctx.scratch() + s.scratch_offset, s.scratch_stride,
                  [&](int64_t tile, std::byte* own) { kernels::conv_tile(s.plan, args, tile, tile + 1, own); });
    if (s.y_offset != kNone) swap_middle(ctx, buffer(s.y_offset), y.as<float>(), n, s.pixels_out, cout / block, block);
    return {};
  }

  bool reads_input(int i) const override { return i != 1; }

 private:
  NchwcConvCpu() = default;
  NchwcConv conv_;
  ConvChannels channels_;
  kernels::Epilogue epilogue_;
  Tensor packed_;
};

constexpr OpDef kDefs[] = {
    {"Conv",
     infer,
     cpu<NchwcConvCpu>(kF32),
     {.reviewed = 1},
     "com.microsoft.nchwc",
     "com.microsoft.nchwc::Conv 1 (X:T, W:T, B?:T, Sum?:T) -> (Y:T) {activation:s, activation_params:fs, "
     "auto_pad:s='NOTSET', dilations:is, group:i=1, kernel_shape:is, pads:is, strides:is} T=f32"},
};

}  // namespace

TRUNNION_OPS(nchwc_conv, kDefs);

}  // namespace trunnion::ops
