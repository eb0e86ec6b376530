// QAttention (com.microsoft 1): self-attention whose projection to Q, K and V is a product of 8-bit matrices.
#include "ops/contrib/self_attention_detail.h"
#include "ops/quant/int8_matmul_detail.h"
#include "ops/shape.h"
#include "ops/widen.h"

namespace trunnion::ops {
namespace {

enum Input { kX, kWeights, kBias, kXScale, kWeightScale, kMask, kXZero, kWeightZero, kPast };
constexpr SelfAttentionInputs kInputs{kWeights, kBias, kMask, kPast, kNoInput, kNoInput};

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const SelfAttention a, SelfAttention::read(n, kInputs));
  for (int i : {kXScale, kXZero})
    if (const auto dims = f.has_rank(i) ? f.in(i).concrete() : std::nullopt; dims && product(*dims) != 1)
      return invalid_argument("input {} has shape {}, expected one element", i, shape_text(*dims));
  for (int i : {kWeightScale, kWeightZero})
    if (f.has(i)) TRN_TRY(check_matrix_terms(f, i, kX, kWeights, false));
  return a.infer(f, f.dtype(kXScale));
}

struct State final : KernelState {
  Int8MatMulEngine::State product;
  SelfAttention::State attention;
  size_t scale_at = 0;
};

class QAttentionCpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    TRN_ASSIGN(SelfAttention attention, SelfAttention::read(n, kInputs));
    TRN_ASSIGN(Int8MatMulEngine engine, Int8MatMulEngine::make(*n.input(kWeights)));
    return std::unique_ptr<Kernel>(new QAttentionCpu(std::move(attention), std::move(engine)));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto s = std::make_unique<State>();
    TRN_ASSIGN(size_t end, engine_.prepare(ctx.in(kX), ctx.in(kWeights), optional(ctx, kXZero),
                                           optional(ctx, kWeightZero), ctx.threads(), 0, false, s->product));
    s->scale_at = end;
    end += (static_cast<size_t>(ctx.in(kWeightScale).count) * sizeof(float) + 63) / 64 * 64;
    TRN_ASSIGN(end, attention_.prepare(ctx, end, s->attention));
    ctx.request_scratch(end);
    return std::unique_ptr<KernelState>(std::move(s));
  }

  Status run(KernelContext& ctx) const override {
    const State& s = *ctx.state<State>();
    const int64_t row = s.attention.row, scales = ctx.in(kWeightScale).count;
    if (ctx.in(kXScale).count != 1 || (scales != 1 && scales != row) || ctx.in(kBias).count != row)
      return invalid_argument("scales and bias have {}, {} and {} elements for {} columns of weights",
                              ctx.in(kXScale).count, scales, ctx.in(kBias).count, row);
    auto* scale = reinterpret_cast<float*>(ctx.scratch() + s.scale_at);
    auto* qkv = reinterpret_cast<float*>(ctx.scratch() + s.attention.qkv_at);
    for (int64_t i = 0; i < scales; ++i)
      scale[i] = *ctx.in(kXScale).as<const float>() * ctx.in(kWeightScale).as<const float>()[i];
    const auto* bias = ctx.in(kBias).as<const float>();
    engine_.run(ctx, s.product, ctx.in(kX), ctx.in(kWeights), optional(ctx, kXZero), optional(ctx, kWeightZero),
                nullptr, [&](const Int8MatMulEngine::Tile& t) {
                  kernels::RequantizeArgs args;
                  args.x = t.c;
                  args.x_stride = t.ldc;
                  args.rows = t.rows;
                  args.cols = t.cols;
                  args.scale_per_col = scales > 1;
                  args.scale = scales > 1 ? scale + t.col : scale;
                  const int64_t first = t.batch * s.product.shape.m + t.row;
                  kernels::requantize().to_f32(args, qkv + first * row + t.col, row, bias + t.col);
                });
    return attention_.run(ctx, s.attention, qkv);
  }

 private:
  QAttentionCpu(SelfAttention attention, Int8MatMulEngine engine)
      : attention_(std::move(attention)), engine_(std::move(engine)) {}

  template <class Context>
  static const TensorView* optional(Context& ctx, int i) {
    return ctx.has_in(i) ? &ctx.in(i) : nullptr;
  }

  SelfAttention attention_;
  Int8MatMulEngine engine_;
};

constexpr OpDef kDefs[] = {
    {"QAttention",
     infer,
     cpu_widened<QAttentionCpu>(DType::u8 | DType::i8),
     {.reviewed = 1},
     "com.microsoft",
     "com.microsoft::QAttention 1 (input:T1, weight:T2, bias:T3, input_scale:T3, weight_scale:T3, mask_index?:T4, "
     "input_zero_point?:T1, weight_zero_point?:T2, past?:T3) -> (output:T3, present?:T3) {num_heads!:i, "
     "unidirectional:i=0, mask_filter_value:f, scale:f, do_rotary:i, past_present_share_buffer:i} T1=i8|u8 T2=i8|u8 "
     "T3=f32|f16 T4=i32"},
};

}  // namespace

TRUNNION_OPS(q_attention, kDefs);

}  // namespace trunnion::ops
