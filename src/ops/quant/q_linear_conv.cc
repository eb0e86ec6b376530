// QLinearConv (ai.onnx 10; com.microsoft 1 with channels_last): convolution of quantized values, quantized again.
#include "kernels/requantize.h"
#include "ops/quant/int8_conv_detail.h"

namespace trunnion::ops {
namespace {

enum Input { kX, kXScale, kXZero, kW, kWScale, kWZero, kYScale, kYZero, kBias };

bool channels_last(const ir::Node& n) { return n.attr("channels_last", 0) != 0; }

Status infer(const ir::Node& n, ir::Facts& f) {
  for (int i : {kXScale, kXZero, kYScale, kYZero})
    if (f.has_rank(i))
      if (auto dims = f.in(i).concrete(); dims && element_count(*dims) != 1)
        return invalid_argument("input {} has shape {}, it must hold one value", i, shape_text(*dims));
  return infer_int8_conv(read_conv(n, false), f, f.dtype(kYZero), kX, kW, channels_last(n));
}

struct State final : KernelState {
  Int8ConvEngine::State conv;
  size_t scale_offset = 0;
};

class QLinearConvCpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    TRN_ASSIGN(Int8ConvEngine engine, Int8ConvEngine::make(*n.input(kW), read_conv(n, false), channels_last(n)));
    return std::unique_ptr<Kernel>(new QLinearConvCpu(std::move(engine)));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto state = std::make_unique<State>();
    TRN_ASSIGN(state->scale_offset, engine_.prepare(ctx.in(kX), ctx.in(kW), ctx.out(0), ctx.threads(), 0, state->conv));
    ctx.request_scratch(state->scale_offset + static_cast<size_t>(ctx.in(kWScale).count) * sizeof(float));
    return std::unique_ptr<KernelState>(std::move(state));
  }

  Status run(KernelContext& ctx) const override {
    const State& s = *ctx.state<State>();
    const TensorView &y = ctx.out(0), &w_scale = ctx.in(kWScale);
    if (y.count == 0) return {};
    const int64_t cout = s.conv.plan.shape.cout;
    if (w_scale.count != 1 && w_scale.count != cout)
      return invalid_argument("the weights' scale has {} entries, there are {} output channels", w_scale.count, cout);
    if (ctx.has_in(kBias) && ctx.in(kBias).count != cout)
      return invalid_argument("the bias has {} entries, there are {} output channels", ctx.in(kBias).count, cout);
    auto* scale = reinterpret_cast<float*>(ctx.scratch() + s.scale_offset);
    for (int64_t i = 0; i < w_scale.count; ++i)
      scale[i] = *ctx.in(kXScale).as<float>() * w_scale.as<float>()[i] / *ctx.in(kYScale).as<float>();
    const bool per_channel = w_scale.count > 1;
    const int32_t* bias = ctx.has_in(kBias) ? ctx.in(kBias).as<int32_t>() : nullptr;
    const int32_t zero = zero_point(ctx.in(kYZero));
    return engine_.run(ctx, s.conv, ctx.in(kX), ctx.in(kW), zero_point(ctx.in(kXZero)), &ctx.in(kWZero), y,
                       [&](const Int8ConvEngine::Tile& t) {
                         const kernels::RequantizeArgs args{t.sums,
                                                            t.ld,
                                                            t.pixels,
                                                            t.channels,
                                                            bias ? bias + t.channel : nullptr,
                                                            per_channel ? scale + t.channel : scale,
                                                            per_channel};
                         if (y.dtype == DType::i8)
                           kernels::requantize().to_i8(args, static_cast<int8_t*>(t.y), t.y_ld, zero);
                         else
                           kernels::requantize().to_u8(args, static_cast<uint8_t*>(t.y), t.y_ld, zero);
                       });
  }

  bool reads_input(int i) const override { return i != kW || !engine_.packed(); }

 private:
  explicit QLinearConvCpu(Int8ConvEngine engine) : engine_(std::move(engine)) {}
  Int8ConvEngine engine_;
};

constexpr OpDef kDefs[] = {
    {"QLinearConv", infer, cpu<QLinearConvCpu>(DType::u8 | DType::i8), {.reviewed = 10}},
    {"QLinearConv",
     infer,
     cpu<QLinearConvCpu>(DType::u8 | DType::i8),
     {.reviewed = 1},
     "com.microsoft",
     "com.microsoft::QLinearConv 1 (x:T1, x_scale:f32, x_zero_point:T1, w:T2, w_scale:f32, w_zero_point:T2, "
     "y_scale:f32, y_zero_point:T3, B?:T4) -> "
     "(y:T3) {auto_pad:s='NOTSET', channels_last:i=0, dilations:is, group:i=1, kernel_shape:is, pads:is, strides:is} "
     "T1=u8|i8 T2=u8|i8 T3=u8|i8 T4=i32"},
};

}  // namespace

TRUNNION_OPS(q_linear_conv, kDefs);

}  // namespace trunnion::ops
