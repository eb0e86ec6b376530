// QGemm (com.microsoft 1): alpha A' B' + C of 8-bit quantized matrices; C holds 32-bit sums. The result is quantized
// again, or f32 when there is no zero point for it.
#include "kernels/broadcast.h"
#include "ops/contrib/q_linear_detail.h"
#include "ops/quant/int8_matmul_detail.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

enum Input { kA, kAScale, kAZero, kB, kBScale, kBZero, kC, kYScale, kYZero };

Status infer(const ir::Node& n, ir::Facts& f) {
  const bool trans_a = n.attr("transA", 0) != 0, trans_b = n.attr("transB", 0) != 0;
  const int points[] = {kAScale, kAZero, kYScale, kYZero};
  TRN_TRY(expect_single(f, points));
  TRN_TRY(expect_rank(f, kA, 2));
  TRN_TRY(expect_rank(f, kB, 2));
  SymShape y = unknown_shape(2);
  if (f.has_rank(kA)) y[0] = f.in(kA).dim(trans_a ? 1 : 0);
  if (f.has_rank(kB)) y[1] = f.in(kB).dim(trans_b ? 0 : 1);
  if (f.has_rank(kA) && f.has_rank(kB)) {
    const Dim &ka = f.in(kA).dim(trans_a ? 0 : 1), &kb = f.in(kB).dim(trans_b ? 1 : 0);
    if (ka.is_int() && kb.is_int() && ka.value() != kb.value())
      return invalid_argument("the inner dimensions are {} and {} (shapes {} and {}, transA = {}, transB = {})",
                              ka.value(), kb.value(), shape_text(f.in(kA).shape()), shape_text(f.in(kB).shape()),
                              int{trans_a}, int{trans_b});
  }
  for (int i : {kBScale, kBZero}) {
    const auto dims = f.has_rank(i) ? f.in(i).concrete() : std::nullopt;
    if (!dims || product(*dims) == 1 || !y[1].is_int()) continue;
    if (dims->size() != 1 || (*dims)[0] != y[1].value())
      return invalid_argument("input {} has shape {}, it must hold one value or one for each of {} columns", i,
                              shape_text(*dims), y[1].value());
  }
  if (f.has_rank(kC)) {
    const SymShape& c = f.in(kC).shape();
    bool fits = c.size() <= 2;
    for (size_t i = 0; fits && i < c.size(); ++i) {
      const Dim &have = c[c.size() - 1 - i], &want = y[1 - i];
      fits = !have.is_int() || !want.is_int() || have.value() == 1 || have.value() == want.value();
    }
    if (!fits)
      return invalid_argument("input {} of shape {} does not broadcast to the product of shape {}", int{kC},
                              shape_text(c), shape_text(y));
  }
  f.set(0, f.has(kYZero) ? f.dtype(kYZero) : DType::f32, std::move(y));
  return {};
}

struct State final : KernelState {
  Int8MatMulEngine::State product;
  size_t scale_offset = 0, c_offset = 0;
  bool spread_c = false, c_per_column = false;  // else C is as large as the product
};

class QGemmCpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    const bool trans_a = n.attr("transA", 0) != 0, trans_b = n.attr("transB", 0) != 0;
    TRN_ASSIGN(Int8MatMulEngine engine, Int8MatMulEngine::make(*n.input(kB), trans_a, trans_b));
    return std::unique_ptr<Kernel>(new QGemmCpu(std::move(engine), n.attr("alpha", 1.0f)));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto s = std::make_unique<State>();
    const TensorView& y = ctx.out(0);
    size_t offset = 0;
    const auto take = [&offset](int64_t count) {
      const size_t at = offset;
      offset += (static_cast<size_t>(count) * 4 + 63) / 64 * 64;
      return at;
    };
    s->scale_offset = take(ctx.in(kBScale).count);
    if (ctx.has_in(kC)) {
      const TensorView& c = ctx.in(kC);
      s->c_per_column = c.count == y.dim(1) && c.rank >= 1 && c.dim(c.rank - 1) == y.dim(1);
      s->spread_c = !s->c_per_column && c.count != y.count;
      if (s->spread_c) s->c_offset = take(y.count);
    }
    TRN_ASSIGN(offset, engine_.prepare(ctx.in(kA), ctx.in(kB), &ctx.in(kAZero), &ctx.in(kBZero), ctx.threads(), offset,
                                       false, s->product));
    ctx.request_scratch(offset);
    return std::unique_ptr<KernelState>(std::move(s));
  }

  Status run(KernelContext& ctx) const override {
    const State& s = *ctx.state<State>();
    const TensorView &y = ctx.out(0), &b_scale = ctx.in(kBScale);
    if (y.count == 0) return {};
    auto* scale = reinterpret_cast<float*>(ctx.scratch() + s.scale_offset);
    for (int64_t i = 0; i < b_scale.count; ++i) {
      scale[i] = alpha_ * *ctx.in(kAScale).as<float>() * b_scale.as<float>()[i];
      if (ctx.has_in(kYScale)) scale[i] /= *ctx.in(kYScale).as<float>();
    }
    const int32_t* c = ctx.has_in(kC) ? ctx.in(kC).as<int32_t>() : nullptr;
    if (c && s.spread_c) {
      auto* spread = reinterpret_cast<int32_t*>(ctx.scratch() + s.c_offset);
      kernels::BroadcastPlan plan;
      const int64_t* shapes[] = {ctx.in(kC).dims};
      const int ranks[] = {ctx.in(kC).rank};
      if (!kernels::broadcast_plan_to(1, shapes, ranks, y.dims, y.rank, plan))
        return invalid_argument("input {} of shape {} does not broadcast to the product of shape {}", int{kC},
                                shape_text(ctx.in(kC).shape()), shape_text(y.shape()));
      kernels::broadcast_copy(plan, 0, plan.elements, c, spread, sizeof(int32_t));
      c = spread;
    }
    const int32_t zero = ctx.has_in(kYZero) ? read_point(ctx.in(kAScale), &ctx.in(kYZero)).zero : 0;
    const int64_t n = y.dim(1);
    const bool many = b_scale.count > 1;
    engine_.run(ctx, s.product, ctx.in(kA), ctx.in(kB), &ctx.in(kAZero), &ctx.in(kBZero), nullptr,
                [&](const Int8MatMulEngine::Tile& t) {
                  kernels::RequantizeArgs args{t.c, t.ldc, t.rows, t.cols, nullptr, scale + (many ? t.col : 0), many};
                  if (c && !s.c_per_column) {
                    args.rows = 1;
                    for (int64_t r = 0; r < t.rows; ++r, args.x += t.ldc) {
                      args.bias = c + (t.row + r) * n + t.col;
                      store(args, y, (t.row + r) * n + t.col, n, zero);
                    }
                    return;
                  }
                  if (c) args.bias = c + t.col;
                  store(args, y, t.row * n + t.col, n, zero);
                });
    return {};
  }

 private:
  QGemmCpu(Int8MatMulEngine engine, float alpha) : engine_(std::move(engine)), alpha_(alpha) {}

  static void store(const kernels::RequantizeArgs& args, const TensorView& y, int64_t at, int64_t n, int32_t zero) {
    if (y.dtype == DType::f32)
      kernels::requantize().to_f32(args, y.as<float>() + at, n, nullptr);
    else if (y.dtype == DType::i8)
      kernels::requantize().to_i8(args, y.as<int8_t>() + at, n, zero);
    else
      kernels::requantize().to_u8(args, y.as<uint8_t>() + at, n, zero);
  }

  Int8MatMulEngine engine_;
  float alpha_;
};

constexpr OpDef kDefs[] = {
    {"QGemm",
     infer,
     cpu<QGemmCpu>(kBytes),
     {.reviewed = 1},
     "com.microsoft",
     "com.microsoft::QGemm 1 (A:TA, a_scale:T, a_zero_point:TA, B:TB, b_scale:T, b_zero_point:TB, C?:TC, y_scale?:T, "
     "y_zero_point?:TYZ) -> (Y:TY) {alpha:f=1, transA:i=0, transB:i=0} T=f32 TA=u8|i8 TB=u8|i8 TC=i32 TYZ=u8|i8 "
     "TY=f32|u8|i8"},
};

}  // namespace

TRUNNION_OPS(q_gemm, kDefs);

}  // namespace trunnion::ops
