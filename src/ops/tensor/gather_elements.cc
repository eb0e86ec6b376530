// GatherElements (ai.onnx 11, 13): y[i][j] = x[index[i][j]][j] for axis 0, and so on for the others.
#include <algorithm>

#include "ops/dispatch.h"
#include "ops/tensor/index_detail.h"

namespace trunnion::ops {
namespace {

int64_t read(const ir::Node& n) { return n.attr("axis", 0); }

Status infer(const ir::Node& n, ir::Facts& f) {
  if (!f.has(0)) return {};
  f.set(0, f.dtype(0), f.has(1) ? f.in(1).type.shape : std::nullopt);
  if (!f.has_rank(0)) return {};
  TRN_ASSIGN(const int axis, normalize_axis(read(n), f.in(0).rank()));
  return check_element_indices(f, axis);
}

class GatherElementsKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    return std::unique_ptr<Kernel>(new GatherElementsKernel(read(node)));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView &x = ctx.in(0), &index = ctx.in(1);
    TRN_ASSIGN(const int axis, normalize_axis(axis_, x.rank));
    TRN_TRY(check_element_indices(x.shape(), index.shape(), axis));
    TRN_TRY(check_indices(index, x.dim(axis)));
    if (index.count == 0) return {};
    return dispatch_size(x.dtype, [&]<class T>() {
      if (index.dtype != DType::i32) return gather<T, int64_t, int64_t>(ctx, axis);
      x.dim(axis) <= INT32_MAX ? gather<T, int32_t, int32_t>(ctx, axis) : gather<T, int32_t, int64_t>(ctx, axis);
    });
  }

 private:
  explicit GatherElementsKernel(int64_t axis) : axis_(axis) {}

  // I: the type of indices; S: one that holds the size of the axis.
  template <class T, class I, class S>
  static void gather(KernelContext& ctx, int axis) {
    const TensorView &x = ctx.in(0), &index = ctx.in(1);
    const Shape strides = row_major_strides(x.shape());
    const int last = x.rank - 1;
    const int64_t n = index.dim(last);
    const S size = static_cast<S>(x.dim(axis));
    const auto place = [&](I i) { return static_cast<S>(i) + (i < 0 ? size : S{0}); };
    const int64_t stride = strides[axis];
    ctx.parallel_for(index.count / n, std::max<int64_t>(1, 8192 / n), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        int64_t base = 0, rest = row;
        for (int d = last - 1; d >= 0; --d) {
          if (d != axis) base += rest % index.dim(d) * strides[d];
          rest /= index.dim(d);
        }
        const T* from = x.as<const T>() + base;
        const I* at = index.as<const I>() + row * n;
        T* to = ctx.out(0).as<T>() + row * n;
        if (axis == last) {
          for (int64_t j = 0; j < n; ++j) to[j] = from[place(at[j])];
        } else {
          for (int64_t j = 0; j < n; ++j) to[j] = from[place(at[j]) * stride + j];
        }
      }
    });
  }

  int64_t axis_;
};

constexpr DTypes kTypes = kPlainTypes | DType::string;
constexpr OpDef kDefs[] = {{"GatherElements", infer, cpu<GatherElementsKernel>(kTypes), {.reviewed = 13}}};

}  // namespace

TRUNNION_OPS(gather_elements, kDefs);
}  // namespace trunnion::ops
