// Adagrad, Adam and Momentum (ai.onnx.preview.training 1): one step of an optimizer over any number of tensors.
#include <cmath>

#include "ops/dispatch.h"
#include "ops/op.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

enum class Rule : uint8_t { adagrad, adam, momentum, nesterov };

// Inputs 0 and 1 are the rate R and the count T. Behind them stand `groups` groups of as many tensors as are optimized:
// values X, gradients G, and the accumulators. Outputs are the groups of X and of the accumulators.
struct Params {
  Rule rule;
  int groups;
  double norm, norm_post, epsilon, alpha, beta, decay;
};

Result<Params> read(const ir::Node& n) {
  Params p{};
  p.norm = n.attr("norm_coefficient", 0.0f);
  p.alpha = n.attr("alpha", 0.9f);
  p.groups = 3;
  if (n.op_type() == "Adagrad") {
    p.rule = Rule::adagrad;
    p.epsilon = n.attr("epsilon", 1e-6f);
    p.decay = n.attr("decay_factor", 0.0f);
  } else if (n.op_type() == "Adam") {
    p.rule = Rule::adam;
    p.groups = 4;
    p.epsilon = n.attr("epsilon", 1e-6f);
    p.beta = n.attr("beta", 0.999f);
    p.norm_post = n.attr("norm_coefficient_post", 0.0f);
  } else {
    const std::string mode = n.attr("mode", "standard");
    if (mode != "standard" && mode != "nesterov")
      return invalid_argument("attribute mode is '{}', needs 'standard' or 'nesterov'", mode);
    p.rule = mode == "nesterov" ? Rule::nesterov : Rule::momentum;
    p.beta = n.attr("beta", 1.0f);
  }
  return p;
}

Result<int> tensors(const Params& p, int inputs, int outputs) {
  const int given = inputs - 2, n = given / p.groups;
  if (given < p.groups || given % p.groups)
    return invalid_argument("there are {} tensors behind R and T, expected a multiple of {}", given, p.groups);
  if (outputs > n * (p.groups - 1))
    return invalid_argument("{} tensors are optimized, which gives {} outputs, not {}", n, n * (p.groups - 1), outputs);
  return n;
}

Status infer(const ir::Node& node, ir::Facts& f) {
  TRN_ASSIGN(const Params p, read(node));
  TRN_ASSIGN(const int n, tensors(p, f.inputs(), f.outputs()));
  for (int i = 2; i < f.inputs(); ++i) {
    if (!f.has(i)) return invalid_argument("input {} is left out", i);
    const ir::Fact &x = f.in(2 + (i - 2) % n), &other = f.in(i);
    if (other.dtype() != DType::undefined && x.dtype() != DType::undefined && other.dtype() != x.dtype())
      return invalid_argument("input {} has type {}, the tensor that it belongs to {}", i, dtype_name(other.dtype()),
                              dtype_name(x.dtype()));
    const auto a = x.concrete(), b = other.concrete();
    if (a && b && *a != *b)
      return invalid_argument("input {} has shape {}, the tensor that it belongs to {}", i, shape_text(*b),
                              shape_text(*a));
  }
  for (int i = 0; i < f.outputs(); ++i) {
    const ir::Fact& x = f.in(2 + i % n);
    f.set(i, x.dtype(), x.has_rank() ? x.type.shape : std::nullopt);
  }
  return {};
}

// One element: x, g and the accumulators a, b (Adam's V and H; else one of them) to the new x, a, b.
template <Rule kRule, class T>
void step(const Params& p, double r, T beta, const T* x, const T* g, const T* a, const T* b, T* x_out, T* a_out,
          T* b_out, int64_t begin, int64_t end) {
  const T rate = static_cast<T>(r), norm = static_cast<T>(p.norm), alpha = static_cast<T>(p.alpha),
          epsilon = static_cast<T>(p.epsilon);
  const T rest_alpha = static_cast<T>(1 - p.alpha), rest_beta = static_cast<T>(1 - p.beta),
          keep = static_cast<T>(1 - p.norm_post);
  for (int64_t i = begin; i < end; ++i) {
    const T grad = norm * x[i] + g[i];
    T moved, first, second = 0;
    if constexpr (kRule == Rule::adagrad) {
      first = a[i] + grad * grad;
      moved = x[i] - rate * grad / (std::sqrt(first) + epsilon);
    } else if constexpr (kRule == Rule::adam) {
      first = alpha * a[i] + rest_alpha * grad;
      second = beta * b[i] + rest_beta * (grad * grad);
      moved = keep * (x[i] - rate * first / (std::sqrt(second) + epsilon));
    } else {
      first = alpha * a[i] + beta * grad;
      moved = x[i] - rate * (kRule == Rule::nesterov ? grad + alpha * first : first);
    }
    if (x_out) x_out[i] = moved;
    if (a_out) a_out[i] = first;
    if (b_out) b_out[i] = second;
  }
}

class OptimizerKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    TRN_ASSIGN(const Params p, read(node));
    return std::unique_ptr<Kernel>(new OptimizerKernel(p));
  }

  Status run(KernelContext& ctx) const override {
    TRN_ASSIGN(const int n, tensors(p_, ctx.inputs(), ctx.outputs()));
    const TensorView &rate = ctx.in(0), &count = ctx.in(1);
    if (rate.count != 1 || count.count != 1)
      return invalid_argument("R and T have shapes {} and {}, need one element each", shape_text(rate.shape()),
                              shape_text(count.shape()));
    const int64_t t = count.as<int64_t>()[0];
    const double r = learning_rate(rate.dtype == DType::f64 ? *rate.as<double>() : *rate.as<float>(), t);
    for (int k = 0; k < n; ++k) {
      const TensorView& x = ctx.in(2 + k);
      for (int group = 1; group < p_.groups; ++group) {
        const TensorView& other = ctx.in(2 + group * n + k);
        if (other.count != x.count || other.dtype != x.dtype)
          return invalid_argument("input {} has {} elements of type {}, input {} has {} of type {}", 2 + group * n + k,
                                  other.count, dtype_name(other.dtype), 2 + k, x.count, dtype_name(x.dtype));
      }
      TRN_TRY((dispatch<(DType::f32 | DType::f64).bits()>(x.dtype, [&]<class T>() { update<T>(ctx, k, n, r, t); })));
    }
    return {};
  }

 private:
  explicit OptimizerKernel(Params p) : p_(p) {}

  double learning_rate(double r, int64_t t) const {
    const auto steps = static_cast<double>(t);
    if (p_.rule == Rule::adagrad) return r / (1 + steps * p_.decay);
    if (p_.rule == Rule::adam && t > 0)
      return r * std::sqrt(1 - std::pow(p_.beta, steps)) / (1 - std::pow(p_.alpha, steps));
    return r;
  }

  template <class T>
  void update(KernelContext& ctx, int k, int n, double r, int64_t t) const {
    const auto in = [&](int group) {
      return group < p_.groups ? ctx.in(2 + group * n + k).template as<const T>() : nullptr;
    };
    const auto out = [&](int group) -> T* {
      return group < p_.groups - 1 && ctx.has_out(group * n + k) ? ctx.out(group * n + k).template as<T>() : nullptr;
    };
    // The first step of a momentum takes the whole gradient.
    const bool first = t <= 0 && (p_.rule == Rule::momentum || p_.rule == Rule::nesterov);
    const T beta = first ? T(1) : static_cast<T>(p_.beta);
    const auto all = [&]<Rule kRule>() {
      ctx.parallel_for(ctx.in(2 + k).count, 8192, [&](int64_t begin, int64_t end) {
        step<kRule, T>(p_, r, beta, in(0), in(1), in(2), in(3), out(0), out(1), out(2), begin, end);
      });
    };
    switch (p_.rule) {
      case Rule::adagrad:
        return all.template operator()<Rule::adagrad>();
      case Rule::adam:
        return all.template operator()<Rule::adam>();
      case Rule::momentum:
        return all.template operator()<Rule::momentum>();
      case Rule::nesterov:
        return all.template operator()<Rule::nesterov>();
    }
  }

  Params p_;
};

constexpr std::string_view kDomain = "ai.onnx.preview.training";
constexpr DTypes kTypes = DType::f32 | DType::f64;
constexpr OpDef kDefs[] = {
    {"Adagrad", infer, cpu<OptimizerKernel>(kTypes), {.reviewed = 1}, kDomain},
    {"Adam", infer, cpu<OptimizerKernel>(kTypes), {.reviewed = 1}, kDomain},
    {"Momentum", infer, cpu<OptimizerKernel>(kTypes), {.reviewed = 1}, kDomain},
};

}  // namespace

TRUNNION_OPS(optimizers, kDefs);

}  // namespace trunnion::ops
