// Convolution of a node whose x and y are planes (NCHW), over kernels/conv_planar.h.
#pragma once
#include "ops/nn/conv_detail.h"

namespace trunnion::ops {

// Whether the node is such a convolution: f32 of a known shape, constant weights, no residual, and few enough input
// channels that a change of layout would cost more than it saves.
bool runs_on_planes(const ir::Node& node, const ConvParams& params);
// For Conv, ConvTranspose and trunnion.FusedConv.
bool runs_on_planes(const ir::Node& node);

// The kernel of a node that runs_on_planes.
Result<std::unique_ptr<Kernel>> make_planar_conv(const ir::Node& node, const ConvParams& params,
                                                 kernels::Epilogue activation);

}  // namespace trunnion::ops
