// BiasDropout, BitmaskDropout and BitmaskBiasDropout (com.microsoft 1): dropout(data + bias) + residual. Without
// training_mode nothing is dropped. The mask tells what was kept, in booleans or as bits of u32, lowest first.
#include <algorithm>

#include "kernels/broadcast.h"
#include "ops/dispatch.h"
#include "ops/random/random_detail.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

struct Params {
  int bias = -1, residual = -1, ratio = 1, training = 2;  // inputs
  bool bits = false;
};
Params read(const ir::Node& n) {
  if (n.op_type() == "BitmaskDropout") return {-1, -1, 1, 2, true};
  return {1, 2, 3, 4, n.op_type() == "BitmaskBiasDropout"};
}

Status infer(const ir::Node& n, ir::Facts& f) {
  const Params p = read(n);
  f.set(0, f.dtype(0), f.in(0).type.shape);
  f.set(1, p.bits ? DType::u32 : DType::boolean);
  for (int i : {p.ratio, p.training})
    if (f.has_rank(i) && f.in(i).rank() > 1)
      return invalid_argument("input {} has shape {}, needs a scalar", i, shape_text(f.in(i).shape()));
  if (!f.has_rank(0)) return {};
  const SymShape& x = f.in(0).shape();
  for (int i : {p.bias, p.residual}) {
    if (i < 0 || !f.has_rank(i)) continue;
    TRN_ASSIGN(const SymShape y, broadcast_shapes(x, f.in(i).shape()));
    bool same = y.size() == x.size();
    for (size_t d = 0; same && d < y.size(); ++d) same = !y[d].is_int() || !x[d].is_int() || y[d] == x[d];
    if (!same)
      return invalid_argument("input {} of shape {} does not broadcast to the data of shape {}", i,
                              shape_text(f.in(i).shape()), shape_text(x));
  }
  if (p.bits)
    f.set(1, DType::u32, SymShape{ceil_div(element_count(x), Dim(32))});
  else
    f.set(1, DType::boolean, x);
  return {};
}

class BiasDropoutCpu final : public Kernel {
 public:
  struct State final : KernelState {
    kernels::BroadcastPlan bias, residual;
  };

  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    return std::unique_ptr<Kernel>(new BiasDropoutCpu(n));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto s = std::make_unique<State>();
    const TensorView& x = ctx.in(0);
    for (const auto& [i, plan] : {std::pair{p_.bias, &s->bias}, std::pair{p_.residual, &s->residual}}) {
      if (i < 0 || !ctx.has_in(i)) continue;
      const int64_t* shapes[] = {ctx.in(i).dims};
      const int ranks[] = {ctx.in(i).rank};
      if (!kernels::broadcast_plan_to(1, shapes, ranks, x.dims, x.rank, *plan))
        return invalid_argument("input {} of shape {} does not broadcast to the data of shape {}", i,
                                shape_text(ctx.in(i).shape()), shape_text(x.shape()));
    }
    return std::unique_ptr<KernelState>(std::move(s));
  }

  Status run(KernelContext& ctx) const override {
    double ratio = 0.5;
    if (ctx.has_in(p_.ratio)) {
      const TensorView& r = ctx.in(p_.ratio);
      if (r.count != 1) return invalid_argument("ratio has {} elements, needs one", r.count);
      TRN_TRY(dispatch<kFloats.bits()>(
          r.dtype, [&]<class T>() { ratio = static_cast<double>(static_cast<Compute<T>>(*r.as<T>())); }));
    }
    if (!(ratio >= 0 && ratio < 1)) return invalid_argument("ratio is {}, expected a value in [0, 1)", ratio);
    const bool training = ctx.has_in(p_.training) && ctx.in(p_.training).count > 0 && *ctx.in(p_.training).as<bool>();
    return dispatch<kFloats.bits()>(ctx.in(0).dtype, [&]<class T>() { apply<T>(ctx, training ? ratio : 0); });
  }

 private:
  explicit BiasDropoutCpu(const ir::Node& n) : p_(read(n)), seeds_(n) {}

  // to[i] += other[i], broadcast.
  template <class T>
  static void add(const kernels::BroadcastPlan& plan, const TensorView& other, T* to) {
    using C = Compute<T>;
    const int64_t step = plan.inner_stride(0);
    kernels::broadcast_rows(plan, 0, plan.elements, [&](const int64_t* offset, int64_t at, int64_t n) {
      for (int64_t i = 0; i < n; ++i)
        to[at + i] = static_cast<T>(static_cast<C>(to[at + i]) + static_cast<C>(other.as<T>()[offset[0] + i * step]));
    });
  }

  template <class T>
  void apply(KernelContext& ctx, double ratio) const {
    const State& s = *ctx.state<State>();
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    T* to = y.as<T>();
    std::copy_n(x.as<T>(), x.count, to);
    if (p_.bias >= 0) add<T>(s.bias, ctx.in(p_.bias), to);
    if (ctx.has_out(1)) {
      const TensorView& mask = ctx.out(1);
      if (p_.bits)
        std::fill_n(mask.as<uint32_t>(), mask.count, ~0u);
      else
        std::fill_n(mask.as<bool>(), mask.count, true);
    }
    if (ratio > 0) {
      RandomStream stream = seeds_.next();
      using C = Compute<T>;
      const C scale = static_cast<C>(1 / (1 - ratio));
      for (int64_t i = 0; i < x.count; ++i) {
        const bool keep = stream.uniform() >= ratio;
        to[i] = keep ? static_cast<T>(static_cast<C>(to[i]) * scale) : T(0.0f);
        if (keep || !ctx.has_out(1)) continue;
        if (p_.bits)
          ctx.out(1).as<uint32_t>()[i / 32] &= ~(1u << i % 32);
        else
          ctx.out(1).as<bool>()[i] = false;
      }
    }
    if (p_.residual >= 0 && ctx.has_in(p_.residual)) add<T>(s.residual, ctx.in(p_.residual), to);
  }

  Params p_;
  SeedSource seeds_;
};

constexpr OpFlags kFlags{.reviewed = 1, .random = true};
constexpr CpuKernel kKernel = cpu<BiasDropoutCpu>(kFloats);
constexpr OpDef kDefs[] = {
    {"BiasDropout", infer, kKernel, kFlags, "com.microsoft",
     "com.microsoft::BiasDropout 1 (data:T, bias:T, residual?:T, ratio?:T1, training_mode?:T2) -> (output:T, mask?:T2) "
     "{seed:i} T=float|bf16 T1=float|bf16 T2=bool"},
    {"BitmaskDropout", infer, kKernel, kFlags, "com.microsoft",
     "com.microsoft::BitmaskDropout 1 (data:T, ratio?:T1, training_mode?:T2) -> (output:T, mask?:T3) {seed:i} "
     "T=float|bf16 T1=float|bf16 T2=bool T3=u32"},
    {"BitmaskBiasDropout", infer, kKernel, kFlags, "com.microsoft",
     "com.microsoft::BitmaskBiasDropout 1 (data:T, bias:T, residual?:T, ratio?:T1, training_mode?:T2) -> (output:T, "
     "mask?:T3) {seed:i} T=float|bf16 T1=float|bf16 T2=bool T3=u32"},
};

}  // namespace

TRUNNION_OPS(bias_dropout, kDefs);

}  // namespace trunnion::ops
