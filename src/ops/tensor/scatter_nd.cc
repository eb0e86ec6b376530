// ScatterND (ai.onnx 11, 13, 16, 18): y = x, then slices of y, by index tuples, take the updates.
// Equal tuples are applied in order.
#include <algorithm>

#include "ops/move.h"
#include "ops/tensor/index_detail.h"
#include "ops/tensor/scatter_detail.h"

namespace trunnion::ops {
namespace {

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_TRY(read_reduction(n));
  if (!f.has(0)) return {};
  f.set(0, f.dtype(0), f.in(0).type.shape);
  if (!f.has_rank(0) || !f.has_rank(1)) return {};
  const SymShape &data = f.in(0).shape(), &index = f.in(1).shape();
  if (data.empty() || index.empty())
    return invalid_argument("data and indices need rank 1 at least, have {} and {}", data.size(), index.size());
  const Dim& width = index.back();
  if (!width.is_int()) return {};
  if (width.value() < 0 || width.value() > static_cast<int64_t>(data.size()))
    return invalid_argument("the last axis of indices has size {}, data has rank {}", width.value(), data.size());
  if (!f.has_rank(2)) return {};
  SymShape wanted(index.begin(), index.end() - 1);
  wanted.insert(wanted.end(), data.begin() + width.value(), data.end());
  const SymShape& update = f.in(2).shape();
  bool differ = wanted.size() != update.size();
  for (size_t i = 0; !differ && i < wanted.size(); ++i)
    differ = wanted[i].is_int() && update[i].is_int() && !(wanted[i] == update[i]);
  if (differ) return invalid_argument("updates have shape {}, need {}", shape_text(update), shape_text(wanted));
  return {};
}

class ScatterNdKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    TRN_ASSIGN(const ScatterReduction how, read_reduction(node));
    return std::unique_ptr<Kernel>(new ScatterNdKernel(how));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView &x = ctx.in(0), &index = ctx.in(1);
    TensorView& y = ctx.out(0);
    Tensor copied;
    TRN_ASSIGN(const TensorView updates, apart_from(y, ctx.in(2), copied));
    const bool any = product(index.shape(), 0, index.rank - 1) > 0;
    std::vector<int64_t> offsets;
    if (any) {
      TRN_ASSIGN(offsets, slice_offsets(x, index, 0));
    }
    copy_elements(ctx, x.data, y.data, x.count, x.dtype);
    if (!any) return {};
    const int64_t inner = product(x.shape(), static_cast<int>(index.dim(index.rank - 1)), x.rank);
    if (inner == 0) return {};
    if (updates.count != static_cast<int64_t>(offsets.size()) * inner)
      return invalid_argument("updates have {} elements, need {}", updates.count,
                              static_cast<int64_t>(offsets.size()) * inner);
    return dispatch_scatter(x.dtype, how_, [&]<class T>(auto f) {
      const T* update = updates.as<const T>();
      // Threads share the columns of the slices: slices may coincide.
      const int64_t grain = std::max<int64_t>(64, 16384 / static_cast<int64_t>(offsets.size()));
      ctx.parallel_for(inner, grain, [&](int64_t begin, int64_t end) {
        for (size_t k = 0; k < offsets.size(); ++k) {
          T* to = y.as<T>() + offsets[k];
          const T* from = update + static_cast<int64_t>(k) * inner;
          for (int64_t i = begin; i < end; ++i) f(to[i], from[i]);
        }
      });
    });
  }

 private:
  explicit ScatterNdKernel(ScatterReduction how) : how_(how) {}
  ScatterReduction how_;
};

constexpr DTypes kTypes = kPlainTypes | DType::string;
constexpr OpDef kDefs[] = {{"ScatterND", infer, cpu<ScatterNdKernel>(kTypes), {.reviewed = 18, .in_place = {{0, 0}}}}};

}  // namespace

TRUNNION_OPS(scatter_nd, kDefs);
}  // namespace trunnion::ops
