// ConvInteger (ai.onnx 10): convolution of 8-bit integers less their zero points, in 32 bits.
#include "ops/quant/int8_conv_detail.h"

namespace trunnion::ops {
namespace {

Status infer(const ir::Node& n, ir::Facts& f) {
  if (f.has_rank(2))
    if (auto dims = f.in(2).concrete(); dims && element_count(*dims) != 1)
      return invalid_argument("input 2 (zero point of x) has shape {}, it must hold one value", shape_text(*dims));
  return infer_int8_conv(read_conv(n, false), f, DType::i32, 0, 1, false);
}

class ConvIntegerCpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    TRN_ASSIGN(Int8ConvEngine engine, Int8ConvEngine::make(*n.input(1), read_conv(n, false), false));
    return std::unique_ptr<Kernel>(new ConvIntegerCpu(std::move(engine)));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto state = std::make_unique<Int8ConvEngine::State>();
    TRN_ASSIGN(const size_t bytes, engine_.prepare(ctx.in(0), ctx.in(1), ctx.out(0), ctx.threads(), 0, *state));
    ctx.request_scratch(bytes);
    return std::unique_ptr<KernelState>(std::move(state));
  }

  Status run(KernelContext& ctx) const override {
    return engine_.run(ctx, *ctx.state<Int8ConvEngine::State>(), ctx.in(0), ctx.in(1),
                       ctx.has_in(2) ? zero_point(ctx.in(2)) : 0, ctx.has_in(3) ? &ctx.in(3) : nullptr, ctx.out(0),
                       [](const Int8ConvEngine::Tile&) {});
  }

  bool reads_input(int i) const override { return i != 1 || !engine_.packed(); }

 private:
  explicit ConvIntegerCpu(Int8ConvEngine engine) : engine_(std::move(engine)) {}
  Int8ConvEngine engine_;
};

constexpr OpDef kDefs[] = {{"ConvInteger", infer, cpu<ConvIntegerCpu>(DType::u8 | DType::i8), {.reviewed = 10}}};

}  // namespace

TRUNNION_OPS(conv_integer, kDefs);

}  // namespace trunnion::ops
