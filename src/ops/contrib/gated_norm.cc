// GatedRMSNorm and GatedAdd (com.microsoft 1): rows that another tensor gates.
#include <algorithm>

#include "kernels/binary.h"
#include "kernels/norm.h"
#include "kernels/unary.h"
#include "ops/dispatch.h"
#include "ops/shape.h"
#include "ops/widen.h"

namespace trunnion::ops {
namespace {

using kernels::BinaryOp;
using kernels::BinaryShape;
using kernels::Elem;
using kernels::UnaryOp;

Result<UnaryOp> activation(const ir::Node& n) {
  const std::string name = n.attr("activation", "silu");
  if (name == "silu" || name == "swish") return UnaryOp::silu;
  if (name == "sigmoid") return UnaryOp::sigmoid;
  return invalid_argument("attribute activation is '{}', expected silu, swish or sigmoid", name);
}

Status expect_like(const ir::Facts& f, int i, const SymShape& want) {
  if (!f.has_rank(i)) return {};
  const SymShape& have = f.in(i).shape();
  bool fits = have.size() == want.size();
  for (size_t d = 0; fits && d < have.size(); ++d) fits = !have[d].is_int() || !want[d].is_int() || have[d] == want[d];
  if (fits) return {};
  return invalid_argument("input {} has shape {}, expected {}", i, shape_text(have), shape_text(want));
}

Status infer_norm(const ir::Node& n, ir::Facts& f) {
  TRN_TRY(activation(n));
  TRN_TRY(infer_same(n, f));
  TRN_TRY(expect_rank(f, 1, 1));
  if (!f.has_rank(0)) return {};
  const SymShape& x = f.in(0).shape();
  if (x.empty()) return invalid_argument("input 0 is a scalar");
  if (f.has_rank(1) && f.in(1).dim(0).is_int() && x.back().is_int()) {
    const int64_t cols = f.in(1).dim(0).value();
    if (cols < 1 || x.back().value() % cols != 0)
      return invalid_argument("rows of {} elements do not divide into groups of {}", x.back().value(), cols);
  }
  return expect_like(f, 2, x);
}

class NormCpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    TRN_ASSIGN(const UnaryOp op, activation(n));
    return std::unique_ptr<Kernel>(new NormCpu(op, n.attr("epsilon", 1e-5f)));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView &x = ctx.in(0), &gate = ctx.in(2), &y = ctx.out(0);
    const int64_t cols = ctx.in(1).count;
    if (x.count == 0) return {};
    const auto fn = kernels::unary(op_, Elem::f32);
    const auto mul = kernels::binary(BinaryOp::mul, Elem::f32, BinaryShape::vector_vector);
    ctx.parallel_for(x.count / cols, 2048 / cols + 1, [&](int64_t begin, int64_t end) {
      constexpr int64_t kPiece = 512;
      float own[kPiece];
      float* to = y.as<float>() + begin * cols;
      kernels::norm().rms(x.as<const float>() + begin * cols, ctx.in(1).as<const float>(), to, nullptr, end - begin,
                          cols, epsilon_);
      const float* from = gate.as<const float>() + begin * cols;
      for (int64_t i = 0, all = (end - begin) * cols; i < all; i += kPiece) {
        const auto count = static_cast<size_t>(std::min(kPiece, all - i));
        fn(from + i, own, count, {.a = 1});
        mul(to + i, own, to + i, count);
      }
    });
    return {};
  }

 private:
  NormCpu(UnaryOp op, float epsilon) : op_(op), epsilon_(epsilon) {}
  UnaryOp op_;
  float epsilon_;
};

Status infer_add(const ir::Node& n, ir::Facts& f) {
  TRN_TRY(infer_same(n, f));
  if (!f.has_rank(0)) return {};
  SymShape x = f.in(0).shape();
  if (x.empty()) return invalid_argument("input 0 is a scalar");
  TRN_TRY(expect_like(f, 1, x));
  x.back() = f.has(3) ? Dim() : Dim(1);
  return expect_like(f, 2, x);
}

// Each row: x + y * gate; the product is rounded to the type before it is added.
class AddCpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    if (n.input(3)) return not_implemented("the input gate_weight");
    return std::unique_ptr<Kernel>(new AddCpu);
  }

  Status run(KernelContext& ctx) const override {
    const TensorView& x = ctx.in(0);
    if (x.count == 0) return {};
    const int64_t cols = x.dim(x.rank - 1), size = static_cast<int64_t>(size_of(x.dtype));
    const auto mul = kernels::binary(BinaryOp::mul, elem(x.dtype), BinaryShape::vector_scalar);
    const auto add = kernels::binary(BinaryOp::add, elem(x.dtype), BinaryShape::vector_vector);
    ctx.parallel_for(x.count / cols, 16384 / cols + 1, [&](int64_t begin, int64_t end) {
      constexpr int64_t kPiece = 1024;
      alignas(64) std::byte own[kPiece * sizeof(float)];
      for (int64_t r = begin; r < end; ++r)
        for (int64_t c = 0; c < cols; c += kPiece) {
          const auto n = static_cast<size_t>(std::min(kPiece, cols - c));
          const int64_t at = (r * cols + c) * size;
          mul(ctx.in(1).as<const char>() + at, ctx.in(2).as<const char>() + r * size, own, n);
          add(x.as<const char>() + at, own, ctx.out(0).as<char>() + at, n);
        }
    });
    return {};
  }
};

constexpr DTypes kTypes = DType::f32 | DType::f16 | DType::bf16;

constexpr OpDef kDefs[] = {
    {"GatedRMSNorm",
     infer_norm,
     cpu_widened<NormCpu>(kTypes),
     {.reviewed = 1, .in_place = {{0, 0}}},
     "com.microsoft",
     "com.microsoft::GatedRMSNorm 1 (X:T, scale:T, gate:T) -> (Y:T) {epsilon:f=1e-5, activation:s='silu'} "
     "T=f32|f16|bf16"},
    {"GatedAdd",
     infer_add,
     cpu<AddCpu>(kTypes),
     {.reviewed = 1, .in_place = {{0, 0}}},
     "com.microsoft",
     "com.microsoft::GatedAdd 1 (X:T, Y:T, gate:T, gate_weight?:T) -> (output:T) T=f32|f16|bf16"},
};

}  // namespace

TRUNNION_OPS(gated_norm, kDefs);

}  // namespace trunnion::ops
