// Expand (ai.onnx 8, 13): broadcasts the input with a shape that comes as an input.
#include <algorithm>
#include <string>

#include "kernels/broadcast.h"
#include "ops/dispatch.h"
#include "ops/move.h"
#include "ops/op.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

// What broadcasting x with `rank` sizes that are not known leaves known: an integer above 1 stays.
SymShape of_rank(const SymShape& x, size_t rank) {
  SymShape out(std::max(x.size(), rank));
  for (size_t i = 0; i < x.size(); ++i)
    if (x[i].is_int() && x[i].value() != 1) out[out.size() - x.size() + i] = x[i];
  return out;
}

Status infer(const ir::Node&, ir::Facts& f) {
  if (!f.has(0)) return {};
  f.set(0, f.dtype(0));
  TRN_TRY(expect_rank(f, 1, 1));
  const auto wanted = f.dims(1);
  if (!wanted) {
    if (f.has_rank(0) && f.has_rank(1) && f.in(1).dim(0).is_int() && f.in(1).dim(0).value() <= 1024)
      f.out(0).type.shape = of_rank(f.in(0).shape(), static_cast<size_t>(f.in(1).dim(0).value()));
    return {};
  }
  for (const Dim& d : *wanted)
    if (d.is_int() && d.value() < 0) return invalid_argument("shape {} has a negative size", shape_text(*wanted));
  if (!f.has_rank(0)) return {};
  TRN_ASSIGN(f.out(0).type.shape, broadcast_shapes(f.in(0).shape(), *wanted));
  const auto content = f.out(0).rank() <= 1 ? f.in(0).content : std::nullopt;
  const Dim count = element_count(f.out(0).shape());
  if (!content || !count.is_int() || count.value() > ir::kMaxContent) return {};
  if (static_cast<int64_t>(content->size()) == count.value())
    f.out(0).content = content;
  else if (content->size() == 1)
    f.out(0).content = std::vector<Dim>(static_cast<size_t>(count.value()), (*content)[0]);
  return {};
}

struct ExpandState final : KernelState {
  kernels::BroadcastPlan plan;
};

class ExpandKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node&) { return std::unique_ptr<Kernel>(new ExpandKernel); }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto s = std::make_unique<ExpandState>();
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    const int rank = x.rank;
    if (!kernels::broadcast_plan_to(1, &x.dims, &rank, y.dims, y.rank, s->plan))
      return invalid_argument("shape {} cannot be broadcast to {}", shape_text(x.shape()), shape_text(y.shape()));
    return std::unique_ptr<KernelState>(std::move(s));
  }

  Status run(KernelContext& ctx) const override {
    const auto& plan = ctx.state<ExpandState>()->plan;
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    const size_t size = size_of(x.dtype);
    const int last = plan.rank - 1;
    if (last > 0 && plan.inner_stride(0) == 1 && plan.stride[0][last - 1] == 0 && y.count > 0) {  // repeated rows
      kernels::CopyShape box;
      box.rank = plan.rank;
      std::copy_n(plan.dim, plan.rank, box.dim);
      std::copy_n(plan.stride[0], plan.rank, box.src_stride);
      kernels::contiguous_strides(plan.dim, plan.rank, box.dst_stride);
      copy_strided(ctx, x.data, y.data, box, x.dtype);
      return {};
    }
    ctx.parallel_for(plan.elements, move_grain(size), [&](int64_t begin, int64_t end) {
      if (x.dtype != DType::string) {
        kernels::broadcast_copy(plan, begin, end, x.data, y.data, size);
        return;
      }
      const int64_t step = plan.inner_stride(0);
      kernels::broadcast_rows(plan, begin, end, [&](const int64_t* offset, int64_t at, int64_t n) {
        for (int64_t i = 0; i < n; ++i) y.as<std::string>()[at + i] = x.as<const std::string>()[offset[0] + i * step];
      });
    });
    return {};
  }
};

constexpr DTypes kTypes = kPlainTypes | DType::string;
constexpr OpDef kDefs[] = {{"Expand", infer, cpu<ExpandKernel>(kTypes), {.reviewed = 13}}};

}  // namespace

TRUNNION_OPS(expand, kDefs);
}  // namespace trunnion::ops
