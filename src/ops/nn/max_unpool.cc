// MaxUnpool (ai.onnx 9, 11, 22): puts elements back where MaxPool found them, zeros elsewhere.
#include <algorithm>

#include "ops/dispatch.h"
#include "ops/nn/window_detail.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

// The size that the attributes give: the smallest input of such a MaxPool.
SymShape smallest_shape(const WindowParams& p, const SymShape& x) {
  SymShape out = {x[0], x[1]};
  for (int d = 0; d < p.spatial(); ++d)
    out.push_back((x[d + 2] - Dim(1)) * Dim(p.strides[d]) + Dim(p.kernel[d] - p.pads[d] - p.pads[d + p.spatial()]));
  return out;
}

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const WindowParams p, read_window(n));
  f.set(0, f.dtype(0));
  if (f.has_rank(0) && f.in(0).rank() != p.spatial() + 2)
    return invalid_argument("input 0 has rank {}, needs {}", f.in(0).rank(), p.spatial() + 2);
  if (f.has(2)) {
    const auto shape = f.dims(2);
    if (shape && static_cast<int>(shape->size()) != p.spatial() + 2)
      return invalid_argument("output_shape has {} elements, needs {}", shape->size(), p.spatial() + 2);
    f.set(0, f.dtype(0), shape ? *shape : unknown_shape(p.spatial() + 2));
    if (!f.has_rank(0)) return {};
    const SymShape least = smallest_shape(p, f.in(0).shape());
    for (size_t i = 0; shape && i < least.size(); ++i)
      if ((*shape)[i].is_int() &&
          ((*shape)[i].value() < 0 || (i < 2 && least[i].is_int() && !((*shape)[i] == least[i]))))
        return invalid_argument("output_shape {} does not go with an input of shape {}", shape_text(*shape),
                                shape_text(f.in(0).shape()));
    return {};
  }
  if (!f.has_rank(0)) return {};
  SymShape out = smallest_shape(p, f.in(0).shape());
  for (Dim& d : out)
    if (d.is_int() && d.value() < 0) d = Dim(0);
  f.set(0, f.dtype(0), std::move(out));
  return {};
}

class MaxUnpoolKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    TRN_ASSIGN(WindowParams p, read_window(node));
    return std::unique_ptr<Kernel>(new MaxUnpoolKernel(std::move(p)));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView &x = ctx.in(0), &at = ctx.in(1), &y = ctx.out(0);
    if (at.count != x.count) return invalid_argument("{} indices for {} elements", at.count, x.count);
    Shape least;
    for (const Dim& d : smallest_shape(p_, to_symbolic(x.shape()))) least.push_back(std::max<int64_t>(d.value(), 0));
    const int64_t* index = at.as<int64_t>();
    // Positions are counted in the smallest shape, as the specification's example does. Where some do not fit there,
    // they were counted in the shape that is wanted: that of MaxPool's input.
    const int64_t total = element_count(least);
    bool flat = std::equal(least.begin(), least.end(), y.dims, y.dims + y.rank);
    for (int64_t i = 0; i < at.count && !flat; ++i) flat = index[i] >= total;
    for (int64_t i = 0; i < at.count; ++i)
      if (index[i] < 0 || index[i] >= (flat ? y.count : total))
        return invalid_argument("index {} is out of range: the output has {} elements", index[i],
                                flat ? y.count : total);
    return dispatch_size(x.dtype, [&]<class T>() {
      std::fill_n(y.as<T>(), y.count, T{});
      for (int64_t i = 0; i < at.count; ++i)
        if (const int64_t to = flat ? index[i] : moved(index[i], least, y.shape()); to >= 0)
          y.as<T>()[to] = x.as<T>()[i];
    });
  }

 private:
  explicit MaxUnpoolKernel(WindowParams p) : p_(std::move(p)) {}

  // The position in `to` of the same coordinates; -1 when they are outside.
  static int64_t moved(int64_t index, std::span<const int64_t> from, std::span<const int64_t> to) {
    int64_t out = 0, step = 1;
    for (size_t d = from.size(); d-- > 0; step *= to[d]) {
      const int64_t c = index % from[d];
      if (c >= to[d]) return -1;
      out += c * step;
      index /= from[d];
    }
    return out;
  }

  WindowParams p_;
};

constexpr OpDef kDefs[] = {{"MaxUnpool", infer, cpu<MaxUnpoolKernel>(kFloats), {.reviewed = 22}}};

}  // namespace

TRUNNION_OPS(max_unpool, kDefs);
}  // namespace trunnion::ops
