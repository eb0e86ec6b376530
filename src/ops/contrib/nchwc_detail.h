// The domain com.microsoft.nchwc, which ONNX Runtime's layout optimization writes into saved models: tensors of shape
// [N, C, H, W] whose channels lie in blocks of 8 or 16, [N, C/block, H, W, block] in memory, C padded to whole blocks.
// Convolutions have their weights reordered to match.
#pragma once
#include "ops/nn/conv_detail.h"

namespace trunnion::ops {

inline constexpr std::string_view kNchwcDomain = "com.microsoft.nchwc";

// The channels of a block, which no file states: from the shapes of the model's nodes where they leave only one answer,
// else what ONNX Runtime takes on this machine.
int64_t nchwc_block(const ir::Node& node);

// A Conv's parameters, and its (constant) weights in ONNX order. Few input channels come in plain order, unblocked.
struct NchwcConv {
  ConvParams params;
  Tensor weights;
  int64_t block = 0;
  bool blocked_input = true;
};
Result<ConvParams> read_nchwc_conv(const ir::Node& node);
Result<NchwcConv> read_nchwc_weights(const ir::Node& node);

}  // namespace trunnion::ops
