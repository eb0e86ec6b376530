// What Attention and QAttention (com.microsoft) share: everything behind the product that gives Q, K and V of a token
// in one row.
#pragma once
#include "ops/contrib/key_mask_detail.h"

namespace trunnion::ops {

inline constexpr int kNoInput = 1000;

// Where an operator has its inputs, or kNoInput.
struct SelfAttentionInputs {
  int weights, bias, mask, past, attention_bias, past_length;
};

class SelfAttention {
 public:
  struct State {
    AttentionShape shape;
    KeyMask mask;
    int64_t row = 0;  // elements of a row of Q, K and V
    int64_t past = 0;
    size_t qkv_at = 0, cache_at = 0, mask_at = 0, attention_at = 0;
  };

  static Result<SelfAttention> read(const ir::Node& n, SelfAttentionInputs in);
  Status infer(ir::Facts& f, DType out) const;
  // Adds its needs (Q, K and V too, at qkv_at) behind `offset` bytes of scratch; returns the total.
  Result<size_t> prepare(const PrepareContext& ctx, size_t offset, State& s) const;
  // qkv: rows of all tokens.
  Status run(KernelContext& ctx, const State& s, const float* qkv) const;

 private:
  struct Sizes {
    Dim batch, queries, q, v;  // q, v: elements of all heads of a token
  };
  Result<Sizes> sizes(const SymShape& x, const SymShape& w) const;

  SelfAttentionInputs in_{};
  int64_t heads_ = 0;
  std::vector<int64_t> hidden_;  // of Q, K and V; empty: thirds
  float scale_ = 0, filter_ = 0;
  bool causal_ = false, share_buffer_ = false;
};

}  // namespace trunnion::ops
