// Affine, Scale, ScaledTanh, ParametricSoftplus and ImageScaler (ai.onnx 1): experimental operators that ONNX took back
// in opset 10 and that models converted from Core ML and Caffe 2 still have.
#include "ops/dispatch.h"
#include "ops/elementwise.h"
#include "ops/widen.h"

namespace trunnion::ops {
namespace {

using kernels::UnaryOp;
using kernels::UnaryParams;

Result<std::unique_ptr<Kernel>> make_affine(const ir::Node& n) {
  return UnaryKernel::make(n, UnaryOp::affine, {n.attr("alpha", 1.0f), n.attr("beta", 0.0f)});
}
Result<std::unique_ptr<Kernel>> make_scale(const ir::Node& n) {
  return UnaryKernel::make(n, UnaryOp::affine, {n.attr("scale", 1.0f), 0});
}
Result<std::unique_ptr<Kernel>> make_scaled_tanh(const ir::Node& n) {
  return UnaryKernel::make(n, UnaryOp::scaled_tanh, {n.attr("alpha", 1.0f), n.attr("beta", 1.0f)});
}

// alpha * ln(1 + e^(beta x)); f32 and f64.
class ParametricSoftplusCpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    return std::unique_ptr<Kernel>(new ParametricSoftplusCpu(n.attr("alpha", 1.0f), n.attr("beta", 1.0f)));
  }
  Status run(KernelContext& ctx) const override {
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    const auto affine = kernels::unary(UnaryOp::affine, elem(x.dtype));
    const auto softplus = kernels::unary(UnaryOp::softplus, elem(x.dtype));
    const auto size = static_cast<int64_t>(size_of(x.dtype));
    ctx.parallel_for(x.count, unary_grain(UnaryOp::softplus, x.dtype), [&](int64_t begin, int64_t end) {
      std::byte* to = y.as<std::byte>() + begin * size;
      const auto n = static_cast<size_t>(end - begin);
      affine(x.as<std::byte>() + begin * size, to, n, {beta_, 0});
      softplus(to, to, n, {});
      affine(to, to, n, {alpha_, 0});
    });
    return {};
  }

 private:
  ParametricSoftplusCpu(double alpha, double beta) : alpha_(alpha), beta_(beta) {}
  double alpha_, beta_;
};

Status infer_scaler(const ir::Node& n, ir::Facts& f) {
  TRN_TRY(expect_rank(f, 0, 4));
  const auto bias = n.floats("bias");
  if (f.has_rank(0) && f.in(0).dim(1).is_int() && f.in(0).dim(1).value() != static_cast<int64_t>(bias.size()))
    return invalid_argument("attribute bias has {} entries, input 0 of shape {} has {} channels", bias.size(),
                            shape_text(f.in(0).shape()), f.in(0).dim(1).value());
  return infer_elementwise(n, f);
}

// x * scale + bias of the channel; f32 and f64.
class ImageScalerCpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    return std::unique_ptr<Kernel>(new ImageScalerCpu(n.attr("scale", 1.0f), n.floats("bias")));
  }
  Status run(KernelContext& ctx) const override {
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    const int64_t channels = x.dim(1), plane = x.dim(2) * x.dim(3), size = static_cast<int64_t>(size_of(x.dtype));
    if (x.count == 0) return {};
    if (channels != static_cast<int64_t>(bias_.size()))
      return invalid_argument("attribute bias has {} entries, the input has {} channels", bias_.size(), channels);
    const auto affine = kernels::unary(UnaryOp::affine, elem(x.dtype));
    ctx.parallel_for(x.count / plane, std::max<int64_t>(1, 32768 / plane), [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p)
        affine(x.as<std::byte>() + p * plane * size, y.as<std::byte>() + p * plane * size, static_cast<size_t>(plane),
               {scale_, static_cast<double>(bias_[static_cast<size_t>(p % channels)])});
    });
    return {};
  }

 private:
  ImageScalerCpu(double scale, std::vector<float> bias) : scale_(scale), bias_(std::move(bias)) {}
  double scale_;
  std::vector<float> bias_;
};

constexpr OpFlags kFlags{.reviewed = 1, .in_place_any = true};
constexpr OpDef kDefs[] = {
    {"Affine",
     infer_elementwise,
     {kFloats, make_affine},
     kFlags,
     "",
     "Affine 1 experimental (X:T) -> (Y:T) {alpha:f=1, beta:f=0} T=float"},
    {"Scale",
     infer_elementwise,
     {kFloats, make_scale},
     kFlags,
     "",
     "Scale 1 experimental (input:T) -> (output:T) {scale:f=1} T=float"},
    {"ScaledTanh",
     infer_elementwise,
     {kFloats, make_scaled_tanh},
     kFlags,
     "",
     "ScaledTanh 1 experimental (input:T) -> (output:T) {alpha:f, beta:f} T=float"},
    {"ParametricSoftplus", infer_elementwise, cpu_widened<ParametricSoftplusCpu>(kFloats), kFlags, "",
     "ParametricSoftplus 1 experimental (X:T) -> (Y:T) {alpha:f, beta:f} T=float"},
    {"ImageScaler", infer_scaler, cpu_widened<ImageScalerCpu>(kFloats), kFlags, "",
     "ImageScaler 1 experimental (input:T) -> (output:T) {bias:fs, scale:f=1} T=float"},
};

}  // namespace

TRUNNION_OPS(legacy_elementwise, kDefs);

}  // namespace trunnion::ops
