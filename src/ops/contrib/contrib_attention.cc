// Attention (com.microsoft 1): self-attention with the projection of its input to Q, K and V, masks and a past.
#include "ops/contrib/self_attention_detail.h"
#include "ops/math/matmul_detail.h"
#include "ops/widen.h"

namespace trunnion::ops {
namespace {

enum Input { kX, kWeights, kBias, kMask, kPast, kAttentionBias, kPastLength };
constexpr SelfAttentionInputs kInputs{kWeights, kBias, kMask, kPast, kAttentionBias, kPastLength};

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const SelfAttention a, SelfAttention::read(n, kInputs));
  return a.infer(f, f.dtype(0));
}

struct State final : KernelState {
  MatMulEngine::State product;
  SelfAttention::State attention;
};

class AttentionCpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    TRN_ASSIGN(SelfAttention attention, SelfAttention::read(n, kInputs));
    TRN_ASSIGN(MatMulEngine engine, MatMulEngine::make(*n.input(kWeights), false, false));
    return std::unique_ptr<Kernel>(new AttentionCpu(std::move(attention), std::move(engine)));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto s = std::make_unique<State>();
    TRN_ASSIGN(size_t end, engine_.prepare(ctx.in(kX), ctx.in(kWeights), ctx.threads(), 0, s->product));
    TRN_ASSIGN(end, attention_.prepare(ctx, end, s->attention));
    ctx.request_scratch(end);
    return std::unique_ptr<KernelState>(std::move(s));
  }

  Status run(KernelContext& ctx) const override {
    const State& s = *ctx.state<State>();
    auto* qkv = reinterpret_cast<float*>(ctx.scratch() + s.attention.qkv_at);
    kernels::Epilogue epilogue;
    if (ctx.has_in(kBias)) epilogue.bias_col = ctx.in(kBias).as<const float>();
    engine_.run(ctx, s.product, ctx.in(kX).as<const float>(), ctx.in(kWeights).as<const float>(), qkv, epilogue);
    return attention_.run(ctx, s.attention, qkv);
  }

  bool reads_input(int i) const override { return i != kWeights || !engine_.packed(); }

 private:
  AttentionCpu(SelfAttention attention, MatMulEngine engine)
      : attention_(std::move(attention)), engine_(std::move(engine)) {}

  SelfAttention attention_;
  MatMulEngine engine_;
};

constexpr OpDef kDefs[] = {
    {"Attention",
     infer,
     cpu_widened<AttentionCpu>(DType::f32 | DType::f16 | DType::bf16),
     {.reviewed = 1},
     "com.microsoft",
     "com.microsoft::Attention 1 (input:T, weights:T, bias?:T, mask_index?:M, past?:T, attention_bias?:T, "
     "past_sequence_length?:M) -> (output:T, present?:T) {num_heads!:i, unidirectional:i=0, qkv_hidden_sizes:is, "
     "mask_filter_value:f, scale:f, do_rotary:i, rotary_embedding_dim:i, past_present_share_buffer:i} T=f32|f16|bf16 "
     "M=i32"},
};

}  // namespace

TRUNNION_OPS(contrib_attention, kDefs);

}  // namespace trunnion::ops
