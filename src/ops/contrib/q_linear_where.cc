// QLinearWhere (com.microsoft 1): condition ? X : Y of 8-bit quantized tensors with broadcasting, quantized again.
#include "kernels/broadcast.h"
#include "ops/contrib/q_linear_detail.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

enum Input { kCondition, kX, kXScale, kXZero, kY, kYScale, kYZero, kZScale, kZZero };

Status infer(const ir::Node&, ir::Facts& f) {
  const int points[] = {kXScale, kXZero, kYScale, kYZero, kZScale, kZZero};
  TRN_TRY(expect_single(f, points));
  f.set(0, f.dtype(kX));
  if (!f.has_rank(kCondition) || !f.has_rank(kX) || !f.has_rank(kY)) return {};
  TRN_ASSIGN(SymShape z, broadcast_shapes(f.in(kX).shape(), f.in(kY).shape()));
  TRN_ASSIGN(z, broadcast_shapes(f.in(kCondition).shape(), z));
  f.set(0, f.dtype(kX), std::move(z));
  return {};
}

struct State final : KernelState {
  kernels::BroadcastPlan plan;
  size_t y_offset = 0;
};

class QLinearWhereCpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node&) { return std::unique_ptr<Kernel>(new QLinearWhereCpu); }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto s = std::make_unique<State>();
    const TensorView &c = ctx.in(kCondition), &x = ctx.in(kX), &y = ctx.in(kY);
    const int64_t* shapes[] = {c.dims, x.dims, y.dims};
    const int ranks[] = {c.rank, x.rank, y.rank};
    if (!kernels::broadcast_plan(3, shapes, ranks, s->plan))
      return invalid_argument("shapes {}, {} and {} cannot be broadcast together", shape_text(c.shape()),
                              shape_text(x.shape()), shape_text(y.shape()));
    s->y_offset = (static_cast<size_t>(x.count) + 63) / 64 * 64;
    ctx.request_scratch(s->y_offset + static_cast<size_t>(y.count));
    return std::unique_ptr<KernelState>(std::move(s));
  }

  Status run(KernelContext& ctx) const override {
    const State& s = *ctx.state<State>();
    const auto* condition = ctx.in(kCondition).as<const bool>();
    const void* x = translated(ctx, kX, 0);
    const void* y = translated(ctx, kY, s.y_offset);
    ctx.parallel_for(s.plan.elements, 65536, [&](int64_t begin, int64_t end) {
      kernels::broadcast_where(s.plan, begin, end, condition, x, y, ctx.out(0).data, 1);
    });
    return {};
  }

 private:
  // The codes of input i as codes of the output: in scratch, unless they are the same.
  static const void* translated(KernelContext& ctx, int i, size_t offset) {
    const TensorView& x = ctx.in(i);
    const kernels::BytePoint from = read_point(ctx, i + 1), to = read_point(ctx, kZScale);
    if (same_point(from, to)) return x.data;
    uint8_t table[256];
    requantize_table(from, to, x.dtype, table);
    auto* out = reinterpret_cast<uint8_t*>(ctx.scratch() + offset);
    ctx.parallel_for(x.count, 32768, [&](int64_t begin, int64_t end) {
      kernels::look_up(table, x.as<const uint8_t>() + begin, out + begin, static_cast<size_t>(end - begin));
    });
    return out;
  }
};

constexpr OpDef kDefs[] = {
    {"QLinearWhere",
     infer,
     cpu<QLinearWhereCpu>(kBytes, kX),
     {.reviewed = 1},
     "com.microsoft",
     "com.microsoft::QLinearWhere 1 (condition:B, X:T, x_scale:TF, x_zero_point:T, Y:T, y_scale:TF, y_zero_point:T, "
     "z_scale:TF, z_zero_point:T) -> (Z:T) B=bool TF=f32 T=u8|i8"},
};

}  // namespace

TRUNNION_OPS(q_linear_where, kDefs);

}  // namespace trunnion::ops
