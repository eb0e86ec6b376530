// EmbedLayerNormalization (com.microsoft 1): word, position and segment embeddings of tokens, added and normalized.
#include "kernels/convert.h"
#include "ops/contrib/embed_detail.h"
#include "ops/half_adapter.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

constexpr EmbedInputs kInputs{0, 1, 2, 3, 4, 5, 6, 7, 8};

Status infer(const ir::Node&, ir::Facts& f) { return infer_embed(f, kInputs, f.dtype(kInputs.word_table)); }

class EmbedKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    return std::unique_ptr<Kernel>(new EmbedKernel(n.attr("epsilon", 1e-12f)));
  }
  Status run(KernelContext& ctx) const override {
    return run_embed(ctx, kInputs, ctx.in(kInputs.gamma).as<const float>(), ctx.in(kInputs.beta).as<const float>(),
                     epsilon_, [&](int table, int64_t index, float*) {
                       return ctx.in(table).as<const float>() + index * ctx.in(table).dim(1);
                     });
  }

 private:
  explicit EmbedKernel(float epsilon) : epsilon_(epsilon) {}
  float epsilon_;
};

// f16: the tables stay as they are, only the rows that are looked up are widened.
class HalfEmbedKernel final : public Kernel {
 public:
  explicit HalfEmbedKernel(float epsilon) : epsilon_(epsilon) {}

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    const int64_t hidden = ctx.in(kInputs.gamma).count, rows = ctx.has_out(2) ? 2 : 1;
    ctx.request_scratch(static_cast<size_t>(2 * hidden + rows * ctx.out(0).count) * sizeof(float));
    return std::unique_ptr<KernelState>();
  }

  Status run(KernelContext& ctx) const override {
    const int64_t hidden = ctx.in(kInputs.gamma).count;
    auto* gamma = reinterpret_cast<float*>(ctx.scratch());
    float *beta = gamma + hidden, *rows = beta + hidden;
    kernels::f16_to_f32(ctx.in(kInputs.gamma).as<const uint16_t>(), gamma, static_cast<size_t>(hidden));
    kernels::f16_to_f32(ctx.in(kInputs.beta).as<const uint16_t>(), beta, static_cast<size_t>(hidden));
    KernelContext inner = ctx;
    TensorView out[3];
    TensorView* outs[3] = {};
    for (int i = 0; i < ctx.outputs(); ++i) {
      if (!ctx.has_out(i)) continue;
      out[i] = ctx.out(i);
      outs[i] = &out[i];
      if (i == 1) continue;
      out[i].dtype = DType::f32;
      out[i].data = i == 0 ? rows : rows + ctx.out(0).count;
    }
    inner.out_ = outs;
    TRN_TRY(run_embed(inner, kInputs, gamma, beta, epsilon_, [&](int table, int64_t index, float* own) -> const float* {
      const int64_t cols = ctx.in(table).dim(1);
      kernels::f16_to_f32(ctx.in(table).as<const uint16_t>() + index * cols, own, static_cast<size_t>(cols));
      return own;
    }));
    for (int i : {0, 2})
      if (ctx.has_out(i))
        kernels::f32_to_f16(out[i].as<const float>(), ctx.out(i).as<uint16_t>(), static_cast<size_t>(out[i].count));
    return {};
  }

 private:
  float epsilon_;
};

Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
  if (n.input(kInputs.word_table)->fact.dtype() == DType::f16)
    return std::unique_ptr<Kernel>(new HalfEmbedKernel(n.attr("epsilon", 1e-12f)));
  return EmbedKernel::make(n);
}

constexpr OpDef kDefs[] = {
    {"EmbedLayerNormalization",
     infer,
     {DType::f32 | DType::f16, &make, kInputs.word_table},
     {.reviewed = 1},
     "com.microsoft",
     "com.microsoft::EmbedLayerNormalization 1 (input_ids:T1, segment_ids?:T1, word_embedding:T, position_embedding:T, "
     "segment_embedding?:T, gamma:T, beta:T, mask?:T1, position_ids?:T1) -> (output:T, mask_index?:T1, "
     "embedding_sum?:T) {epsilon:f=1e-12, mask_index_type:i} T1=i32 T=f32|f16"},
};

}  // namespace

TRUNNION_OPS(embed_layer_normalization, kDefs);

}  // namespace trunnion::ops
