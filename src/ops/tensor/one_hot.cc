// OneHot (ai.onnx 9, 11, 28): values[1] where the new axis equals the index, values[0] elsewhere. An index outside
// [-depth, depth) gives values[0] all along.
#include <string>

#include "ops/dispatch.h"
#include "ops/move.h"
#include "ops/op.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

int64_t read(const ir::Node& n) { return n.attr("axis", -1); }

Status infer(const ir::Node& n, ir::Facts& f) {
  f.set(0, f.dtype(2));
  if (f.has_rank(2) && f.in(2).rank() == 1 && f.in(2).dim(0).is_int() && !f.in(2).dim(0).is_int(2))
    return invalid_argument("values has {} elements, needs 2", f.in(2).dim(0).value());
  Dim depth;
  if (const auto d = f.dims(1)) {
    if (d->size() != 1) return invalid_argument("depth has {} elements, needs one", d->size());
    depth = (*d)[0];
  } else if (const auto v = f.number(1)) {
    depth = to_int64(*v);
  } else if (const Tensor* t = f.constant(1); t && t->dtype() == DType::u64 && t->count() == 1) {
    depth = to_int64(*t->data<uint64_t>());
  }
  if (depth.is_int() && depth.value() < 0) return invalid_argument("depth is {}", depth.value());
  if (!f.has_rank(0)) return {};
  TRN_ASSIGN(const int axis, normalize_axis(read(n), f.in(0).rank() + 1));
  SymShape out = f.in(0).shape();
  out.insert(out.begin() + axis, depth);
  f.out(0).type.shape = std::move(out);
  return {};
}

class OneHotKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    return std::unique_ptr<Kernel>(new OneHotKernel(read(node)));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView &index = ctx.in(0), &values = ctx.in(2);
    TensorView& y = ctx.out(0);
    if (values.count != 2) return invalid_argument("values has {} elements, needs 2", values.count);
    TRN_ASSIGN(const int axis, normalize_axis(axis_, y.rank));
    fill_elements(ctx, y.data, values.data, y.count, y.dtype);
    if (y.count == 0) return {};
    const int64_t depth = y.dim(axis), inner = product(y.shape(), axis + 1, y.rank);
    return dispatch_size(y.dtype, [&]<class T>() {
      const T& on = values.as<const T>()[1];
      return dispatch<kNumeric.bits()>(index.dtype, [&]<class I>() {
        for (int64_t k = 0; k < index.count; ++k) {
          int64_t at = to_int64(index.as<const I>()[k]);
          if (at < 0) at += depth;
          if (at >= 0 && at < depth) y.as<T>()[(k / inner * depth + at) * inner + k % inner] = on;
        }
      });
    });
  }

 private:
  explicit OneHotKernel(int64_t axis) : axis_(axis) {}
  int64_t axis_;
};

constexpr OpDef kDefs[] = {{"OneHot", infer, cpu<OneHotKernel>(kNumeric), {.reviewed = 28}}};

}  // namespace

TRUNNION_OPS(one_hot, kDefs);
}  // namespace trunnion::ops
