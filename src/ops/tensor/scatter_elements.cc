// ScatterElements (ai.onnx 11, 13, 16, 18) and its old name Scatter (9, 11): y = x, then y[index[i][j]][j] = u[i][j]
// for axis 0 and so on. Equal indices are applied in order.
#include <algorithm>

#include "ops/move.h"
#include "ops/tensor/index_detail.h"
#include "ops/tensor/scatter_detail.h"

namespace trunnion::ops {
namespace {

int64_t read_axis(const ir::Node& n) { return n.attr("axis", 0); }

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_TRY(read_reduction(n));
  if (!f.has(0)) return {};
  f.set(0, f.dtype(0), f.in(0).type.shape);
  if (!f.has_rank(0)) return {};
  TRN_ASSIGN(const int axis, normalize_axis(read_axis(n), f.in(0).rank()));
  TRN_TRY(check_element_indices(f, axis));
  if (!f.has_rank(1) || !f.has_rank(2)) return {};
  const SymShape &index = f.in(1).shape(), &update = f.in(2).shape();
  bool differ = index.size() != update.size();
  for (size_t i = 0; !differ && i < index.size(); ++i)
    differ = index[i].is_int() && update[i].is_int() && !(index[i] == update[i]);
  if (differ) return invalid_argument("indices have shape {}, updates have {}", shape_text(index), shape_text(update));
  return {};
}

class ScatterElementsKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    TRN_ASSIGN(const ScatterReduction how, read_reduction(node));
    return std::unique_ptr<Kernel>(new ScatterElementsKernel(read_axis(node), how));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView& x = ctx.in(0);
    TensorView& y = ctx.out(0);
    Tensor copied[2];
    TRN_ASSIGN(const TensorView index, apart_from(y, ctx.in(1), copied[0]));
    TRN_ASSIGN(const TensorView updates, apart_from(y, ctx.in(2), copied[1]));
    TRN_ASSIGN(const int axis, normalize_axis(axis_, x.rank));
    TRN_TRY(check_element_indices(x.shape(), index.shape(), axis));
    if (!std::ranges::equal(index.shape(), updates.shape()))
      return invalid_argument("indices have shape {}, updates have {}", shape_text(index.shape()),
                              shape_text(updates.shape()));
    TRN_TRY(check_indices(index, x.dim(axis)));
    copy_elements(ctx, x.data, y.data, x.count, x.dtype);
    if (index.count == 0) return {};
    return dispatch_scatter(x.dtype, how_, [&]<class T>(auto f) {
      index.dtype == DType::i32 ? scatter<T, int32_t>(ctx, index, updates, axis, f)
                                : scatter<T, int64_t>(ctx, index, updates, axis, f);
    });
  }

 private:
  ScatterElementsKernel(int64_t axis, ScatterReduction how) : axis_(axis), how_(how) {}

  // Lines along the axis do not meet, so that they are what threads share out.
  template <class T, class I, class F>
  static void scatter(KernelContext& ctx, const TensorView& index, const TensorView& updates, int axis, F f) {
    const TensorView& y = ctx.out(0);
    const Shape strides = row_major_strides(y.shape());
    const int64_t n = index.dim(axis), inner = product(index.shape(), axis + 1, index.rank);
    const int64_t size = y.dim(axis), stride = strides[axis];
    const I* at = index.as<const I>();
    const T* update = updates.as<const T>();
    ctx.parallel_for(index.count / n, std::max<int64_t>(1, 8192 / n), [&](int64_t begin, int64_t end) {
      for (int64_t line = begin; line < end; ++line) {
        int64_t base = 0, rest = line;
        for (int d = index.rank - 1; d >= 0; --d) {
          if (d == axis) continue;
          base += rest % index.dim(d) * strides[d];
          rest /= index.dim(d);
        }
        const int64_t first = line / inner * n * inner + line % inner;
        T* to = y.as<T>() + base;
        for (int64_t i = 0, k = first; i < n; ++i, k += inner)
          f(to[(at[k] < 0 ? at[k] + size : at[k]) * stride], update[k]);
      }
    });
  }

  int64_t axis_;
  ScatterReduction how_;
};

constexpr DTypes kTypes = kPlainTypes | DType::string;
constexpr OpDef kDefs[] = {
    {"ScatterElements", infer, cpu<ScatterElementsKernel>(kTypes), {.reviewed = 18, .in_place = {{0, 0}}}},
    {"Scatter", infer, cpu<ScatterElementsKernel>(kTypes), {.reviewed = 11, .in_place = {{0, 0}}}},
};

}  // namespace

TRUNNION_OPS(scatter_elements, kDefs);
}  // namespace trunnion::ops
