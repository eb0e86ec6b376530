// BeamSearch, WhisperBeamSearch, GreedySearch and Sampling (com.microsoft 1): text generation as one node, with the
// decoder as its body. Refused with a word of what to do instead.
#include "base/error.h"
#include "ops/op.h"

namespace trunnion::ops {
namespace {

Status infer(const ir::Node&, ir::Facts& f) {
  f.set(0, DType::i32);
  return {};
}

Result<std::unique_ptr<Kernel>> refuse(const ir::Node& n) {
  return not_implemented(
      "{} generates text inside the model, which is not supported: export the decoder by itself and call it for every "
      "token",
      n.op_type());
}

#define TRN_BODIES "decoder!:g, encoder:g, init_decoder:g, "
#define TRN_TOKENS \
  "decoder_start_token_id:i=-1, eos_token_id!:i, no_repeat_ngram_size:i=0, pad_token_id!:i, vocab_size:i=-1"

constexpr CpuKernel kRefused{DTypes(), refuse, -1};  // no type: trunnion operators lists them as refused
constexpr OpDef kDefs[] = {
    {"BeamSearch",
     infer,
     kRefused,
     {.reviewed = 1},
     "com.microsoft",
     "com.microsoft::BeamSearch 1 (input_ids:F, max_length:i32, min_length?:i32, num_beams:i32, "
     "num_return_sequences:i32, length_penalty?:T, repetition_penalty?:T, vocab_mask?:i32, prefix_vocab_mask?:i32, "
     "attention_mask?:i32, decoder_input_ids?:i32, logits_processor?:i32) -> (sequences:i32, sequences_scores?:T, "
     "scores?:T) {" TRN_BODIES "early_stopping:i=0, model_type:i=0, " TRN_TOKENS "} T=f32|f16 F=f32|i32|f16"},
    {"WhisperBeamSearch",
     infer,
     kRefused,
     {.reviewed = 1},
     "com.microsoft",
     "com.microsoft::WhisperBeamSearch 1 (input_ids:F, max_length:i32, min_length?:i32, num_beams:i32, "
     "num_return_sequences:i32, length_penalty?:T, repetition_penalty?:T, vocab_mask?:i32, prefix_vocab_mask?:i32, "
     "attention_mask?:i32, decoder_input_ids?:i32, logits_processor?:i32, cross_qk_layer_head?:i32, "
     "extra_decoding_ids?:i32, temperature?:T) -> (sequences:i32, sequences_scores?:T, scores?:T, cross_qk?:f32, "
     "non_speech_probs?:T) {" TRN_BODIES
     "beginning_timestamp_token_id:i, decoder_output_cross_qk:i, early_stopping:i=0, "
     "model_type:i=2, no_speech_token_id:i, no_timestamps_token_id:i, start_of_lm_token_id:i, transcribe_token_id:i, "
     "translate_token_id:i, " TRN_TOKENS "} T=f32|f16 F=f32|i32|f16"},
    {"GreedySearch",
     infer,
     kRefused,
     {.reviewed = 1},
     "com.microsoft",
     "com.microsoft::GreedySearch 1 (input_ids:i32, max_length:i32, min_length?:i32, repetition_penalty?:T, "
     "vocab_mask?:i32, prefix_vocab_mask?:i32, attention_mask?:i32) -> (sequences:i32) {" TRN_BODIES
     "model_type:i=0, " TRN_TOKENS "} T=f32"},
    {"Sampling",
     infer,
     kRefused,
     {.reviewed = 1},
     "com.microsoft",
     "com.microsoft::Sampling 1 (input_ids:i32, max_length:i32, min_length?:i32, repetition_penalty?:T, "
     "vocab_mask?:i32, prefix_vocab_mask?:i32, attention_mask?:i32, presence_mask?:i32, seed?:i32) -> (sequences:i32, "
     "filtered_logits?:T) {" TRN_BODIES "custom:i=0, filter_value:f=-1e20, min_tokens_to_keep:i=0, model_type:i=0, "
     "presence_penalty:f=0, temperature:f=1, top_p:f=0, " TRN_TOKENS "} T=f32"},
};

}  // namespace

TRUNNION_OPS(decoding_loops, kDefs);

}  // namespace trunnion::ops
