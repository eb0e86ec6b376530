// The CPU provider's lowering: what runs over its nodes after placement, in order, by optimization level.
#include "ep/cpu/cpu_provider.h"
#include "ep/cpu/fusion.h"

namespace trunnion::ep {

std::vector<passes::Pass> cpu_pipeline(Level level) {
  std::vector<passes::Pass> list{{"StrictMath", strict_math, true}};  // holds at every level of optimization
  if (level < Level::extended) return list;
  list = {
      {"QDQSelectorActionTransformer", qdq_fusion},  // first: it looks for operators as the model has them
      {"StrictMath", strict_math, true},             // before anything could become an epilogue
      {"SavedFusion", saved_fusion},                 // what a file has fused already takes part in all that follows
      {"SavedLayout", saved_layout},                 // likewise
      {"PadFusion", pad_fusion},                     // first: it looks for plain Conv nodes
      {"BatchNormFusion", batch_norm_fusion},        // likewise
      {"SwishFusion", swish_fusion},             // spells activations as one node, so that they can become epilogues
      {"GeluFusion", gelu_fusion},               // likewise
      {"LayerNormFusion", layer_norm_fusion},    // takes its Adds before they look like biases or residuals
      {"AttentionFusion", attention_fusion},     // likewise
      {"MatMulBiasFusion", matmul_bias_fusion},  // the bias comes before activation and residual
      {"ActivationFusion", activation_fusion},   // conv + activation
      {"ResidualFusion", residual_fusion},       // conv (+ activation) + residual
      {"ActivationFusionAfterResidual", activation_fusion},  // conv + residual + activation
  };
  if (level >= Level::layout) list.push_back({"ChannelsLast", channels_last});  // moves whole fused nodes
  list.push_back({"GateFusion", gate_fusion});                                  // of convolutions with channels last
  list.push_back({"WinogradChoice", winograd_choice});                          // after all that makes a convolution
  list.push_back({"Bf16Choice", bf16_choice});                // of the other convolutions, and of products
  list.push_back({"ElementwiseFusion", elementwise_fusion});  // last: takes what nothing else has taken
  return list;
}

}  // namespace trunnion::ep
