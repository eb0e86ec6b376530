// MultiHeadAttention and DecoderMaskedMultiHeadAttention (com.microsoft 1): attention over projected Q, K and V. The
// second is the form for one query at a time.
#include "ops/contrib/multi_head_detail.h"
#include "ops/contrib/self_attention_detail.h"
#include "ops/widen.h"

namespace trunnion::ops {
namespace {

constexpr MultiHeadInputs kInputs{3, 4, 5, 6, 7, 8, kNoInput, 9};
constexpr MultiHeadInputs kDecoderInputs{10, 3, 4, 5, 6, 7, 8, 9};

const MultiHeadInputs& inputs(const ir::Node& n) {
  return n.op_type() == "MultiHeadAttention" ? kInputs : kDecoderInputs;
}

Status infer(const ir::Node& n, ir::Facts& f) { return infer_multi_head(n, f, inputs(n)); }

struct Maker {
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) { return make_multi_head(n, inputs(n)); }
};

constexpr DTypes kTypes = DType::f32 | DType::f16 | DType::bf16;

constexpr OpDef kDefs[] = {
    {"MultiHeadAttention",
     infer,
     cpu_widened<Maker>(kTypes),
     {.reviewed = 1, .in_place = {{1, 6}, {2, 7}}},
     "com.microsoft",
     "com.microsoft::MultiHeadAttention 1 (query:T, key?:T, value?:T, bias?:T, key_padding_mask?:M, attention_bias?:T, "
     "past_key?:T, past_value?:T, past_sequence_length?:M, cache_indirection?:M) -> (output:T, present_key?:T, "
     "present_value?:T, qk?:QK) {num_heads!:i, mask_filter_value:f, scale:f, unidirectional:i=0} T=f32|f16|bf16 "
     "QK=f32|f16|bf16 M=i32"},
    {"DecoderMaskedMultiHeadAttention",
     infer,
     cpu_widened<Maker>(kTypes),
     {.reviewed = 1, .in_place = {{1, 5}, {2, 6}}},
     "com.microsoft",
     "com.microsoft::DecoderMaskedMultiHeadAttention 1 (query:T, key?:T, value?:T, mask_index?:M, attention_bias?:T, "
     "past_key?:T, past_value?:T, past_sequence_length?:M, beam_width?:M, cache_indirection?:M, bias?:T) -> (output:T, "
     "present_key?:T, present_value?:T, qk?:QK) {num_heads!:i, past_present_share_buffer:i, scale:f, "
     "mask_filter_value:f, output_qk:i} T=f32|f16|bf16 QK=f32|f16|bf16 M=i32"},
};

}  // namespace

TRUNNION_OPS(multi_head_attention, kDefs);

}  // namespace trunnion::ops
