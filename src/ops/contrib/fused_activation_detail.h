// The activation inside FusedConv, FusedGemm, ... of com.microsoft, by its ONNX name: computed in the epilogue of a
// product where that knows it, else over the finished output.
#pragma once
#include "kernels/epilogue.h"
#include "kernels/unary.h"
#include "ops/op.h"

namespace trunnion::ops {

struct FusedActivation {
  bool none = true;
  kernels::Activation fast = kernels::Activation::none;  // its form in an epilogue, if it has one
  kernels::UnaryOp op = kernels::UnaryOp::identity;
  kernels::UnaryParams params;
  bool scaled = false;  // a * op(b * x)

  // Puts it into the epilogue; false when it has to be applied afterwards.
  bool into(kernels::Epilogue& e) const;
};

// Attribute activation with the list activation_params (convolutions).
Result<FusedActivation> read_listed_activation(const ir::Node& node);
// Attribute activation with activation_alpha, activation_beta and activation_gamma (products).
Result<FusedActivation> read_named_activation(const ir::Node& node);

// y = activation(y), in place; f32 or f64.
Status apply_activation(KernelContext& ctx, const FusedActivation& a, const TensorView& y);

}  // namespace trunnion::ops
