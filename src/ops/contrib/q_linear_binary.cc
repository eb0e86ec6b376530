// QLinearAdd and QLinearMul (com.microsoft 1): sum and product of 8-bit quantized tensors with broadcasting, quantized
// again.
#include "kernels/broadcast.h"
#include "ops/contrib/q_linear_detail.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

enum Input { kA, kAScale, kAZero, kB, kBScale, kBZero, kYScale, kYZero };
constexpr int64_t kGrain = 1 << 17;

Status infer(const ir::Node&, ir::Facts& f) {
  const int points[] = {kAScale, kAZero, kBScale, kBZero, kYScale, kYZero};
  TRN_TRY(expect_single(f, points));
  f.set(0, f.dtype(kA));
  if (!f.has_rank(kA) || !f.has_rank(kB)) return {};
  TRN_ASSIGN(SymShape y, broadcast_shapes(f.in(kA).shape(), f.in(kB).shape()));
  f.set(0, f.dtype(kA), std::move(y));
  return {};
}

struct State final : KernelState {
  kernels::BroadcastPlan plan;
};

template <bool kMul>
class QLinearBinary final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node&) { return std::unique_ptr<Kernel>(new QLinearBinary); }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto s = std::make_unique<State>();
    const TensorView &a = ctx.in(kA), &b = ctx.in(kB);
    const int64_t* shapes[] = {a.dims, b.dims};
    const int ranks[] = {a.rank, b.rank};
    if (!kernels::broadcast_plan(2, shapes, ranks, s->plan))
      return invalid_argument("shapes {} and {} cannot be broadcast together", shape_text(a.shape()),
                              shape_text(b.shape()));
    return std::unique_ptr<KernelState>(std::move(s));
  }

  Status run(KernelContext& ctx) const override {
    const kernels::BroadcastPlan& plan = ctx.state<State>()->plan;
    const kernels::ByteBinaryArgs args{read_point(ctx, kAScale), read_point(ctx, kBScale), read_point(ctx, kYScale)};
    const TensorView &a = ctx.in(kA), &b = ctx.in(kB), &y = ctx.out(0);
    const auto& table = kMul ? kernels::quant_bytes().mul : kernels::quant_bytes().add;
    const auto fn = table[y.dtype == DType::i8][static_cast<int>(plan.shape())];
    ctx.parallel_for(plan.elements, kGrain, [&](int64_t begin, int64_t end) {
      kernels::broadcast_rows(plan, begin, end, [&](const int64_t* offset, int64_t at, int64_t n) {
        fn(a.as<const uint8_t>() + offset[0], b.as<const uint8_t>() + offset[1], y.as<uint8_t>() + at,
           static_cast<size_t>(n), args);
      });
    });
    return {};
  }
};

constexpr OpDef kDefs[] = {
    {"QLinearAdd",
     infer,
     cpu<QLinearBinary<false>>(kBytes),
     {.reviewed = 1, .in_place_any = true},
     "com.microsoft",
     "com.microsoft::QLinearAdd 1 (A:T, A_scale:f32, A_zero_point?:T, B:T, B_scale:f32, B_zero_point?:T, C_scale:f32, "
     "C_zero_point?:T) -> (C:T) T=u8|i8"},
    {"QLinearMul",
     infer,
     cpu<QLinearBinary<true>>(kBytes),
     {.reviewed = 1, .in_place_any = true},
     "com.microsoft",
     "com.microsoft::QLinearMul 1 (A:T, A_scale:f32, A_zero_point?:T, B:T, B_scale:f32, B_zero_point?:T, C_scale:f32, "
     "C_zero_point?:T) -> (C:T) T=u8|i8"},
};

}  // namespace

TRUNNION_OPS(q_linear_binary, kDefs);

}  // namespace trunnion::ops
