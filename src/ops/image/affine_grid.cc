// AffineGrid (ai.onnx 20): the sampling grid that a batch of affine matrices gives for images of a size.
#include "ops/dispatch.h"
#include "ops/shape.h"
#include "ops/widen.h"

namespace trunnion::ops {
namespace {

Status infer(const ir::Node&, ir::Facts& f) {
  TRN_TRY(expect_rank(f, 0, 3));
  f.set(0, f.dtype(0));
  const auto size = f.dims(1);
  if (!size) {
    const Dim rank = f.has_rank(1) && f.in(1).rank() == 1 ? f.in(1).dim(0) : Dim();
    if (!rank.is_int(4) && !rank.is_int(5)) return {};
    SymShape out = unknown_shape(static_cast<int>(rank.value()));
    if (f.has_rank(0)) out.front() = f.in(0).dim(0);
    out.back() = rank - Dim(2);
    f.set(0, f.dtype(0), std::move(out));
    return {};
  }
  if (size->size() != 4 && size->size() != 5)
    return invalid_argument("size has {} elements, expected 4 or 5", size->size());
  for (const Dim& d : *size)
    if (d.is_int() && d.value() < 0) return invalid_argument("size {} holds a negative number", shape_text(*size));
  const auto dims = static_cast<int64_t>(size->size()) - 2;
  if (f.has_rank(0)) {
    const SymShape& t = f.in(0).shape();
    const bool fits = (!t[1].is_int() || t[1].is_int(dims)) && (!t[2].is_int() || t[2].is_int(dims + 1)) &&
                      (!t[0].is_int() || !(*size)[0].is_int() || t[0] == (*size)[0]);
    if (!fits)
      return invalid_argument("theta of shape {} does not go with size {}: [N, {}, {}] is needed", shape_text(t),
                              shape_text(*size), dims, dims + 1);
  }
  SymShape out = {(*size)[0]};
  out.insert(out.end(), size->begin() + 2, size->end());
  out.push_back(Dim(dims));
  f.set(0, f.dtype(0), std::move(out));
  return {};
}

class AffineKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    return std::unique_ptr<Kernel>(new AffineKernel(node.attr("align_corners", 0) != 0));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView& y = ctx.out(0);
    if (y.count == 0) return {};
    const int dims = y.rank - 2;
    if (ctx.in(0).count != y.dim(0) * dims * (dims + 1))
      return invalid_argument("theta has {} elements, needs {}", ctx.in(0).count, y.dim(0) * dims * (dims + 1));
    const int64_t points = product(y.shape(), 1, y.rank - 1);
    return dispatch<(DType::f32 | DType::f64).bits()>(y.dtype, [&]<class T>() {
      ctx.parallel_for(y.dim(0) * points, 4096, [&](int64_t begin, int64_t end) {
        int64_t index[3] = {}, size[3] = {};  // innermost first: x, y, z
        T at[3] = {};
        int64_t rest = begin % points;
        for (int d = 0; d < dims; ++d) {
          size[d] = y.dim(y.rank - 2 - d);
          index[d] = rest % size[d];
          rest /= size[d];
          at[d] = coordinate<T>(index[d], size[d]);
        }
        const T* theta = ctx.in(0).as<T>() + begin / points * dims * (dims + 1);
        T* to = y.as<T>() + begin * dims;
        for (int64_t i = begin; i < end; ++i) {
          for (int r = 0; r < dims; ++r) {
            T sum = theta[r * (dims + 1) + dims];
            for (int d = 0; d < dims; ++d) sum += theta[r * (dims + 1) + d] * at[d];
            *to++ = sum;
          }
          for (int d = 0; d < dims; ++d) {
            const bool wraps = ++index[d] == size[d];
            if (wraps) index[d] = 0;
            at[d] = coordinate<T>(index[d], size[d]);
            if (!wraps) break;
            if (d + 1 == dims) theta += dims * (dims + 1);
          }
        }
      });
    });
  }

 private:
  explicit AffineKernel(bool align_corners) : align_corners_(align_corners) {}

  template <class T>
  T coordinate(int64_t i, int64_t n) const {
    if (!align_corners_) return static_cast<T>(2 * i + 1) / static_cast<T>(n) - T(1);
    return n == 1 ? T(0) : static_cast<T>(2 * i) / static_cast<T>(n - 1) - T(1);
  }

  bool align_corners_;
};

constexpr OpDef kDefs[] = {{"AffineGrid", infer, cpu_widened<AffineKernel>(kFloats), {.reviewed = 20}}};

}  // namespace

TRUNNION_OPS(affine_grid, kDefs);
}  // namespace trunnion::ops
