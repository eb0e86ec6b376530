// Where (ai.onnx 9, 16): condition ? x : y with broadcasting of all three.
#include <string>

#include "kernels/broadcast.h"
#include "ops/dispatch.h"
#include "ops/move.h"
#include "ops/op.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

Status infer(const ir::Node&, ir::Facts& f) {
  TRN_TRY(infer_broadcast(f, f.dtype(1)));
  if (!f.out(0).has_rank() || f.out(0).rank() > 1) return {};
  const auto condition = f.dims(0), a = f.dims(1), b = f.dims(2);
  if (!condition || !a || !b) return {};
  const size_t n = condition->size() != 1 ? condition->size() : a->size() != 1 ? a->size() : b->size();
  if (n > static_cast<size_t>(ir::kMaxContent)) return {};
  for (const auto* list : {&*condition, &*a, &*b})
    if (list->size() != n && list->size() != 1) return {};
  std::vector<Dim> out;
  for (size_t i = 0; i < n; ++i) {
    const auto at = [&](const std::vector<Dim>& v) { return v[v.size() == 1 ? 0 : i]; };
    const Dim c = at(*condition);
    out.push_back(c.is_int() ? (c.value() ? at(*a) : at(*b)) : at(*a) == at(*b) ? at(*a) : Dim());
  }
  f.out(0).content = std::move(out);
  return {};
}

struct WhereState final : KernelState {
  kernels::BroadcastPlan plan;
};

class WhereKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node&) { return std::unique_ptr<Kernel>(new WhereKernel); }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto s = std::make_unique<WhereState>();
    if (ctx.in(1).dtype != ctx.in(2).dtype)
      return invalid_argument("inputs have types {} and {}", dtype_name(ctx.in(1).dtype), dtype_name(ctx.in(2).dtype));
    const int64_t* shapes[3];
    int ranks[3];
    for (int i = 0; i < 3; ++i) {
      shapes[i] = ctx.in(i).dims;
      ranks[i] = ctx.in(i).rank;
    }
    if (!kernels::broadcast_plan(3, shapes, ranks, s->plan))
      return invalid_argument("shapes {}, {} and {} cannot be broadcast together", shape_text(ctx.in(0).shape()),
                              shape_text(ctx.in(1).shape()), shape_text(ctx.in(2).shape()));
    return std::unique_ptr<KernelState>(std::move(s));
  }

  Status run(KernelContext& ctx) const override {
    const auto& plan = ctx.state<WhereState>()->plan;
    const auto* condition = ctx.in(0).as<const bool>();
    const TensorView &a = ctx.in(1), &b = ctx.in(2), &y = ctx.out(0);
    const size_t size = size_of(y.dtype);
    ctx.parallel_for(plan.elements, move_grain(size), [&](int64_t begin, int64_t end) {
      if (y.dtype == DType::string)
        strings(plan, begin, end, condition, a.as<const std::string>(), b.as<const std::string>(), y.as<std::string>());
      else
        kernels::broadcast_where(plan, begin, end, condition, a.data, b.data, y.data, size);
    });
    return {};
  }

 private:
  static void strings(const kernels::BroadcastPlan& plan, int64_t begin, int64_t end, const bool* condition,
                      const std::string* a, const std::string* b, std::string* y) {
    kernels::broadcast_rows(plan, begin, end, [&](const int64_t* offset, int64_t at, int64_t n) {
      for (int64_t i = 0; i < n; ++i)
        y[at + i] = condition[offset[0] + i * plan.inner_stride(0)] ? a[offset[1] + i * plan.inner_stride(1)]
                                                                    : b[offset[2] + i * plan.inner_stride(2)];
    });
  }
};

constexpr DTypes kTypes = kPlainTypes | DType::string;
constexpr OpDef kDefs[] = {{"Where", infer, cpu<WhereKernel>(kTypes, 1), {.reviewed = 16}}};

}  // namespace

TRUNNION_OPS(where, kDefs);
}  // namespace trunnion::ops
