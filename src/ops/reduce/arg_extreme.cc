// ArgMax and ArgMin (ai.onnx 1, 11, 12, 13): the position of the extreme element along one axis.
#include <algorithm>

#include "kernels/reduce.h"
#include "ops/dispatch.h"
#include "ops/op.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

struct Params {
  int64_t axis;
  bool keepdims, last;
};
Params read(const ir::Node& n) {
  return {n.attr("axis", 0), n.attr("keepdims", 1) != 0, n.since() >= 12 && n.attr("select_last_index", 0) != 0};
}

Status infer(const ir::Node& n, ir::Facts& f) {
  const Params p = read(n);
  f.set(0, DType::i64);
  if (!f.has_rank(0)) return {};
  SymShape out = f.in(0).shape();
  TRN_ASSIGN(const int axis, normalize_axis(p.axis, std::max(f.in(0).rank(), 1)));
  if (!out.empty()) {
    if (out[axis].is_int(0))
      return invalid_argument("axis {} of shape {} is empty: there is no extreme element", axis, shape_text(out));
    out[axis] = Dim(1);
    if (!p.keepdims) out.erase(out.begin() + axis);
  }
  f.set(0, DType::i64, std::move(out));
  return {};
}

template <bool kLargest>
class ArgKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    const Params p = read(node);
    const auto fn = kernels::arg_extreme(kLargest, p.last, elem(node.input(0)->fact.dtype()));
    if (!fn) return not_implemented("element type {} has no kernel", dtype_name(node.input(0)->fact.dtype()));
    return std::unique_ptr<Kernel>(new ArgKernel(p, fn));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    TRN_ASSIGN(const int axis, normalize_axis(p_.axis, std::max(x.rank, 1)));
    if (y.count == 0) return {};
    const int64_t n = x.rank ? x.dim(axis) : 1;
    if (n == 0)
      return invalid_argument("axis {} of shape {} is empty: there is no extreme element", axis, shape_text(x.shape()));
    const int64_t inner = x.rank ? product(x.shape(), axis + 1, x.rank) : 1, outer = y.count / inner;
    const auto* from = x.as<const std::byte>();
    const auto size = static_cast<int64_t>(size_of(x.dtype));
    if (inner == 1) {
      ctx.parallel_for(outer, 16384 / n + 1, [&](int64_t begin, int64_t end) {
        fn_(from + begin * n * size, y.as<int64_t>() + begin, {end - begin, n, 1, 1});
      });
      return {};
    }
    const bool by_outer = outer >= ctx.threads();
    // Pieces of inner are kept inside one outer block.
    const int64_t width = by_outer ? inner : std::max<int64_t>(16384 / n, 16), pieces = (inner + width - 1) / width;
    ctx.parallel_for(outer * pieces, 16384 / (n * std::min(width, inner)) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t o = i / pieces, at = i % pieces * width;
        fn_(from + (o * n * inner + at) * size, y.as<int64_t>() + o * inner + at,
            {1, n, std::min(width, inner - at), inner});
      }
    });
    return {};
  }

 private:
  ArgKernel(Params p, kernels::ArgFn fn) : p_(p), fn_(fn) {}
  Params p_;
  kernels::ArgFn fn_;
};

constexpr OpDef kDefs[] = {
    {"ArgMax", infer, cpu<ArgKernel<true>>(kNumeric), {.reviewed = 13}},
    {"ArgMin", infer, cpu<ArgKernel<false>>(kNumeric), {.reviewed = 13}},
};

}  // namespace

TRUNNION_OPS(arg_extreme, kDefs);
}  // namespace trunnion::ops
