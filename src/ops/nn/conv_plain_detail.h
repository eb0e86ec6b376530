// Convolution by plain loops: double precision, for which there is no packed kernel.
#pragma once
#include "ops/nn/conv_detail.h"

namespace trunnion::ops {

// f64, 1 to 3 spatial dimensions, normal or transposed. Sums run in the order channel, tap.
Result<std::unique_ptr<Kernel>> make_plain_conv(ConvParams params);

}  // namespace trunnion::ops
