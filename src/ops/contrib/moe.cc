// MoE (com.microsoft 1): mixture of experts, each a small perceptron.
#include "kernels/gemm.h"
#include "ops/contrib/moe_detail.h"
#include "ops/half_adapter.h"
#include "ops/widen.h"

namespace trunnion::ops {
namespace {

constexpr MoeInputs kInputs{{2, 4, 6}, {3, 5, 7}};

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const MoeParams p, read_moe(n));
  constexpr int64_t kOne[] = {1, 1, 1};
  return infer_moe(p, f, kInputs, kOne);
}

struct State final : KernelState {
  MoeShape shape;
};

class MoeCpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    TRN_ASSIGN(const MoeParams p, read_moe(n));
    std::unique_ptr<MoeCpu> kernel(new MoeCpu(p));
    for (int i = 0; i < 3; ++i) {
      const ir::Value* v = n.input(kInputs.weights[i]);
      if (v && v->is_constant() && v->constant().rank() == 3 && v->constant().count() > 0)
        TRN_TRY(kernel->pack(v->constant(), kernel->packed_[i]));
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto s = std::make_unique<State>();
    s->shape = moe_shape(p_, ctx, kInputs);
    ctx.request_scratch(moe_scratch(p_, s->shape, ctx.threads()));
    return std::unique_ptr<KernelState>(std::move(s));
  }

  Status run(KernelContext& ctx) const override {
    const MoeShape& s = ctx.state<State>()->shape;
    MoeArgs a;
    a.x = ctx.in(0).as<const float>();
    a.scores = ctx.in(1).as<const float>();
    a.y = ctx.out(0).as<float>();
    const float* weights[3] = {};
    for (int i = 0; i < 3; ++i) {
      a.packed[i] = packed_[i].data<float>();
      if (ctx.has_in(kInputs.weights[i])) weights[i] = ctx.in(kInputs.weights[i]).as<const float>();
      if (ctx.has_in(kInputs.bias[i])) a.bias[i] = ctx.in(kInputs.bias[i]).as<const float>();
    }
    return run_moe(
        ctx, p_, s, a,
        [&](int matrix, int64_t expert, int64_t begin, int64_t end, float* to) {
          const int64_t k = s.cols(matrix), n = s.rows(matrix);
          kernels::gemm_pack_b(weights[matrix] + expert * n * k, 1, k, k, n, begin, end, to);
        },
        ctx.scratch());
  }

  bool reads_input(int i) const override {
    for (int m = 0; m < 3; ++m)
      if (kInputs.weights[m] == i) return !packed_[m].valid();
    return true;
  }

 private:
  explicit MoeCpu(MoeParams p) : p_(p) {}

  static Status pack(const Tensor& constant, Tensor& to) {
    Tensor w = constant;
    if (is_half(w.dtype())) {
      TRN_ASSIGN(w, to_f32(w));
    }
    const int64_t n = w.shape()[1], k = w.shape()[2], one = expert_panels(k, n);
    const int64_t size[] = {w.shape()[0], one};
    TRN_ASSIGN(to, Tensor::allocate(DType::f32, size));
    for (int64_t e = 0; e < w.shape()[0]; ++e)
      kernels::gemm_pack_b(w.data<float>() + e * n * k, 1, k, k, n, 0, kernels::gemm_panel_count(n),
                           to.data<float>() + e * one);
    return {};
  }

  MoeParams p_;
  Tensor packed_[3];  // of constant weights, expert by expert
};

constexpr OpDef kDefs[] = {
    {"MoE",
     infer,
     cpu_widened<MoeCpu>(DType::f32 | DType::f16 | DType::bf16),
     {.reviewed = 1},
     "com.microsoft",
     "com.microsoft::MoE 1 (input:T, router_probs:T, fc1_experts_weights:T, fc1_experts_bias?:T, "
     "fc2_experts_weights:T, fc2_experts_bias?:T, fc3_experts_weights?:T, fc3_experts_bias?:T) -> (output:T) {k:i=1, "
     "activation_type:s='relu', normalize_routing_weights:i=0, use_sparse_mixer:i=0, activation_alpha:f=1, "
     "activation_beta:f=0, swiglu_limit:f, swiglu_fusion:i=0, swiglu_limit_after_activation:i=0} T=f32|f16|bf16"},
};

}  // namespace

TRUNNION_OPS(moe, kDefs);

}  // namespace trunnion::ops
