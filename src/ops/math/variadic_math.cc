// Max, Min, Sum, Mean (ai.onnx 1, 6, 8, 12, 13) of one or more inputs with broadcasting, taken in order.
#include <vector>

#include "kernels/broadcast_gathered.h"
#include "ops/dispatch.h"
#include "ops/elementwise.h"
#include "ops/half_adapter.h"
#include "ops/move.h"

namespace trunnion::ops {
namespace {

using kernels::BinaryOp;
using kernels::BroadcastPlan;

Status infer(const ir::Node&, ir::Facts& f) {
  if (f.inputs() < 1) return invalid_argument("needs at least one input");
  for (int i = 0; i < f.inputs(); ++i)
    if (!f.has(i)) return invalid_argument("input {} is missing", i);
  return infer_broadcast(f, f.dtype(0));
}

template <auto kContent>
Status infer_extreme(const ir::Node& n, ir::Facts& f) {
  TRN_TRY(infer(n, f));
  if (f.inputs() == 2) set_content(f, kContent);
  if (f.inputs() == 1) f.out(0).content = f.in(0).content;
  return {};
}
Dim larger(const Dim& a, const Dim& b) { return dim_max(a, b); }
Dim smaller(const Dim& a, const Dim& b) { return dim_min(a, b); }

// Step k joins input k to what is in the output; the first joins inputs 0 and 1.
struct VariadicState final : KernelState {
  std::vector<bool> gathered;  // by plan: broadcast_gathered.h
  bool expand_first = false;   // input 0 is repeated and input 1 is too: it goes to the output by itself
  BroadcastPlan first;
  std::vector<BroadcastPlan> plans;
  std::vector<kernels::BinaryFn> fns;
};

class VariadicKernel final : public Kernel {
 public:
  VariadicKernel(BinaryOp op, bool mean) : op_(op), mean_(mean) {}

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto s = std::make_unique<VariadicState>();
    const TensorView& y = ctx.out(0);
    const auto plan = [&](std::initializer_list<const TensorView*> in, BroadcastPlan& p) -> Status {
      const int64_t* shapes[2];
      int ranks[2], n = 0;
      for (const TensorView* v : in) {
        shapes[n] = v->dims;
        ranks[n++] = v->rank;
        if (v->dtype != y.dtype)
          return invalid_argument("inputs have types {} and {}", dtype_name(y.dtype), dtype_name(v->dtype));
      }
      if (kernels::broadcast_plan_to(n, shapes, ranks, y.dims, y.rank, p)) return {};
      return invalid_argument("an input of shape {} cannot be broadcast to {}", shape_text(in.begin()[n - 1]->shape()),
                              shape_text(y.shape()));
    };
    const TensorView& a = ctx.in(0);
    s->expand_first = ctx.inputs() == 1 || (a.count != y.count && ctx.in(1).count != y.count);
    if (s->expand_first) TRN_TRY(plan({&a}, s->first));
    for (int i = 1; i < ctx.inputs(); ++i) {
      BroadcastPlan p;
      TRN_TRY(plan({i == 1 && !s->expand_first ? &a : &y, &ctx.in(i)}, p));
      s->plans.push_back(p);
      const bool gathered = is_half(y.dtype) && kernels::worth_gathering(p);
      s->gathered.push_back(gathered);
      s->fns.push_back(kernels::binary(op_, elem(y.dtype), gathered ? kernels::BinaryShape::vector_vector : p.shape()));
      if (!s->fns.back()) return not_implemented("element type {} has no kernel", dtype_name(y.dtype));
    }
    return std::unique_ptr<KernelState>(std::move(s));
  }

  Status run(KernelContext& ctx) const override {
    const auto& s = *ctx.state<VariadicState>();
    TensorView& y = ctx.out(0);
    const size_t size = size_of(y.dtype);
    const int64_t grain = binary_grain(op_, y.dtype);
    SmallVector<const void*, 8> in;
    Tensor copied;  // an input that stands among the first two, where the output may lie, and again later
    for (int i = 0; i < ctx.inputs(); ++i) {
      in.push_back(ctx.in(i).data);
      if (i < 2 || ctx.in(i).data != y.data) continue;
      if (!copied.valid()) TRN_TRY(apart_from(y, ctx.in(i), copied));
      if (copied.valid()) in.back() = copied.raw();
    }
    if (s.expand_first) {
      if (ctx.in(0).count == y.count)
        copy_elements(ctx, ctx.in(0).data, y.data, y.count, y.dtype);
      else
        ctx.parallel_for(y.count, grain, [&](int64_t begin, int64_t end) {
          kernels::broadcast_copy(s.first, begin, end, ctx.in(0).data, y.data, size);
        });
    }
    for (size_t k = 0; k < s.plans.size(); ++k) {
      const void* a = k == 0 && !s.expand_first ? in[0] : y.data;
      const void* b = in[k + 1];
      ctx.parallel_for(y.count, grain, [&](int64_t begin, int64_t end) {
        if (s.gathered[k])
          kernels::broadcast_gathered(s.plans[k], begin, end, s.fns[k], static_cast<const uint16_t*>(a),
                                      static_cast<const uint16_t*>(b), y.data, size);
        else
          kernels::broadcast_binary(s.plans[k], begin, end, s.fns[k], a, b, y.data, size, size);
      });
    }
    return mean_ && ctx.inputs() > 1 ? divide(ctx, y, ctx.inputs()) : Status{};
  }

 private:
  static Status divide(KernelContext& ctx, TensorView& y, int count) {
    return dispatch<kFloats.bits()>(y.dtype, [&]<class T>() {
      const T n = static_cast<T>(static_cast<Compute<T>>(count));
      const auto fn = kernels::binary(BinaryOp::div, elem(y.dtype), kernels::BinaryShape::vector_scalar);
      ctx.parallel_for(y.count, binary_grain(BinaryOp::div, y.dtype), [&](int64_t begin, int64_t end) {
        fn(y.as<T>() + begin, &n, y.as<T>() + begin, static_cast<size_t>(end - begin));
      });
    });
  }

  BinaryOp op_;
  bool mean_;
};

template <BinaryOp kOp, bool kMean>
Result<std::unique_ptr<Kernel>> make(const ir::Node&) {
  return std::unique_ptr<Kernel>(new VariadicKernel(kOp, kMean));
}

// Only the first two inputs are read before the output is written.
constexpr OpFlags kFlags = {.reviewed = 13, .in_place = {{0, 0}, {0, 1}}};

constexpr OpDef kDefs[] = {
    {"Max", infer_extreme<larger>, {kNumeric, make<BinaryOp::max, false>, 0}, kFlags},
    {"Min", infer_extreme<smaller>, {kNumeric, make<BinaryOp::min, false>, 0}, kFlags},
    {"Sum", infer, {kFloats, make<BinaryOp::add, false>, 0}, kFlags},
    {"Mean", infer, {kFloats, make<BinaryOp::add, true>, 0}, kFlags},
};

}  // namespace

TRUNNION_OPS(variadic_math, kDefs);
}  // namespace trunnion::ops
