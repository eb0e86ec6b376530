// MatMul (ai.onnx 1, 9, 13): numpy's matrix product.
#include "ops/half_adapter.h"
#include "ops/math/matmul_detail.h"

namespace trunnion::ops {
namespace {

Status infer(const ir::Node&, ir::Facts& f) { return infer_matmul(f, f.dtype(0)); }

class MatMulCpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    TRN_ASSIGN(MatMulEngine engine, MatMulEngine::make(*n.input(1), false, false));
    std::unique_ptr<Kernel> kernel(new MatMulCpu(std::move(engine)));
    return is_half(n.input(0)->fact.dtype()) ? adapt_half(std::move(kernel)) : std::move(kernel);
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto state = std::make_unique<MatMulEngine::State>();
    if (ctx.in(0).dtype == DType::f32) {
      TRN_ASSIGN(const size_t bytes, engine_.prepare(ctx.in(0), ctx.in(1), ctx.threads(), 0, *state));
      ctx.request_scratch(bytes);
    } else {
      TRN_ASSIGN(state->shape, matmul_shape(ctx.in(0).shape(), ctx.in(1).shape()));
    }
    return std::unique_ptr<KernelState>(std::move(state));
  }

  Status run(KernelContext& ctx) const override {
    const auto& state = *ctx.state<MatMulEngine::State>();
    const TensorView &a = ctx.in(0), &b = ctx.in(1), &y = ctx.out(0);
    if (a.dtype != DType::f32) return plain_matmul(ctx, a.dtype, state.shape, false, false, a.data, b.data, y.data);
    engine_.run(ctx, state, a.as<float>(), b.as<float>(), y.as<float>(), {});
    return {};
  }

  bool reads_input(int i) const override { return i != 1 || !engine_.packed(); }

 private:
  explicit MatMulCpu(MatMulEngine engine) : engine_(std::move(engine)) {}
  MatMulEngine engine_;
};

constexpr DTypes kTypes = kFloats | DType::i32 | DType::i64 | DType::u32 | DType::u64;
constexpr OpDef kDefs[] = {{"MatMul", infer, cpu<MatMulCpu>(kTypes), {.reviewed = 13}}};

}  // namespace

TRUNNION_OPS(mat_mul, kDefs);

}  // namespace trunnion::ops
