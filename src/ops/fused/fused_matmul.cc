// trunnion.FusedMatMul: matrix product with a bias per column, a residual and an activation in one pass (fp32).
// Made by the CPU pipeline only, never found in files.
#include "ops/math/matmul_detail.h"
#include "ops/nn/conv_detail.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

bool trans_b(const ir::Node& n) { return n.attr("transB", 0) != 0; }

Status infer_product(const ir::Node& n, ir::Facts& f) {
  if (!trans_b(n)) return infer_matmul(f, f.dtype(0));
  f.set(0, f.dtype(0));
  TRN_TRY(expect_rank(f, 1, 2));
  if (!f.has_rank(0) || !f.has_rank(1)) return {};
  SymShape y = f.in(0).shape();
  if (y.empty()) return invalid_argument("input 0 is a scalar");
  const Dim &ka = y.back(), &kb = f.in(1).dim(1);
  if (ka.is_int() && kb.is_int() && ka.value() != kb.value())
    return invalid_argument("the inner dimensions are {} and {}", ka.value(), kb.value());
  y.back() = f.in(1).dim(0);
  f.set(0, f.dtype(0), std::move(y));
  return {};
}

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_TRY(infer_product(n, f));
  if (!f.out(0).has_rank()) return {};
  const SymShape& y = f.out(0).shape();
  if (f.has_rank(2) && !y.empty()) {
    Dim entries = element_count(f.in(2).shape());
    if (entries.is_int() && y.back().is_int() && entries.value() != y.back().value())
      return invalid_argument("the bias of shape {} does not fit the product of shape {}", shape_text(f.in(2).shape()),
                              shape_text(y));
  }
  return f.has_rank(3) ? expect_same_shape(f.in(3).shape(), y, "the residual") : Status{};
}

class FusedMatMulCpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    TRN_ASSIGN(kernels::Epilogue epilogue, read_activation(n));
    epilogue.alpha = n.attr("alpha", 1.0f);
    TRN_ASSIGN(MatMulEngine engine,
               MatMulEngine::make(*n.input(1), false, trans_b(n), static_cast<int>(n.attr("bf16", 0))));
    return std::unique_ptr<Kernel>(new FusedMatMulCpu(std::move(engine), epilogue, trans_b(n)));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto state = std::make_unique<MatMulEngine::State>();
    // With a transposed B only the last dimension of A counts: the rest are rows.
    TensorView a = ctx.in(0);
    int64_t folded[2];
    if (trans_b_ && a.rank != 2) {
      folded[1] = a.dim(a.rank - 1);
      folded[0] = product(a.shape(), 0, a.rank - 1);
      a.rank = 2;
      a.dims = folded;
    }
    TRN_ASSIGN(const size_t bytes, engine_.prepare(a, ctx.in(1), ctx.threads(), 0, *state));
    ctx.request_scratch(bytes);
    return std::unique_ptr<KernelState>(std::move(state));
  }

  Status run(KernelContext& ctx) const override {
    const auto& state = *ctx.state<MatMulEngine::State>();
    kernels::Epilogue e = epilogue_;
    if (ctx.has_in(2)) e.bias_col = ctx.in(2).as<float>();
    if (ctx.has_in(3)) {
      e.residual = ctx.in(3).as<float>();
      e.residual_ld = state.shape.n;
    }
    engine_.run(ctx, state, ctx.in(0).as<float>(), ctx.in(1).as<float>(), ctx.out(0).as<float>(), e,
                state.shape.m * state.shape.n);
    return {};
  }

  bool reads_input(int i) const override { return i != 1 || !engine_.packed(); }

 private:
  FusedMatMulCpu(MatMulEngine engine, kernels::Epilogue epilogue, bool trans_b)
      : engine_(std::move(engine)), epilogue_(epilogue), trans_b_(trans_b) {}
  MatMulEngine engine_;
  kernels::Epilogue epilogue_;
  bool trans_b_;
};

// bias: one entry per column; residual: the shape of the output. bf16: planes of bfloat16 that factors
// may be split into.
constexpr OpDef kDefs[] = {
    {"FusedMatMul",
     infer,
     cpu<FusedMatMulCpu>(kF32),
     {.reviewed = 1},
     "trunnion",
     "trunnion::FusedMatMul 1 (A:T, B:T, bias?:T, residual?:T) -> (Y:T) {activation:s='none', activation_a:f=0, "
     "activation_b:f=0, alpha:f=1, bf16:i=0, residual_after_activation:i=0, transB:i=0} T=f32"},
};

}  // namespace

TRUNNION_OPS(fused_matmul, kDefs);

}  // namespace trunnion::ops
