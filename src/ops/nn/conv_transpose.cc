// ConvTranspose (ai.onnx 1, 11, 22): transposed convolution over 1 to 3 spatial dimensions.
#include "ops/half_adapter.h"
#include "ops/nn/conv_detail.h"
#include "ops/nn/conv_plain_detail.h"

namespace trunnion::ops {
namespace {

Status infer(const ir::Node& n, ir::Facts& f) { return infer_conv(read_conv(n, true), f, f.dtype(0)); }

class ConvTransposeCpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    ConvParams p = read_conv(n, true);
    if (n.input(0)->fact.dtype() == DType::f64) return make_plain_conv(std::move(p));
    TRN_ASSIGN(ConvEngine engine, ConvEngine::make(n, std::move(p), false, {}));
    std::unique_ptr<Kernel> kernel(new ConvTransposeCpu(std::move(engine)));
    return is_half(n.input(0)->fact.dtype()) ? adapt_half(std::move(kernel)) : std::move(kernel);
  }
  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override { return engine_.prepare(ctx); }
  Status run(KernelContext& ctx) const override { return engine_.run(ctx); }
  bool reads_input(int i) const override { return engine_.reads_input(i); }

 private:
  explicit ConvTransposeCpu(ConvEngine engine) : engine_(std::move(engine)) {}
  ConvEngine engine_;
};

constexpr OpDef kDefs[] = {{"ConvTranspose", infer, cpu<ConvTransposeCpu>(kFloats), {.reviewed = 22}}};

}  // namespace

TRUNNION_OPS(conv_transpose, kDefs);

}  // namespace trunnion::ops
