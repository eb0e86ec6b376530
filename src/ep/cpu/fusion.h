// The CPU provider's fusions. Each is a pass in a file of its own; pipeline.cc lists them in order.
#pragma once
#include <optional>

#include "passes/pass.h"
#include "passes/rules.h"

namespace trunnion::ep {

// DequantizeLinear -> operator -> QuantizeLinear -> the integer operator.
Status qdq_fusion(ir::Graph&, passes::PassContext&);
// Fused operators of com.microsoft in saved models -> the provider's own.
Status saved_fusion(ir::Graph&, passes::PassContext&);
// Blocked channels of saved models -> plain ones.
Status saved_layout(ir::Graph&, passes::PassContext&);
// x * sigmoid(x) -> Swish; x * clip(x + 3, 0, 6) / 6 and x * HardSigmoid(x, 1/6, 1/2) -> HardSwish.
Status swish_fusion(ir::Graph&, passes::PassContext&);
// x/2 (1 + erf(x / sqrt 2)) and its spellings -> Gelu.
Status gelu_fusion(ir::Graph&, passes::PassContext&);
// (x - mean) / sqrt(var + eps) * scale + bias over the last axis -> LayerNormalization.
Status layer_norm_fusion(ir::Graph&, passes::PassContext&);
// softmax(Q K' / scale + masks) V and the transposes around it -> FusedAttention.
Status attention_fusion(ir::Graph&, passes::PassContext&);
// BatchNormalization into the weights of the convolution before it, else -> ScaleShift.
Status batch_norm_fusion(ir::Graph&, passes::PassContext&);
// Pad with zeros -> pads of the convolution behind it.
Status pad_fusion(ir::Graph&, passes::PassContext&);
// MatMul + bias and Gemm -> FusedMatMul.
Status matmul_bias_fusion(ir::Graph&, passes::PassContext&);
// An activation -> epilogue of the convolution, product or scale before it.
Status activation_fusion(ir::Graph&, passes::PassContext&);
// Add of an equally shaped value -> residual input of the convolution or product before it.
Status residual_fusion(ir::Graph&, passes::PassContext&);
// Chains and trees of element-wise operators -> FusedElementwise.
Status elementwise_fusion(ir::Graph&, passes::PassContext&);
// Functions in f64, where level `strict` asks for it.
Status strict_math(ir::Graph&, passes::PassContext&);
// Attribute `bf16` of the products and convolutions that level `bf16` rounds the factors of, where the CPU gains by it.
Status bf16_choice(ir::Graph&, passes::PassContext&);
// Attribute `winograd` of the convolutions that gain by it.
Status winograd_choice(ir::Graph&, passes::PassContext&);
// Product with a gate per channel before a 1x1 convolution -> GatedConv.
Status gate_fusion(ir::Graph&, passes::PassContext&);
// Convolutions and pooling with channels last; transposes move to where they cancel.
Status channels_last(ir::Graph&, passes::PassContext&);

// The one node that reads the value, which nothing else needs; null otherwise.
ir::Node* only_user(const ir::Value* v);
// The number that a constant of one element holds.
std::optional<float> scalar(const ir::Value* v);
// The ranks are known and equal: a constant with more dimensions did not widen the result.
bool same_rank(const ir::Value* x, const ir::Value* result);
// Input 0 or 1 of a two-input node is a constant of one element: its number and the other input.
struct ScalarOperand {
  ir::Value* other = nullptr;
  float number = 0;
  bool constant_first = false;
};
std::optional<ScalarOperand> scalar_operand(const ir::Node& n);

// fp32 Conv, ConvTranspose, MatMul with what it takes to become a fused node, or already one: makes it one (in place,
// inputs up to `inputs` exist). Null when the node is none of these.
ir::Node* as_fused(ir::Rewriter& rw, ir::Node* n);
bool can_fuse(const ir::Node& n);

}  // namespace trunnion::ep
