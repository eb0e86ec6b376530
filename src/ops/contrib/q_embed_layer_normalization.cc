// QEmbedLayerNormalization (com.microsoft 1): EmbedLayerNormalization of 8-bit embeddings.
#include "kernels/quant.h"
#include "ops/contrib/embed_detail.h"
#include "ops/dispatch.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

constexpr EmbedInputs kInputs{0, 1, 2, 3, 4, 5, 6, 7, 1000};
// Scale and zero point of inputs 2 to 6.
constexpr int scale_of(int table) { return table + 6; }
constexpr int zero_of(int table) { return table + 11; }

Status infer(const ir::Node&, ir::Facts& f) {
  TRN_TRY(infer_embed(f, kInputs, DType::f32));
  for (int i = scale_of(2); i < f.inputs(); ++i)
    if (const auto dims = f.has_rank(i) ? f.in(i).concrete() : std::nullopt; dims && product(*dims) != 1)
      return invalid_argument("input {} has shape {}, expected one element", i, shape_text(*dims));
  const bool segments = f.has(kInputs.segment_table);
  for (int i : {scale_of(kInputs.segment_table), zero_of(kInputs.segment_table)})
    if (f.has(i) != segments) return invalid_argument("input {} must be there exactly when segment ids are", i);
  return {};
}

class QEmbedKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    return std::unique_ptr<Kernel>(new QEmbedKernel(n.attr("epsilon", 1e-12f)));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    ctx.request_scratch(2 * static_cast<size_t>(ctx.in(kInputs.gamma).count) * sizeof(float));
    return std::unique_ptr<KernelState>();
  }

  Status run(KernelContext& ctx) const override {
    for (int i = scale_of(2); i < ctx.inputs(); ++i)
      if (ctx.has_in(i) && ctx.in(i).count != 1)
        return invalid_argument("input {} has {} elements, expected one", i, ctx.in(i).count);
    const int64_t hidden = ctx.in(kInputs.gamma).count;
    auto* gamma = reinterpret_cast<float*>(ctx.scratch());
    widen(ctx, kInputs.gamma, 0, hidden, gamma);
    widen(ctx, kInputs.beta, 0, hidden, gamma + hidden);
    return run_embed(ctx, kInputs, gamma, gamma + hidden, epsilon_,
                     [&](int table, int64_t index, float* own) -> const float* {
                       const int64_t cols = ctx.in(table).dim(1);
                       widen(ctx, table, index * cols, cols, own);
                       return own;
                     });
  }

 private:
  explicit QEmbedKernel(float epsilon) : epsilon_(epsilon) {}

  static void widen(KernelContext& ctx, int input, int64_t at, int64_t count, float* to) {
    const TensorView &t = ctx.in(input), &zero = ctx.in(zero_of(input));
    const int32_t z = zero.dtype == DType::u8 ? *zero.as<const uint8_t>() : *zero.as<const int8_t>();
    kernels::dequantize(elem(t.dtype))(t.as<const uint8_t>() + at, to, static_cast<size_t>(count),
                                       *ctx.in(scale_of(input)).as<const float>(), z);
  }

  float epsilon_;
};

constexpr OpDef kDefs[] = {
    {"QEmbedLayerNormalization",
     infer,
     cpu<QEmbedKernel>(DType::u8 | DType::i8, kInputs.word_table),
     {.reviewed = 1},
     "com.microsoft",
     "com.microsoft::QEmbedLayerNormalization 1 (input_ids:T1, segment_ids?:T1, word_embedding_quant:T2, "
     "position_embedding_quant:T2, segment_embedding?:T2, gamma_quant:T2, beta_quant:T2, mask?:T1, "
     "word_embedding_scale:T, position_embedding_scale:T, segment_embedding_scale?:T, gamma_scale:T, beta_scale:T, "
     "word_embedding_zero_point:T2, position_embedding_zero_point:T2, segment_embedding_zero_point?:T2, "
     "gamma_zero_point:T2, beta_zero_point:T2) -> (layernorm_out:T, mask_index_out:T1) {epsilon:f=1e-12} T1=i32 "
     "T2=i8|u8 T=f32"},
};

}  // namespace

TRUNNION_OPS(q_embed_layer_normalization, kDefs);

}  // namespace trunnion::ops
