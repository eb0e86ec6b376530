#include "ops/contrib/fused_activation_detail.h"

#include <algorithm>

#include "base/error.h"
#include "ops/dispatch.h"
#include "ops/elementwise.h"

namespace trunnion::ops {
namespace {

using kernels::Activation;
using kernels::UnaryOp;

struct Row {
  std::string_view name;
  UnaryOp op;
  Activation fast = Activation::none;
  const char *first = "", *second = "";  // the attributes that the parameters stand for
  float a = 0, b = 0;                    // their defaults
};
constexpr Row kRows[] = {
    {"Relu", UnaryOp::relu, Activation::relu},
    {"Sigmoid", UnaryOp::sigmoid, Activation::sigmoid},
    {"Tanh", UnaryOp::tanh, Activation::tanh},
    {"Silu", UnaryOp::silu, Activation::silu, "", "", 1},
    {"LeakyRelu", UnaryOp::leaky_relu, Activation::leaky_relu, "alpha", "", 0.01f},
    {"Clip", UnaryOp::clip, Activation::clip, "min", "max", -3.402823466e+38f, 3.402823466e+38f},
    {"HardSigmoid", UnaryOp::hard_sigmoid, Activation::hard_sigmoid, "alpha", "beta", 0.2f, 0.5f},
    {"HardSwish", UnaryOp::hard_swish, Activation::hard_swish},
    {"Gelu", UnaryOp::gelu, Activation::gelu},
    {"Elu", UnaryOp::elu, Activation::none, "alpha", "", 1},
    {"Selu", UnaryOp::selu, Activation::none, "alpha", "gamma", 1.67326319217681884765625f, 1.05070102214813232421875f},
    {"Celu", UnaryOp::celu, Activation::none, "alpha", "", 1},
    {"ThresholdedRelu", UnaryOp::thresholded_relu, Activation::none, "alpha", "", 1},
    {"ScaledTanh", UnaryOp::scaled_tanh, Activation::none, "alpha", "beta", 1, 1},
    {"Affine", UnaryOp::affine, Activation::none, "alpha", "beta", 1, 0},
    {"Softplus", UnaryOp::softplus},
    {"ParametricSoftplus", UnaryOp::softplus, Activation::none, "alpha", "beta", 1, 1},
    {"Softsign", UnaryOp::softsign},
    {"Mish", UnaryOp::mish},
};

Result<const Row*> find(const ir::Node& node) {
  const std::string name = node.attr("activation", "");
  if (name.empty()) return static_cast<const Row*>(nullptr);
  const auto* row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.name == name; });
  if (row == std::end(kRows)) {
    std::vector<std::string_view> names;
    for (const Row& r : kRows) names.push_back(r.name);
    return not_implemented("attribute activation is '{}'; supported: {}", name, fmt::join(names, ", "));
  }
  return row;
}

FusedActivation make(const Row& row, float a, float b) {
  return {false, row.fast, row.op, {a, b}, row.name == "ParametricSoftplus"};
}

int parameters(const Row& row) { return (row.first[0] ? 1 : 0) + (row.second[0] ? 1 : 0); }

}  // namespace

bool FusedActivation::into(kernels::Epilogue& e) const {
  if (none) return true;
  if (fast == Activation::none) return false;
  e.activation = fast;
  e.a = static_cast<float>(params.a);
  e.b = static_cast<float>(params.b);
  return true;
}

Result<FusedActivation> read_listed_activation(const ir::Node& node) {
  TRN_ASSIGN(const Row* row, find(node));
  if (!row) return FusedActivation{};
  const auto given = node.floats("activation_params");
  const int count = parameters(*row);
  if (static_cast<int>(given.size()) != count)
    return invalid_argument("attribute activation_params has {} entries, {} needs {}", given.size(), row->name, count);
  return make(*row, count > 0 ? given[0] : row->a, count > 1 ? given[1] : row->b);
}

Result<FusedActivation> read_named_activation(const ir::Node& node) {
  TRN_ASSIGN(const Row* row, find(node));
  if (!row) return FusedActivation{};
  const auto value = [&](const char* name, float fallback) {
    return name[0] ? node.attr(fmt::format("activation_{}", name), fallback) : fallback;
  };
  return make(*row, value(row->first, row->a), value(row->second, row->b));
}

Status apply_activation(KernelContext& ctx, const FusedActivation& a, const TensorView& y) {
  if (a.none) return {};
  const kernels::UnaryFn fn = kernels::unary(a.op, elem(y.dtype)),
                         scale = kernels::unary(UnaryOp::affine, elem(y.dtype));
  if (!fn || !scale) return not_implemented("an activation of type {}", dtype_name(y.dtype));
  const auto size = static_cast<int64_t>(size_of(y.dtype));
  ctx.parallel_for(y.count, unary_grain(a.op, y.dtype), [&](int64_t begin, int64_t end) {
    std::byte* at = y.as<std::byte>() + begin * size;
    const auto n = static_cast<size_t>(end - begin);
    if (a.scaled) scale(at, at, n, {a.params.b, 0});
    fn(at, at, n, a.params);
    if (a.scaled) scale(at, at, n, {a.params.a, 0});
  });
  return {};
}

}  // namespace trunnion::ops
