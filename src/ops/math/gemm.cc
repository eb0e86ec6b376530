// Gemm (ai.onnx 1, 6, 7, 9, 11, 13) and FusedGemm (com.microsoft 1): alpha * A' * B' + beta * C, C broadcast to the
// product; the second with an activation.
#include <cmath>
#include <cstring>

#include "kernels/broadcast.h"
#include "ops/contrib/fused_activation_detail.h"
#include "ops/dispatch.h"
#include "ops/half_adapter.h"
#include "ops/math/matmul_detail.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

struct Params {
  bool trans_a, trans_b;
  float alpha, beta;
};

Params read(const ir::Node& n) {
  return {n.attr("transA", 0) != 0, n.attr("transB", 0) != 0, n.attr("alpha", 1.0f), n.attr("beta", 1.0f)};
}

Status infer(const ir::Node& n, ir::Facts& f) {
  const Params p = read(n);
  f.set(0, f.dtype(0));
  TRN_TRY(expect_rank(f, 0, 2));
  TRN_TRY(expect_rank(f, 1, 2));
  if (!f.has_rank(0) || !f.has_rank(1)) {
    f.set(0, f.dtype(0), unknown_shape(2));
    return {};
  }
  const Dim m = f.in(0).dim(p.trans_a ? 1 : 0), ka = f.in(0).dim(p.trans_a ? 0 : 1);
  const Dim kb = f.in(1).dim(p.trans_b ? 1 : 0), cols = f.in(1).dim(p.trans_b ? 0 : 1);
  if (ka.is_int() && kb.is_int() && ka.value() != kb.value())
    return invalid_argument("the inner dimensions are {} and {} (shapes {} and {}, transA = {}, transB = {})",
                            ka.value(), kb.value(), shape_text(f.in(0).shape()), shape_text(f.in(1).shape()),
                            int{p.trans_a}, int{p.trans_b});
  SymShape y{m, cols};
  if (f.has_rank(2)) {
    const SymShape& c = f.in(2).shape();
    bool fits = c.size() <= 2;
    for (size_t i = 0; fits && i < c.size(); ++i) {
      const Dim &have = c[c.size() - 1 - i], &want = y[1 - i];
      fits = !have.is_int() || !want.is_int() || have.value() == 1 || have.value() == want.value();
    }
    if (!fits)
      return invalid_argument("input 2 of shape {} does not broadcast to the product of shape {}", shape_text(c),
                              shape_text(y));
  }
  f.set(0, f.dtype(0), std::move(y));
  return {};
}

// beta * C spread over the whole [M, N].
template <class T>
Status spread(const TensorView& c, const TensorView& y, T beta, T* to) {
  kernels::BroadcastPlan plan;
  const int64_t* shapes[] = {c.dims};
  const int ranks[] = {c.rank};
  if (!kernels::broadcast_plan_to(1, shapes, ranks, y.dims, y.rank, plan))
    return invalid_argument("input 2 of shape {} does not broadcast to the product of shape {}", shape_text(c.shape()),
                            shape_text(y.shape()));
  const T* from = c.as<T>();
  const int64_t step = plan.inner_stride(0);
  kernels::broadcast_rows(plan, 0, plan.elements, [&](const int64_t* offset, int64_t at, int64_t n) {
    for (int64_t i = 0; i < n; ++i) to[at + i] = static_cast<T>(beta * from[offset[0] + i * step]);
  });
  return {};
}

// An integer: towards zero, and wrapping where it is below the least of T.
template <class T>
T cut(double v) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(v);
  } else {
    constexpr double kMost = 9223372036854774784.0;  // the largest below 2^63
    if (std::isnan(v)) return 0;
    if (std::is_same_v<T, uint64_t> && v > kMost) return static_cast<T>(std::min(v, 2 * kMost));
    return static_cast<T>(static_cast<int64_t>(std::clamp(v, -kMost, kMost)));
  }
}

bool is_whole(float v) { return std::fabs(v) < 9e15f && v == std::trunc(v); }

// alpha * y + beta * C for integers under factors that are none: exact to 53 bits, and cut once, at the end.
template <class T>
Status scale(const TensorView* c, const TensorView& y, double alpha, double beta) {
  T* to = y.as<T>();
  if (!c) {
    for (int64_t i = 0; i < y.count; ++i) to[i] = cut<T>(alpha * static_cast<double>(to[i]));
    return {};
  }
  kernels::BroadcastPlan plan;
  const int64_t* shapes[] = {c->dims};
  const int ranks[] = {c->rank};
  if (!kernels::broadcast_plan_to(1, shapes, ranks, y.dims, y.rank, plan))
    return invalid_argument("input 2 of shape {} does not broadcast to the product of shape {}", shape_text(c->shape()),
                            shape_text(y.shape()));
  const T* from = c->as<T>();
  const int64_t step = plan.inner_stride(0);
  kernels::broadcast_rows(plan, 0, plan.elements, [&](const int64_t* offset, int64_t at, int64_t n) {
    for (int64_t i = 0; i < n; ++i)
      to[at + i] =
          cut<T>(alpha * static_cast<double>(to[at + i]) + beta * static_cast<double>(from[offset[0] + i * step]));
  });
  return {};
}

class GemmCpu final : public Kernel {
 public:
  struct State final : KernelState {
    MatMulEngine::State product;
    enum class Bias : uint8_t { none, column, row, residual, spread } bias = Bias::none;
    size_t bias_offset = 0;  // scaled copy of C in scratch, when beta is not 1
    bool scaled = false;
  };

  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    const Params p = read(n);
    FusedActivation activation;
    if (n.op_type() == "FusedGemm") {
      TRN_ASSIGN(activation, read_named_activation(n));
    }
    TRN_ASSIGN(MatMulEngine engine, MatMulEngine::make(*n.input(1), p.trans_a, p.trans_b));
    std::unique_ptr<Kernel> kernel(new GemmCpu(p, activation, std::move(engine)));
    return is_half(n.input(0)->fact.dtype()) ? adapt_half(std::move(kernel)) : std::move(kernel);
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto state = std::make_unique<State>();
    const TensorView &a = ctx.in(0), &y = ctx.out(0);
    if (a.dtype != DType::f32) {
      Shape a_dims(a.shape()), b_dims(ctx.in(1).shape());
      if (p_.trans_a) std::swap(a_dims[0], a_dims[1]);
      if (p_.trans_b) std::swap(b_dims[0], b_dims[1]);
      TRN_ASSIGN(state->product.shape, matmul_shape(a_dims, b_dims));
      return std::unique_ptr<KernelState>(std::move(state));
    }
    TRN_ASSIGN(size_t bytes, engine_.prepare(a, ctx.in(1), ctx.threads(), 0, state->product));
    if (ctx.has_in(2) && p_.beta != 0 && y.count > 0) {
      const TensorView& c = ctx.in(2);
      const int64_t m = y.dim(0), n = y.dim(1);
      const int64_t rows = c.rank == 2 ? c.dim(0) : 1, cols = c.rank >= 1 ? c.dim(c.rank - 1) : 1;
      state->bias = cols == n && rows == 1             ? State::Bias::column
                    : cols == 1 && rows == m && m != 1 ? State::Bias::row
                    : cols == n && rows == m           ? State::Bias::residual
                                                       : State::Bias::spread;
      state->scaled = p_.beta != 1;
      state->bias_offset = bytes;
      if (state->scaled && (state->bias == State::Bias::column || state->bias == State::Bias::row))
        bytes += static_cast<size_t>(c.count) * sizeof(float);
    }
    ctx.request_scratch(bytes);
    return std::unique_ptr<KernelState>(std::move(state));
  }

  Status run(KernelContext& ctx) const override {
    const auto& state = *ctx.state<State>();
    const TensorView &a = ctx.in(0), &b = ctx.in(1), &y = ctx.out(0);
    if (y.count == 0) return {};
    const bool has_c = ctx.has_in(2) && p_.beta != 0;
    if (a.dtype != DType::f32) {
      const TensorView* c = has_c ? &ctx.in(2) : nullptr;
      if (a.dtype != DType::f64 && !(is_whole(p_.alpha) && is_whole(p_.beta))) {
        TRN_TRY(plain_matmul(ctx, a.dtype, state.product.shape, p_.trans_a, p_.trans_b, a.data, b.data, y.data));
        return dispatch<kIntegers.bits()>(a.dtype, [&]<class T>() { return scale<T>(c, y, p_.alpha, p_.beta); });
      }
      if (has_c)
        TRN_TRY((dispatch<(DTypes(DType::f64) | kIntegers).bits()>(
            a.dtype, [&]<class T>() { return spread<T>(*c, y, cut<T>(p_.beta), y.as<T>()); })));
      TRN_TRY(plain_matmul(ctx, a.dtype, state.product.shape, p_.trans_a, p_.trans_b, a.data, b.data, y.data, p_.alpha,
                           has_c ? 1 : 0));
      return apply_activation(ctx, activation_, y);
    }
    kernels::Epilogue e;
    e.alpha = p_.alpha;
    const bool activated = activation_.into(e);
    if (has_c) {
      const TensorView& c = ctx.in(2);
      const float* bias = c.as<float>();
      using Bias = State::Bias;
      if (state.bias == Bias::spread || (state.bias == Bias::residual && state.scaled)) {
        TRN_TRY(spread<float>(c, y, p_.beta, y.as<float>()));
        e.beta = 1;
      } else if (state.scaled) {
        auto* copy = reinterpret_cast<float*>(ctx.scratch() + state.bias_offset);
        for (int64_t i = 0; i < c.count; ++i) copy[i] = p_.beta * bias[i];
        bias = copy;
      }
      if (state.bias == Bias::column) e.bias_col = bias;
      if (state.bias == Bias::row) e.bias_row = bias;
      if (state.bias == Bias::residual && !state.scaled) {
        e.residual = bias;
        e.residual_ld = y.dim(1);
      }
    }
    engine_.run(ctx, state.product, a.as<float>(), b.as<float>(), y.as<float>(), e);
    return activated ? Status{} : apply_activation(ctx, activation_, y);
  }

  bool reads_input(int i) const override { return i != 1 || !engine_.packed(); }

 private:
  GemmCpu(Params p, FusedActivation activation, MatMulEngine engine)
      : p_(p), activation_(activation), engine_(std::move(engine)) {}
  Params p_;
  FusedActivation activation_;
  MatMulEngine engine_;
};

constexpr DTypes kTypes = kFloats | DType::i32 | DType::i64 | DType::u32 | DType::u64;
constexpr OpDef kDefs[] = {
    {"Gemm", infer, cpu<GemmCpu>(kTypes), {.reviewed = 13}},
    {"FusedGemm",
     infer,
     cpu<GemmCpu>(kFloats),
     {.reviewed = 1},
     "com.microsoft",
     "com.microsoft::FusedGemm 1 (A:T, B:T, C?:T) -> (Y:T) {activation:s, activation_alpha:f, activation_beta:f, "
     "activation_gamma:f, alpha:f=1, beta:f=1, transA:i=0, transB:i=0} T=float|bf16"},
};

}  // namespace

TRUNNION_OPS(gemm, kDefs);

}  // namespace trunnion::ops
