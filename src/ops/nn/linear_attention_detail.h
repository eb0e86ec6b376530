// Attention by a recurrent state, a matrix for each head that every token decays and updates: for LinearAttention of
// ai.onnx and of com.microsoft, which have the same inputs and outputs.
#pragma once
#include "ops/op.h"

namespace trunnion::ops {

struct LinearAttentionParams {
  int64_t q_heads = 1, kv_heads = 1;  // one divides the other
  int64_t window = 0;                 // the states behind that many last tokens are shown; 0: one, without a dimension
  float scale = 0;                    // 0: 1 / sqrt(elements of a key)
  bool decays = false, corrects = false;
};

// f32. Inputs: query, key, value, past state or absent, decay, beta.
std::unique_ptr<Kernel> make_linear_attention(const LinearAttentionParams& params);

}  // namespace trunnion::ops
