// Runs an fp32 kernel on f16 or bf16 tensors: inputs are widened, the outputs rounded once.
#pragma once
#include "ops/op.h"

namespace trunnion::ops {

// Every input and output of type f16 or bf16 is seen by `inner` as f32.
std::unique_ptr<Kernel> adapt_half(std::unique_ptr<Kernel> inner);

bool is_half(DType t);

// The elements as f32 (a copy); for weights that kernels pack when they are made.
Result<Tensor> to_f32(const Tensor& t);

}  // namespace trunnion::ops
