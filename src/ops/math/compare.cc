// Equal, Less, LessOrEqual, Greater, GreaterOrEqual: booleans out, with broadcasting. Equal takes strings too.
#include <string>

#include "ops/elementwise.h"

namespace trunnion::ops {
namespace {

using kernels::BinaryOp;

// Content where both sides are integers, or where one is a size (not negative) and the other is negative.
Dim equal(const Dim& a, const Dim& b) {
  if (a.is_int() && b.is_int()) return a.value() == b.value();
  if (a == b) return 1;
  const Dim &number = a.is_int() ? a : b, &other = a.is_int() ? b : a;
  return number.is_int() && number.value() < 0 && is_not_negative(other) ? Dim(0) : Dim();
}
Dim less(const Dim& a, const Dim& b) { return a.is_int() && b.is_int() ? Dim(a.value() < b.value()) : Dim(); }
Dim less_equal(const Dim& a, const Dim& b) { return a.is_int() && b.is_int() ? Dim(a.value() <= b.value()) : Dim(); }
Dim greater(const Dim& a, const Dim& b) { return less(b, a); }
Dim greater_equal(const Dim& a, const Dim& b) { return less_equal(b, a); }

template <auto kContent>
Status infer(const ir::Node& n, ir::Facts& f) {
  return infer_binary(n, f, DType::boolean, kContent);
}

struct StringState final : KernelState {
  kernels::BroadcastPlan plan;
};

class EqualStrings final : public Kernel {
 public:
  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto s = std::make_unique<StringState>();
    TRN_ASSIGN(s->plan, plan_broadcast({}, ctx.in(0).shape(), ctx.in(1).shape()));
    return std::unique_ptr<KernelState>(std::move(s));
  }
  Status run(KernelContext& ctx) const override {
    const auto& plan = ctx.state<StringState>()->plan;
    const auto *a = ctx.in(0).as<const std::string>(), *b = ctx.in(1).as<const std::string>();
    bool* y = ctx.out(0).as<bool>();
    const int64_t step_a = plan.inner_stride(0), step_b = plan.inner_stride(1);
    ctx.parallel_for(plan.elements, 2048, [&](int64_t begin, int64_t end) {
      kernels::broadcast_rows(plan, begin, end, [&](const int64_t* offset, int64_t at, int64_t n) {
        for (int64_t i = 0; i < n; ++i) y[at + i] = a[offset[0] + i * step_a] == b[offset[1] + i * step_b];
      });
    });
    return {};
  }
};

Result<std::unique_ptr<Kernel>> make_equal(const ir::Node& n) {
  if (n.input(0)->fact.dtype() == DType::string) return std::unique_ptr<Kernel>(new EqualStrings);
  return BinaryKernel::make(n, BinaryOp::equal);
}

constexpr DTypes kEqualTypes = kNumeric | DType::boolean | DType::string;

constexpr OpDef row(std::string_view name, InferFn infer_fn, DTypes types, MakeFn make, int reviewed) {
  return {name, infer_fn, {types, make, 0}, {.reviewed = reviewed}};
}

constexpr OpDef kDefs[] = {
    row("Equal", infer<equal>, kEqualTypes, make_equal, 19),
    row("Less", infer<less>, kNumeric, make_binary<BinaryOp::less>, 13),
    row("LessOrEqual", infer<less_equal>, kNumeric, make_binary<BinaryOp::less_equal>, 16),
    row("Greater", infer<greater>, kNumeric, make_binary<BinaryOp::greater>, 13),
    row("GreaterOrEqual", infer<greater_equal>, kNumeric, make_binary<BinaryOp::greater_equal>, 16),
};

}  // namespace

TRUNNION_OPS(compare, kDefs);
}  // namespace trunnion::ops
