// MatMulInteger (ai.onnx 10): product of 8-bit matrices less their zero points, in 32 bits.
#include "ops/quant/int8_matmul_detail.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

Status infer(const ir::Node&, ir::Facts& f) {
  if (f.has(2)) TRN_TRY(check_matrix_terms(f, 2, 0, 1, true));
  if (f.has(3)) TRN_TRY(check_matrix_terms(f, 3, 0, 1, false));
  return infer_matmul(f, DType::i32);
}

class MatMulIntegerCpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    TRN_ASSIGN(Int8MatMulEngine engine, Int8MatMulEngine::make(*n.input(1)));
    return std::unique_ptr<Kernel>(new MatMulIntegerCpu(std::move(engine)));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto state = std::make_unique<Int8MatMulEngine::State>();
    TRN_ASSIGN(const size_t bytes,
               engine_.prepare(ctx.in(0), ctx.in(1), ctx.has_in(2) ? &ctx.in(2) : nullptr,
                               ctx.has_in(3) ? &ctx.in(3) : nullptr, ctx.threads(), 0, true, *state));
    ctx.request_scratch(bytes);
    return std::unique_ptr<KernelState>(std::move(state));
  }

  Status run(KernelContext& ctx) const override {
    engine_.run(ctx, *ctx.state<Int8MatMulEngine::State>(), ctx.in(0), ctx.in(1), ctx.has_in(2) ? &ctx.in(2) : nullptr,
                ctx.has_in(3) ? &ctx.in(3) : nullptr, ctx.out(0).as<int32_t>(), [](const Int8MatMulEngine::Tile&) {});
    return {};
  }

  bool reads_input(int i) const override { return i != 1 || !engine_.packed(); }

 private:
  explicit MatMulIntegerCpu(Int8MatMulEngine engine) : engine_(std::move(engine)) {}
  Int8MatMulEngine engine_;
};

constexpr OpDef kDefs[] = {{"MatMulInteger", infer, cpu<MatMulIntegerCpu>(DType::u8 | DType::i8), {.reviewed = 10}}};

}  // namespace

TRUNNION_OPS(mat_mul_integer, kDefs);

}  // namespace trunnion::ops
