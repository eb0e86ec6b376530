#include "ops/nn/linear_attention_detail.h"

#include <algorithm>
#include <cmath>

#include "kernels/recurrent_state.h"
#include "kernels/unary.h"
#include "ops/tiles.h"

namespace trunnion::ops {
namespace {

enum Input { kQuery, kKey, kValue, kState, kDecay, kBeta };

// Columns of a state that a run through the tokens handles at once: they stay in the cache.
constexpr int64_t kColumns = 64;

class LinearAttentionCpu final : public Kernel {
 public:
  explicit LinearAttentionCpu(const LinearAttentionParams& p) : p_(p) {}

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    const TensorView& present = ctx.out(1);
    const int64_t key = present.count > 0 ? present.dim(present.rank - 2) : 0;
    ctx.request_scratch(decay_bytes(ctx) + slot_bytes(key) * static_cast<size_t>(std::max(ctx.threads(), 1)));
    return std::unique_ptr<KernelState>();
  }

  Status run(KernelContext& ctx) const override {
    const TensorView &q = ctx.in(kQuery), &present = ctx.out(1);
    const Head h{q.dim(0),
                 q.dim(1),
                 present.dim(present.rank - 2),
                 present.dim(present.rank - 1),
                 std::max(p_.q_heads, p_.kv_heads),
                 present.dim(present.rank - 2) ? ctx.in(kKey).dim(2) / present.dim(present.rank - 2) : 1};
    auto* decay = reinterpret_cast<float*>(ctx.scratch());
    if (p_.decays)
      ctx.parallel_for(ctx.in(kDecay).count, 4096, [&](int64_t begin, int64_t end) {
        kernels::unary(kernels::UnaryOp::exp, kernels::Elem::f32)(ctx.in(kDecay).as<const float>() + begin,
                                                                  decay + begin, static_cast<size_t>(end - begin), {});
      });
    const int64_t pieces = (h.value + kColumns - 1) / kColumns;
    for_each_tile(ctx, h.batch * p_.kv_heads * pieces, ctx.scratch() + decay_bytes(ctx), slot_bytes(h.key),
                  [&](int64_t i, std::byte* own) {
                    run_columns(ctx, h, decay, i / pieces / p_.kv_heads, i / pieces % p_.kv_heads,
                                i % pieces * kColumns, reinterpret_cast<float*>(own));
                  });
    return {};
  }

 private:
  struct Head {
    int64_t batch, tokens, key, value, out_heads, key_heads;
  };

  // The decay's factors are worked out before.
  template <class Context>
  size_t decay_bytes(Context& ctx) const {
    return p_.decays ? (static_cast<size_t>(ctx.in(kDecay).count) * sizeof(float) + 63) / 64 * 64 : 0;
  }
  static size_t slot_bytes(int64_t key) { return static_cast<size_t>(key * kColumns) * sizeof(float); }

  static void copy_columns(const Head& h, int64_t cols, const float* from, int64_t from_stride, float* to,
                           int64_t to_stride) {
    for (int64_t r = 0; r < h.key; ++r) std::copy_n(from + r * from_stride, cols, to + r * to_stride);
  }

  // Columns [column, column + kColumns) of a head's state, through all tokens. Many tokens find them close together, in
  // `own`.
  void run_columns(KernelContext& ctx, const Head& h, const float* decay, int64_t batch, int64_t head, int64_t column,
                   float* own) const {
    const int64_t matrix = h.key * h.value, slot = h.batch * p_.kv_heads * matrix;
    const int64_t cols = std::min(kColumns, h.value - column), windows = std::max<int64_t>(p_.window, 1);
    const int64_t at = (batch * p_.kv_heads + head) * matrix + column;
    float* states = ctx.out(1).as<float>() + at;
    float* last = states + (windows - 1) * slot;  // the last slot holds the running one
    float* state = h.tokens > 4 ? own : last;
    const int64_t stride = h.tokens > 4 ? kColumns : h.value;
    const float* past = ctx.has_in(kState) ? ctx.in(kState).as<const float>() + at + (windows - 1) * slot : nullptr;
    if (past && past != state) copy_columns(h, cols, past, h.value, state, stride);
    for (int64_t r = 0; !past && r < h.key; ++r) std::fill_n(state + r * stride, cols, 0.0f);
    for (int64_t w = 0; w < std::min(windows - 1, windows - h.tokens); ++w)
      for (int64_t r = 0; r < h.key; ++r) std::fill_n(states + w * slot + r * h.value, cols, 0.0f);
    const int64_t group = std::max<int64_t>(p_.q_heads / p_.kv_heads, 1);  // queries of this head
    const int64_t first = p_.q_heads >= p_.kv_heads ? head * group : head / (p_.kv_heads / p_.q_heads);
    const int64_t key_head = head / (p_.kv_heads / h.key_heads);
    const float scale = p_.scale != 0 ? p_.scale : 1 / std::sqrt(static_cast<float>(h.key));
    kernels::StateStep step;
    step.state = state;
    step.rows = h.key;
    step.cols = cols;
    step.stride = stride;
    step.corrects = p_.corrects;
    step.scale = scale;
    for (int64_t t = 0; t < h.tokens; ++t) {
      const int64_t token = batch * h.tokens + t;
      step.key = ctx.in(kKey).as<const float>() + (token * h.key_heads + key_head) * h.key;
      step.value = ctx.in(kValue).as<const float>() + (token * p_.kv_heads + head) * h.value + column;
      if (p_.decays) {
        const int64_t row = ctx.in(kDecay).dim(2);
        step.by_row = row != p_.kv_heads;
        step.decay = decay + token * row + head * (step.by_row ? h.key : 1);
      }
      if (p_.corrects) {
        const int64_t row = ctx.in(kBeta).dim(2);
        step.rate = ctx.in(kBeta).as<const float>()[token * row + (row == 1 ? 0 : head)];
      }
      const float* query = ctx.in(kQuery).as<const float>() + (token * p_.q_heads + first) * h.key;
      float* y = ctx.out(0).as<float>() + (token * h.out_heads + (group > 1 ? first : head)) * h.value + column;
      step.query = query;
      step.y = y;
      kernels::recurrent_state().update(step);
      for (int64_t g = 1; g < group; ++g)
        kernels::recurrent_state().read(state, h.key, cols, stride, query + g * h.key, scale, y + g * h.value);
      if (const int64_t w = windows - h.tokens + t; w >= 0 && w + 1 < windows)
        copy_columns(h, cols, state, stride, states + w * slot, h.value);
    }
    if (state != last) copy_columns(h, cols, state, stride, last, h.value);
  }

  LinearAttentionParams p_;
};

}  // namespace

std::unique_ptr<Kernel> make_linear_attention(const LinearAttentionParams& params) {
  return std::make_unique<LinearAttentionCpu>(params);
}

}  // namespace trunnion::ops
