// Pow (ai.onnx 1, 7, 12, 13, 15): the exponent may have another type than the base since 12.
#include <algorithm>

#include "kernels/convert.h"
#include "ops/dispatch.h"
#include "ops/elementwise.h"

namespace trunnion::ops {
namespace {

using kernels::BinaryOp;

// Mixed types are computed in one that holds both: of the base's kind, wide enough for the exponent.
DType common_type(DType base, DType exponent) {
  if (base == exponent) return base;
  if (is_float(base)) return base == DType::f64 || exponent == DType::f64 ? DType::f64 : DType::f32;
  return is_float(exponent) ? DType::f64 : DType::i64;
}

struct PowState final : KernelState {
  kernels::BroadcastPlan plan;
  kernels::BinaryFn fn = nullptr;
  DType type = DType::undefined;       // of the computation
  size_t at[3] = {}, end = 0;          // converted base, exponent and result in scratch
  kernels::ConvertFn convert[3] = {};  // null: used as it is
};

int64_t integer_power(int64_t base, int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  uint64_t r = 1, b = static_cast<uint64_t>(base);
  for (; exponent; exponent >>= 1, b *= b)
    if (exponent & 1) r *= b;
  return static_cast<int64_t>(r);
}
Dim power(const Dim& a, const Dim& b) {
  if (a.is_int() && b.is_int()) return integer_power(a.value(), b.value());
  return b.is_int(0) ? Dim(1) : b.is_int(1) ? a : b.is_int(2) ? a * a : Dim();
}

Status infer(const ir::Node& n, ir::Facts& f) {
  return infer_binary(n, f, f.dtype(0), is_integer(f.dtype(1)) ? power : nullptr);
}

class PowKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    return std::unique_ptr<Kernel>(new PowKernel(read_broadcast(node)));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto s = std::make_unique<PowState>();
    const TensorView* views[] = {&ctx.in(0), &ctx.in(1), &ctx.out(0)};
    TRN_ASSIGN(s->plan, plan_broadcast(rule_, views[0]->shape(), views[1]->shape()));
    s->type = common_type(views[0]->dtype, views[1]->dtype);
    s->fn = kernels::binary(BinaryOp::pow, elem(s->type), s->plan.shape());
    for (int i = 0; i < 3; ++i) {
      s->at[i] = s->end;
      if (views[i]->dtype == s->type) continue;
      s->convert[i] = i < 2 ? kernels::convert(elem(views[i]->dtype), elem(s->type))
                            : kernels::convert(elem(s->type), elem(views[i]->dtype));
      if (!s->convert[i]) return not_implemented("exponents of type {} are not supported", dtype_name(views[1]->dtype));
      s->end += (*storage_bytes(s->type, views[i]->count) + 63) / 64 * 64;
    }
    if (!s->fn) return not_implemented("element type {} has no kernel", dtype_name(s->type));
    ctx.request_scratch(s->end);
    return std::unique_ptr<KernelState>(std::move(s));
  }

  Status run(KernelContext& ctx) const override {
    const auto& s = *ctx.state<PowState>();
    const TensorView &a = ctx.in(0), &b = ctx.in(1), &y = ctx.out(0);
    const void* in[2] = {a.data, b.data};
    for (int i = 0; i < 2; ++i) {
      if (!s.convert[i]) continue;
      convert(ctx, s.convert[i], in[i], ctx.in(i).dtype, ctx.scratch() + s.at[i], s.type, ctx.in(i).count);
      in[i] = ctx.scratch() + s.at[i];
    }
    void* out = s.convert[2] ? ctx.scratch() + s.at[2] : y.data;
    if (!small_exponent(ctx, s, in[0], in[1], b.count, out))
      ctx.parallel_for(s.plan.elements, binary_grain(BinaryOp::pow, s.type), [&](int64_t begin, int64_t end) {
        const size_t size = size_of(s.type);
        kernels::broadcast_binary(s.plan, begin, end, s.fn, in[0], in[1], out, size, size);
      });
    if (s.convert[2]) convert(ctx, s.convert[2], out, s.type, y.data, y.dtype, y.count);
    return {};
  }

 private:
  explicit PowKernel(BroadcastRule rule) : rule_(rule) {}

  static void convert(KernelContext& ctx, kernels::ConvertFn fn, const void* x, DType from, void* y, DType to,
                      int64_t n) {
    ctx.parallel_for(n, 16384, [&](int64_t begin, int64_t end) {
      fn(static_cast<const std::byte*>(x) + begin * static_cast<int64_t>(size_of(from)),
         static_cast<std::byte*>(y) + begin * static_cast<int64_t>(size_of(to)), static_cast<size_t>(end - begin), {});
    });
  }

  // Squares and cubes, which are most of what models ask for, are products.
  static bool small_exponent(KernelContext& ctx, const PowState& s, const void* x, const void* exponent, int64_t count,
                             void* y) {
    if (s.type != DType::f32 || count != 1) return false;
    const float e = *static_cast<const float*>(exponent);
    if (e != 2 && e != 3) return false;
    const auto mul = kernels::binary(BinaryOp::mul, kernels::Elem::f32, kernels::BinaryShape::vector_vector);
    ctx.parallel_for(s.plan.elements, 32768, [&](int64_t begin, int64_t end) {
      const float* from = static_cast<const float*>(x);
      float* to = static_cast<float*>(y);
      if (e == 2) {
        mul(from + begin, from + begin, to + begin, static_cast<size_t>(end - begin));
        return;
      }
      constexpr int64_t kPiece = 1024;
      float squares[kPiece];
      for (int64_t at = begin; at < end; at += kPiece) {
        const size_t n = static_cast<size_t>(std::min(kPiece, end - at));
        mul(from + at, from + at, squares, n);
        mul(squares, from + at, to + at, n);
      }
    });
    return true;
  }

  BroadcastRule rule_;
};

constexpr OpDef kDefs[] = {
    {"Pow", infer, cpu<PowKernel>(kFloats | DType::i32 | DType::i64), {.reviewed = 15, .in_place_any = true}}};

}  // namespace

TRUNNION_OPS(pow, kDefs);
}  // namespace trunnion::ops
