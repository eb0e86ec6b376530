#include "ops/nn/conv_planar_detail.h"

#include "kernels/conv_planar.h"
#include "ops/packing.h"
#include "ops/tiles.h"

namespace trunnion::ops {
namespace {

// The shape that the kernel would have; nothing where it is not known or not valid.
std::optional<kernels::ConvShape> planar_shape(const ir::Node& node, const ConvParams& params) {
  const ir::Value *x = node.input(0), *w = node.input(1);
  if (!x || !w || !w->is_constant() || node.input(3)) return std::nullopt;
  if (x->fact.dtype() != DType::f32 || w->constant().dtype() != DType::f32) return std::nullopt;
  const auto dims = x->fact.concrete();
  const Tensor& weights = w->constant();
  if (!dims || dims->size() < 3 || dims->size() > 5 || weights.rank() != static_cast<int>(dims->size()))
    return std::nullopt;
  if (weights.count() == 0) return std::nullopt;
  const auto channels = conv_channels(params, weights.shape());
  if (!channels.ok() || channels->cin != (*dims)[1]) return std::nullopt;
  const auto shape = conv_shape(params, *dims, *channels);
  if (!shape.ok() || !kernels::conv_planar_fits(*shape)) return std::nullopt;
  return *shape;
}

class PlanarConv final : public Kernel {
 public:
  struct State final : KernelState {
    kernels::ConvPlanarPlan plan;
    size_t stride = 0;
  };

  PlanarConv(ConvParams params, ConvChannels channels, kernels::Epilogue activation, Tensor packed)
      : params_(std::move(params)), channels_(std::move(channels)), activation_(activation), packed_(packed) {}

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto state = std::make_unique<State>();
    TRN_ASSIGN(const kernels::ConvShape shape, conv_shape(params_, ctx.in(0).shape(), channels_));
    state->plan = kernels::conv_planar_plan(shape, ctx.threads());
    state->stride = (state->plan.scratch_size + 63) / 64 * 64;
    ctx.request_scratch(state->stride * static_cast<size_t>(tile_slots(state->plan.tiles, ctx.threads())));
    return std::unique_ptr<KernelState>(std::move(state));
  }

  Status run(KernelContext& ctx) const override {
    if (ctx.out(0).count == 0) return {};
    const State& s = *ctx.state<State>();
    kernels::ConvPlanarArgs args;
    args.x = ctx.in(0).as<float>();
    args.packed = packed_.data<float>();
    args.y = ctx.out(0).as<float>();
    args.bias = ctx.has_in(2) ? ctx.in(2).as<float>() : nullptr;
    args.activation = activation_.activation;
    args.a = activation_.a;
    args.b = activation_.b;
    for_each_tile(ctx, s.plan.tiles, ctx.scratch(), s.stride,
                  [&](int64_t tile, std::byte* own) { kernels::conv_planar_tile(s.plan, args, tile, own); });
    return {};
  }

  bool reads_input(int i) const override { return i != 1; }

 private:
  ConvParams params_;
  ConvChannels channels_;
  kernels::Epilogue activation_;
  Tensor packed_;
};

}  // namespace

bool runs_on_planes(const ir::Node& node, const ConvParams& params) { return planar_shape(node, params).has_value(); }

bool runs_on_planes(const ir::Node& node) {
  return runs_on_planes(node, read_conv(node, node.op_type() == "ConvTranspose" || node.attr("transposed", 0) != 0));
}

Result<std::unique_ptr<Kernel>> make_planar_conv(const ir::Node& node, const ConvParams& params,
                                                 kernels::Epilogue activation) {
  const auto shape = planar_shape(node, params);
  if (!shape) return invalid_argument("the convolution cannot run on planes");
  const Tensor& weights = node.input(1)->constant();
  TRN_ASSIGN(ConvChannels channels, conv_channels(params, weights.shape()));
  const kernels::ConvPlanarPlan plan = kernels::conv_planar_plan(*shape, 1);
  const kernels::ConvShape& s = plan.shape;
  const int64_t numbers[] = {s.transposed, s.groups, s.cin, s.cout, s.kernel[1], s.kernel[2]};
  const Packing how{.layout = "conv planes", .numbers = numbers, .dtype = DType::f32, .count = plan.packed_size};
  TRN_ASSIGN(Tensor packed, pack(weights, how, [&](const Tensor& from, int64_t, int64_t, void* to) {
               kernels::conv_planar_pack(plan, from.data<float>(), static_cast<float*>(to));
             }));
  return std::unique_ptr<Kernel>(new PlanarConv(params, std::move(channels), activation, std::move(packed)));
}

}  // namespace trunnion::ops
