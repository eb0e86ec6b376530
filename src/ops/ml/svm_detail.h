// What support vector machines share: kernels, and rows of features.
#pragma once
#include <string>

#include "ops/ml/scores_detail.h"

namespace trunnion::ops {

struct SvmKernel {
  enum class Kind : uint8_t { linear, poly, rbf, sigmoid } kind = Kind::linear;
  float gamma = 0, coef0 = 0, degree = 0;

  // Of two vectors of n features. Sums are doubles.
  float operator()(const float* a, const float* b, int64_t n) const;
};
Result<SvmKernel> read_svm_kernel(const ir::Node& n);

}  // namespace trunnion::ops
