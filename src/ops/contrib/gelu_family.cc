// Gelu, BiasGelu, FastGelu, QuickGelu and BiasSplitGelu (com.microsoft 1): activations of Gelu's kind, some with a bias
// that is added to every row before.
#include <algorithm>

#include "kernels/binary.h"
#include "ops/dispatch.h"
#include "ops/elementwise.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

using kernels::BinaryOp;
using kernels::BinaryShape;
using kernels::UnaryOp;

bool is_split(const ir::Node& n) { return n.op_type() == "BiasSplitGelu"; }

Status infer(const ir::Node& n, ir::Facts& f) {
  f.set(0, f.dtype(0));
  if (!f.has_rank(0)) return {};
  SymShape x = f.in(0).shape();
  if (f.has_rank(1)) {
    TRN_TRY(expect_rank(f, 1, 1));
    if (x.empty()) return invalid_argument("input 0 is a scalar: it has no rows to add a bias to");
    const Dim& bias = f.in(1).dim(0);
    if (bias.is_int() && x.back().is_int() && !(bias == x.back()))
      return invalid_argument("a bias of {} elements for an input of shape {}", bias.value(), shape_text(x));
  }
  if (is_split(n) && !x.empty()) {
    if (x.back().is_int() && x.back().value() % 2 != 0)
      return invalid_argument("input 0 has rows of {} elements, expected an even number", x.back().value());
    x.back() = floor_div(x.back(), Dim(2));
  }
  f.set(0, f.dtype(0), std::move(x));
  return {};
}

// y = f(x + bias), piece by piece, so that the sum is still in the cache when f reads it.
class BiasActivation final : public Kernel {
 public:
  BiasActivation(DType type, UnaryOp op)
      : add_(kernels::binary(BinaryOp::add, elem(type), BinaryShape::vector_vector)),
        fn_(kernels::unary(op, elem(type))),
        grain_(unary_grain(op, type)) {}

  Status run(KernelContext& ctx) const override {
    const TensorView &x = ctx.in(0), &bias = ctx.in(1), &y = ctx.out(0);
    const int64_t cols = bias.count, size = static_cast<int64_t>(size_of(x.dtype));
    if (x.count == 0) return {};
    ctx.parallel_for(x.count / cols, grain_ / cols + 1, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r)
        for (int64_t c = 0; c < cols; c += kPiece) {
          const auto n = static_cast<size_t>(std::min(kPiece, cols - c));
          const int64_t at = (r * cols + c) * size;
          add_(x.as<const char>() + at, bias.as<const char>() + c * size, y.as<char>() + at, n);
          fn_(y.as<char>() + at, y.as<char>() + at, n, {});
        }
    });
    return {};
  }

 private:
  static constexpr int64_t kPiece = 4096;
  kernels::BinaryFn add_;
  kernels::UnaryFn fn_;
  int64_t grain_;
};

// y = a gelu(b), where x + bias has rows (a, b).
class SplitActivation final : public Kernel {
 public:
  explicit SplitActivation(DType type)
      : add_(kernels::binary(BinaryOp::add, elem(type), BinaryShape::vector_vector)),
        mul_(kernels::binary(BinaryOp::mul, elem(type), BinaryShape::vector_vector)),
        fn_(kernels::unary(UnaryOp::gelu, elem(type))) {}

  Status run(KernelContext& ctx) const override {
    const TensorView &x = ctx.in(0), &bias = ctx.in(1), &y = ctx.out(0);
    const int64_t cols = bias.count / 2, size = static_cast<int64_t>(size_of(x.dtype));
    if (y.count == 0) return {};
    ctx.parallel_for(y.count / cols, 4096 / cols + 1, [&](int64_t begin, int64_t end) {
      std::byte left[kPiece * sizeof(float)];
      for (int64_t r = begin; r < end; ++r)
        for (int64_t c = 0; c < cols; c += kPiece) {
          const auto n = static_cast<size_t>(std::min(kPiece, cols - c));
          const char *from = x.as<const char>() + (2 * r * cols + c) * size, *b = bias.as<const char>() + c * size;
          char* to = y.as<char>() + (r * cols + c) * size;
          add_(from + cols * size, b + cols * size, to, n);
          fn_(to, to, n, {});
          add_(from, b, left, n);
          mul_(left, to, to, n);
        }
    });
    return {};
  }

 private:
  static constexpr int64_t kPiece = 1024;
  kernels::BinaryFn add_, mul_;
  kernels::UnaryFn fn_;
};

Result<std::unique_ptr<Kernel>> make_fast_gelu(const ir::Node& n) {
  if (!n.input(1)) return UnaryKernel::make(n, UnaryOp::gelu_tanh);
  return std::unique_ptr<Kernel>(new BiasActivation(n.input(0)->fact.dtype(), UnaryOp::gelu_tanh));
}
Result<std::unique_ptr<Kernel>> make_bias_gelu(const ir::Node& n) {
  return std::unique_ptr<Kernel>(new BiasActivation(n.input(0)->fact.dtype(), UnaryOp::gelu));
}
Result<std::unique_ptr<Kernel>> make_quick_gelu(const ir::Node& n) {
  return UnaryKernel::make(n, UnaryOp::silu, {n.attr("alpha", 1.702f)});
}
Result<std::unique_ptr<Kernel>> make_split(const ir::Node& n) {
  return std::unique_ptr<Kernel>(new SplitActivation(n.input(0)->fact.dtype()));
}

constexpr OpDef row(std::string_view name, DTypes types, MakeFn make, std::string_view schema,
                    InPlace in_place = {0, 0}) {
  return {name, infer, {types, make, 0}, {.reviewed = 1, .in_place = {in_place}}, "com.microsoft", schema};
}

constexpr OpDef kDefs[] = {
    row("Gelu", kFloats, make_unary<UnaryOp::gelu>, "com.microsoft::Gelu 1 (X:T) -> (Y:T) T=float|bf16"),
    row("BiasGelu", kFloats, make_bias_gelu, "com.microsoft::BiasGelu 1 (A:T, B:T) -> (C:T) T=float|bf16"),
    row("FastGelu", kFloats, make_fast_gelu, "com.microsoft::FastGelu 1 (X:T, bias?:T) -> (Y:T) T=float|bf16"),
    row("QuickGelu", kFloats, make_quick_gelu,
        "com.microsoft::QuickGelu 1 (X:T) -> (Y:T) {alpha:f=1.702} T=float|bf16"),
    row("BiasSplitGelu", DType::f32 | DType::f16, make_split,
        "com.microsoft::BiasSplitGelu 1 (X:T, bias:T) -> (Y:T) T=f16|f32", {}),
};

}  // namespace

TRUNNION_OPS(gelu_family, kDefs);

}  // namespace trunnion::ops
