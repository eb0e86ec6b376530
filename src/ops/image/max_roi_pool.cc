// MaxRoiPool (ai.onnx 1, 22): the maxima of the cells of a grid laid over regions of interest.
#include <algorithm>
#include <array>
#include <cmath>

#include "ops/dispatch.h"
#include "ops/shape.h"
#include "ops/widen.h"

namespace trunnion::ops {
namespace {

Result<std::array<int64_t, 2>> pooled_shape(const ir::Node& n) {
  const auto shape = n.ints("pooled_shape");
  if (shape.size() != 2 || shape[0] < 1 || shape[1] < 1)
    return invalid_argument("attribute pooled_shape is {}, needs 2 positive numbers",
                            shape_text(std::span<const int64_t>(shape)));
  return std::array<int64_t, 2>{shape[0], shape[1]};
}

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const auto pooled, pooled_shape(n));
  TRN_TRY(expect_rank(f, 0, 4));
  TRN_TRY(expect_rank(f, 1, 2));
  if (f.has_rank(1) && f.in(1).dim(1).is_int() && !f.in(1).dim(1).is_int(5))
    return invalid_argument("rois have shape {}, need 5 columns", shape_text(f.in(1).shape()));
  f.set(0, f.dtype(0),
        SymShape{f.has_rank(1) ? f.in(1).dim(0) : Dim(), f.has_rank(0) ? f.in(0).dim(1) : Dim(), Dim(pooled[0]),
                 Dim(pooled[1])});
  return {};
}

class RoiPoolKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    return std::unique_ptr<Kernel>(new RoiPoolKernel(node.attr("spatial_scale", 1.0f)));
  }

  Status run(KernelContext& ctx) const override {
    return dispatch<(DType::f32 | DType::f64).bits()>(ctx.in(0).dtype,
                                                      [&]<class T>() -> Status { return pool<T>(ctx); });
  }

 private:
  explicit RoiPoolKernel(float scale) : scale_(scale) {}

  template <class T>
  Status pool(KernelContext& ctx) const {
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    const int64_t channels = x.dim(1), height = x.dim(2), width = x.dim(3), ph = y.dim(2), pw = y.dim(3);
    const T* rois = ctx.in(1).as<T>();
    for (int64_t r = 0; r < y.dim(0); ++r)
      if (!(rois[r * 5] >= 0 && rois[r * 5] < static_cast<T>(x.dim(0))))
        return invalid_argument("region {} is in image {}, but there are {}", r, rois[r * 5], x.dim(0));
    ctx.parallel_for(y.dim(0) * channels, 4, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* roi = rois + i / channels * 5;
        const auto edge = [&](int k) {
          return std::clamp(std::round(static_cast<double>(roi[k]) * static_cast<double>(scale_)), -0x1p40, 0x1p40);
        };
        const double left = edge(1), top = edge(2);
        const double cell_h = std::max(edge(4) - top + 1, 1.0) / static_cast<double>(ph),
                     cell_w = std::max(edge(3) - left + 1, 1.0) / static_cast<double>(pw);
        const T* plane = x.as<T>() + (static_cast<int64_t>(roi[0]) * channels + i % channels) * height * width;
        const auto cut = [](double v, int64_t size) {
          return static_cast<int64_t>(std::clamp(v, 0.0, static_cast<double>(size)));
        };
        for (int64_t py = 0; py < ph; ++py)
          for (int64_t px = 0; px < pw; ++px) {
            const int64_t y0 = cut(std::floor(static_cast<double>(py) * cell_h) + top, height),
                          y1 = cut(std::ceil(static_cast<double>(py + 1) * cell_h) + top, height);
            const int64_t x0 = cut(std::floor(static_cast<double>(px) * cell_w) + left, width),
                          x1 = cut(std::ceil(static_cast<double>(px + 1) * cell_w) + left, width);
            T most = y0 < y1 && x0 < x1 ? plane[y0 * width + x0] : T(0);
            for (int64_t a = y0; a < y1; ++a)
              for (int64_t b = x0; b < x1; ++b) most = std::max(most, plane[a * width + b]);
            y.as<T>()[(i * ph + py) * pw + px] = most;
          }
      }
    });
    return {};
  }

  float scale_;
};

constexpr OpDef kDefs[] = {{"MaxRoiPool", infer, cpu_widened<RoiPoolKernel>(kFloats), {.reviewed = 22}}};

}  // namespace

TRUNNION_OPS(max_roi_pool, kDefs);
}  // namespace trunnion::ops
