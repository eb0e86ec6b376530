// GlobalAveragePool, GlobalMaxPool (ai.onnx 1, 22) and GlobalLpPool (1, 2, 22): all spatial dimensions become 1.
#include <algorithm>
#include <cmath>

#include "kernels/pool.h"
#include "kernels/reduce.h"
#include "ops/dispatch.h"
#include "ops/shape.h"
#include "ops/widen.h"

namespace trunnion::ops {
namespace {

enum class Kind { average, max, lp };

struct Params {
  Kind kind;
  int64_t p = 2;
};
Params read(const ir::Node& n) {
  if (n.op_type() != "GlobalLpPool") return {n.op_type() == "GlobalMaxPool" ? Kind::max : Kind::average};
  return {Kind::lp, n.since() < 2 ? std::llround(n.attr("p", 2.0f)) : n.attr("p", 2)};
}

Status infer(const ir::Node&, ir::Facts& f) {
  f.set(0, f.dtype(0));
  if (!f.has_rank(0)) return {};
  if (f.in(0).rank() < 2)
    return invalid_argument("input 0 has shape {}, needs at least 2 dimensions", shape_text(f.in(0).shape()));
  SymShape shape = f.in(0).shape();
  std::fill(shape.begin() + 2, shape.end(), Dim(1));
  f.set(0, f.dtype(0), std::move(shape));
  return {};
}

// f32 and f64.
class GlobalPoolKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    const Params p = read(node);
    if (p.p < 1 || p.p > 1000) return invalid_argument("attribute p is {}, expected at least 1", p.p);
    return std::unique_ptr<Kernel>(new GlobalPoolKernel(p));
  }

  Status run(KernelContext& ctx) const override {
    using kernels::ReduceOp;
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    const int64_t planes = x.dim(0) * x.dim(1), n = product(x.shape(), 2, x.rank);
    const bool wide = x.dtype == DType::f64, power = p_.kind == Kind::lp && p_.p > 2;
    const ReduceOp op = p_.kind == Kind::average ? ReduceOp::mean
                        : p_.kind == Kind::max   ? ReduceOp::max
                        : p_.p == 1              ? ReduceOp::l1
                                                 : ReduceOp::l2;
    const auto fn = kernels::reduce(op, elem(x.dtype));
    ctx.parallel_for(planes, 32768 / std::max<int64_t>(n, 1) + 1, [&](int64_t begin, int64_t end) {
      const auto* from = x.as<const std::byte>() + begin * n * static_cast<int64_t>(size_of(x.dtype));
      auto* to = y.as<std::byte>() + begin * static_cast<int64_t>(size_of(x.dtype));
      if (!power)
        fn(from, to, {end - begin, n, 1, 1});
      else if (wide)
        powers(reinterpret_cast<const double*>(from), reinterpret_cast<double*>(to), end - begin, n);
      else
        kernels::pool().lp(reinterpret_cast<const float*>(from), reinterpret_cast<float*>(to), end - begin,
                           {.in = {1, 1, n}, .kernel = {1, 1, n}, .p = static_cast<int>(p_.p)});
    });
    return {};
  }

 private:
  explicit GlobalPoolKernel(Params p) : p_(p) {}

  void powers(const double* x, double* y, int64_t planes, int64_t n) const {
    for (int64_t i = 0; i < planes; ++i, x += n) {
      double sum = 0;
      for (int64_t k = 0; k < n; ++k) sum += std::pow(std::fabs(x[k]), static_cast<double>(p_.p));
      y[i] = std::pow(sum, 1.0 / static_cast<double>(p_.p));
    }
  }

  Params p_;
};

constexpr OpDef kDefs[] = {
    {"GlobalAveragePool", infer, cpu_widened<GlobalPoolKernel>(kFloats), {.reviewed = 22}},
    {"GlobalMaxPool", infer, cpu_widened<GlobalPoolKernel>(kFloats), {.reviewed = 22}},
    {"GlobalLpPool", infer, cpu_widened<GlobalPoolKernel>(kFloats), {.reviewed = 22}},
};

}  // namespace

TRUNNION_OPS(global_pool, kDefs);
}  // namespace trunnion::ops
