#include "ops/ml/svm_detail.h"

#include <cmath>

namespace trunnion::ops {

float SvmKernel::operator()(const float* a, const float* b, int64_t n) const {
  double sum = 0;
  if (kind == Kind::rbf) {
    for (int64_t i = 0; i < n; ++i) {
      const double d = static_cast<double>(a[i]) - b[i];
      sum += d * d;
    }
    return static_cast<float>(std::exp(-gamma * sum));
  }
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(a[i]) * b[i];
  switch (kind) {
    case Kind::poly:
      return static_cast<float>(std::pow(gamma * sum + coef0, static_cast<double>(degree)));
    case Kind::sigmoid:
      return static_cast<float>(std::tanh(gamma * sum + coef0));
    default:
      return static_cast<float>(sum);
  }
}

Result<SvmKernel> read_svm_kernel(const ir::Node& n) {
  SvmKernel k;
  const std::string name = n.attr("kernel_type", "LINEAR");
  using Kind = SvmKernel::Kind;
  if (name == "LINEAR")
    k.kind = Kind::linear;
  else if (name == "POLY")
    k.kind = Kind::poly;
  else if (name == "RBF")
    k.kind = Kind::rbf;
  else if (name == "SIGMOID")
    k.kind = Kind::sigmoid;
  else
    return invalid_argument("attribute kernel_type is '{}', expected LINEAR, POLY, RBF or SIGMOID", name);
  const auto params = n.floats("kernel_params");
  if (!params.empty() && params.size() != 3)
    return invalid_argument("attribute kernel_params has {} entries, 3 are needed", params.size());
  if (!params.empty()) k.gamma = params[0], k.coef0 = params[1], k.degree = params[2];
  return k;
}

}  // namespace trunnion::ops
