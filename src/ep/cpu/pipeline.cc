// The CPU provider's lowering: what runs over its nodes after placement, in order, by optimization level.
#include "ep/cpu/cpu_provider.h"
#include "ep/cpu/fusion.h"

namespace trunnion::ep {

std::vector<passes::Pass> cpu_pipeline(Level level) {
  std::vector<passes::Pass> list;
  if (level < Level::extended) return list;
  list = {
      {"QDQSelectorActionTransformer", qdq_fusion},  // first: it looks for operators as the model has them
      {"SavedFusion", saved_fusion},                 // what a file has fused already takes part in all that follows
      {"SavedLayout", saved_layout},                 // likewise
      {"PadFusion", pad_fusion},                     // first: it looks for plain Conv nodes
      {"BatchNormFusion", batch_norm_fusion},        // likewise
      {"SwishFusion", swish_fusion},             // spells activations as one node, so that they can become epilogues
      {"GeluFusion", gelu_fusion},               // likewise
      {"LayerNormFusion", layer_norm_fusion},    // takes its Adds before they look like biases or residuals
      {"MatMulBiasFusion", matmul_bias_fusion},  // the bias comes before activation and residual
      {"ActivationFusion", activation_fusion},   // conv + activation
      {"ResidualFusion", residual_fusion},       // conv (+ activation) + residual
      {"ActivationFusionAfterResidual", activation_fusion},  // conv + residual + activation
  };
  if (level >= Level::layout) list.push_back({"ChannelsLast", channels_last});  // last: moves whole fused nodes
  return list;
}

}  // namespace trunnion::ep
