// What MultiHeadAttention and DecoderMaskedMultiHeadAttention (com.microsoft) share: attention over Q, K and V that
// come in several layouts, with biases, masks, a past that grows or a buffer that fills up, and beams.
#pragma once
#include "ops/contrib/key_mask_detail.h"

namespace trunnion::ops {

// Places of the inputs; query, key and value are the first three.
struct MultiHeadInputs {
  int bias, mask, attention_bias, past_key, past_value, past_length, beam_width, indirection;
};

Status infer_multi_head(const ir::Node& n, ir::Facts& f, const MultiHeadInputs& in);
Result<std::unique_ptr<Kernel>> make_multi_head(const ir::Node& n, const MultiHeadInputs& in);

}  // namespace trunnion::ops
