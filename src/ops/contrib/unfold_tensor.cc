// UnfoldTensor (com.microsoft 1): all slices of `size` elements along one dimension, `step` apart; the elements of a
// slice become a new last dimension.
#include "ops/dispatch.h"
#include "ops/op.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

struct Params {
  int64_t dim, size, step;
};
Result<Params> read(const ir::Node& n) {
  const Params p{n.attr("dim", -1), n.attr("size", 0), n.attr("step", 1)};
  if (p.size < 1 || p.step < 1) return invalid_argument("size {} and step {} must be positive", p.size, p.step);
  return p;
}

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const Params p, read(n));
  f.set(0, f.dtype(0));
  if (!f.has_rank(0)) return {};
  SymShape y = f.in(0).shape();
  TRN_ASSIGN(const int axis, normalize_axis(p.dim, f.in(0).rank(), "dim"));
  Dim& d = y[static_cast<size_t>(axis)];
  if (d.is_int() && d.value() < p.size)
    return invalid_argument("dimension {} has {} elements, fewer than size {}", axis, d.value(), p.size);
  d = floor_div(d - Dim(p.size), Dim(p.step)) + Dim(1);
  y.push_back(Dim(p.size));
  f.set(0, f.dtype(0), std::move(y));
  return {};
}

class UnfoldCpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    TRN_ASSIGN(const Params p, read(n));
    return std::unique_ptr<Kernel>(new UnfoldCpu(p));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    TRN_ASSIGN(const int axis, normalize_axis(p_.dim, x.rank, "dim"));
    const int64_t inner = product(x.shape(), axis + 1, x.rank), length = x.dim(axis), slices = y.dim(axis);
    if (y.count == 0) return {};
    return dispatch_size(x.dtype, [&]<class T>() {
      ctx.parallel_for(y.count / p_.size, 16384 / p_.size + 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t at = i % inner, slice = i / inner % slices, outer = i / inner / slices;
          const T* from = x.as<const T>() + (outer * length + slice * p_.step) * inner + at;
          for (int64_t k = 0; k < p_.size; ++k) y.as<T>()[i * p_.size + k] = from[k * inner];
        }
      });
    });
  }

 private:
  explicit UnfoldCpu(Params p) : p_(p) {}
  Params p_;
};

constexpr OpDef kDefs[] = {
    {"UnfoldTensor",
     infer,
     {DType::f32, &UnfoldCpu::make, -1},
     {.reviewed = 1},
     "com.microsoft",
     "com.microsoft::UnfoldTensor 1 (input:T) -> (output:T) {dim:i=-1, step:i=1, size!:i} T=basic|bf16"},
};

}  // namespace

TRUNNION_OPS(unfold_tensor, kDefs);

}  // namespace trunnion::ops
