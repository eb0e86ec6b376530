// Activations: element-wise operators with at most two float attributes, and Shrink for integers. ThresholdedRelu has a
// form of its own before opset 10: experimental there, never in the specification.
#include <cmath>

#include "ops/dispatch.h"
#include "ops/elementwise.h"

namespace trunnion::ops {
namespace {

using kernels::UnaryOp;
using kernels::UnaryParams;

Result<std::unique_ptr<Kernel>> make_leaky_relu(const ir::Node& n) {
  return UnaryKernel::make(n, UnaryOp::leaky_relu, {n.attr("alpha", 0.01f)});
}
Result<std::unique_ptr<Kernel>> make_elu(const ir::Node& n) {
  return UnaryKernel::make(n, UnaryOp::elu, {n.attr("alpha", 1.f)});
}
Result<std::unique_ptr<Kernel>> make_selu(const ir::Node& n) {  // opset 6 gave the defaults more digits
  const bool old = n.since() < 6;
  return UnaryKernel::make(n, UnaryOp::selu,
                           {n.attr("alpha", old ? 1.6732f : 1.67326319217681884765625f),
                            n.attr("gamma", old ? 1.0507f : 1.05070102214813232421875f)});
}
Result<std::unique_ptr<Kernel>> make_celu(const ir::Node& n) {
  return UnaryKernel::make(n, UnaryOp::celu, {n.attr("alpha", 1.f)});
}
Result<std::unique_ptr<Kernel>> make_thresholded_relu(const ir::Node& n) {
  return UnaryKernel::make(n, UnaryOp::thresholded_relu, {n.attr("alpha", 1.f)});
}
Result<std::unique_ptr<Kernel>> make_hard_sigmoid(const ir::Node& n) {
  return UnaryKernel::make(n, UnaryOp::hard_sigmoid, {n.attr("alpha", 0.2f), n.attr("beta", 0.5f)});
}
Result<std::unique_ptr<Kernel>> make_swish(const ir::Node& n) {
  return UnaryKernel::make(n, UnaryOp::silu, {n.attr("alpha", 1.f)});
}
Result<std::unique_ptr<Kernel>> make_gelu(const ir::Node& n) {
  const std::string how = n.attr("approximate", "none");
  if (how != "none" && how != "tanh")
    return invalid_argument("attribute approximate is '{}', needs 'none' or 'tanh'", how);
  return UnaryKernel::make(n, how == "tanh" ? UnaryOp::gelu_tanh : UnaryOp::gelu);
}

// Shrink of integers: compared and moved in double, then truncated back to the type (wrapping around).
class ShrinkIntegers final : public Kernel {
 public:
  ShrinkIntegers(float bias, float lambd) : bias_(bias), lambd_(lambd) {}
  Status run(KernelContext& ctx) const override {
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    return dispatch<kIntegers.bits()>(x.dtype, [&]<class T>() {
      ctx.parallel_for(x.count, 8192, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const T v = x.as<const T>()[i];
          const double d = static_cast<double>(v);
          T r = 0;
          if (d < -lambd_)
            r = static_cast<T>(to_int64(d + bias_));
          else if (d > lambd_)
            r = static_cast<T>(to_int64(d - bias_));
          y.as<T>()[i] = r;
        }
      });
    });
  }

 private:
  double bias_, lambd_;
};
Result<std::unique_ptr<Kernel>> make_shrink(const ir::Node& n) {
  const float bias = n.attr("bias", 0.f), lambd = n.attr("lambd", 0.5f);
  if (is_integer(n.input(0)->fact.dtype())) return std::unique_ptr<Kernel>(new ShrinkIntegers(bias, lambd));
  return UnaryKernel::make(n, UnaryOp::shrink, {bias, lambd});
}

constexpr OpDef row(std::string_view name, DTypes types, MakeFn make, int reviewed) {
  return {name, infer_elementwise, {types, make, 0}, {.reviewed = reviewed, .in_place_any = true}};
}

constexpr OpDef kDefs[] = {
    row("Relu", kFloats | kSignedIntegers, make_unary<UnaryOp::relu>, 14),
    row("LeakyRelu", kFloats, make_leaky_relu, 16),
    row("Elu", kFloats, make_elu, 22),
    row("Selu", kFloats, make_selu, 22),
    row("Celu", kFloats, make_celu, 28),
    {"ThresholdedRelu",
     infer_elementwise,
     {kFloats, make_thresholded_relu, 0},
     {.reviewed = 22, .in_place_any = true},
     "",
     "ThresholdedRelu 1 experimental (X:T) -> (Y:T) {alpha:f=1} T=float"},
    row("Sigmoid", kFloats, make_unary<UnaryOp::sigmoid>, 13),
    row("Tanh", kFloats, make_unary<UnaryOp::tanh>, 13),
    row("HardSigmoid", kFloats, make_hard_sigmoid, 22),
    row("HardSwish", kFloats, make_unary<UnaryOp::hard_swish>, 22),
    row("Softplus", kFloats, make_unary<UnaryOp::softplus>, 22),
    row("Softsign", kFloats, make_unary<UnaryOp::softsign>, 22),
    row("Mish", kFloats, make_unary<UnaryOp::mish>, 22),
    row("Gelu", kFloats, make_gelu, 20),
    row("Swish", kFloats, make_swish, 24),
    row("Shrink", kFloats | kIntegers, make_shrink, 9),
};

}  // namespace

TRUNNION_OPS(activations, kDefs);
}  // namespace trunnion::ops
