// SwiGLU (ai.onnx 28): a sigmoid(alpha a) b.
#include <algorithm>

#include "ops/dispatch.h"
#include "ops/elementwise.h"

namespace trunnion::ops {
namespace {

Status infer(const ir::Node&, ir::Facts& f) {
  const ir::Fact &a = f.in(0), &b = f.in(1);
  f.set(0, a.dtype(), a.has_rank() ? a.type.shape : b.type.shape);
  if (!a.has_rank() || !b.has_rank()) return {};
  bool differ = a.rank() != b.rank();
  for (int i = 0; !differ && i < a.rank(); ++i)
    differ = a.dim(i).is_int() && b.dim(i).is_int() && !(a.dim(i) == b.dim(i));
  if (differ)
    return invalid_argument("A and B have shapes {} and {}: they must agree", shape_text(a.shape()),
                            shape_text(b.shape()));
  for (int i = 0; i < a.rank(); ++i)
    if (!a.dim(i).is_int() && b.dim(i).is_int()) (*f.out(0).type.shape)[static_cast<size_t>(i)] = b.dim(i);
  return {};
}

// The gate of a block stays in the cache until it is multiplied; 16-bit floats are rounded once, behind both.
class SwiGluKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    return std::unique_ptr<Kernel>(new SwiGluKernel(node.attr("alpha", 1.0f)));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView &a = ctx.in(0), &b = ctx.in(1), &y = ctx.out(0);
    if (a.count != b.count)
      return invalid_argument("A and B have shapes {} and {}: they must agree", shape_text(a.shape()),
                              shape_text(b.shape()));
    return dispatch<kFloats.bits()>(a.dtype, [&]<class T>() {
      using C = Compute<T>;
      const DType computed = kIsHalf<T> ? DType::f32 : a.dtype;
      const auto gate = kernels::unary(kernels::UnaryOp::silu, elem(computed));
      const auto times = kernels::binary(kernels::BinaryOp::mul, elem(computed), kernels::BinaryShape::vector_vector);
      ctx.parallel_for(a.count, 8192, [&](int64_t begin, int64_t end) {
        constexpr int64_t kBlock = 256;
        C x[kBlock], z[kBlock];
        for (int64_t at = begin; at < end; at += kBlock) {
          const auto n = static_cast<size_t>(std::min(kBlock, end - at));
          const T *from_a = a.as<T>() + at, *from_b = b.as<T>() + at;
          for (size_t i = 0; i < n; ++i) x[i] = static_cast<C>(from_a[i]);
          for (size_t i = 0; i < n; ++i) z[i] = static_cast<C>(from_b[i]);
          gate(x, x, n, {alpha_});
          times(x, z, x, n);
          for (size_t i = 0; i < n; ++i) y.as<T>()[at + static_cast<int64_t>(i)] = static_cast<T>(x[i]);
        }
      });
    });
  }

 private:
  explicit SwiGluKernel(float alpha) : alpha_(alpha) {}
  double alpha_;
};

constexpr OpDef kDefs[] = {{"SwiGLU", infer, cpu<SwiGluKernel>(kFloats), {.reviewed = 28, .in_place_any = true}}};

}  // namespace

TRUNNION_OPS(swi_glu, kDefs);

}  // namespace trunnion::ops
