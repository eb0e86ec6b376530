// CropAndResize (com.microsoft 1): boxes of the pictures [N, C, H, W], each resampled to one size. A box is y1, x1, y2,
// x2 in units of the picture's height and width less one; positions outside of the picture get a fixed value.
#include <algorithm>
#include <cmath>

#include "ops/dispatch.h"
#include "ops/shape.h"
#include "ops/widen.h"

namespace trunnion::ops {
namespace {

struct Params {
  bool nearest;
  float outside;
};
Result<Params> read(const ir::Node& n) {
  const std::string mode = n.attr("mode", "bilinear");
  if (mode != "bilinear" && mode != "nearest")
    return invalid_argument("attribute mode is '{}', expected bilinear or nearest", mode);
  return Params{mode == "nearest", n.attr("extrapolation_value", 0.0f)};
}

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_TRY(read(n).status());
  TRN_TRY(expect_rank(f, 0, 4));
  TRN_TRY(expect_rank(f, 1, 2));
  TRN_TRY(expect_rank(f, 2, 1));
  TRN_TRY(expect_rank(f, 3, 1));
  SymShape y = unknown_shape(4);
  if (f.has_rank(0)) y[1] = f.in(0).dim(1);
  if (f.has_rank(1)) {
    y[0] = f.in(1).dim(0);
    if (f.in(1).dim(1).is_int() && !f.in(1).dim(1).is_int(4))
      return invalid_argument("rois have shape {}, need 4 columns", shape_text(f.in(1).shape()));
  }
  if (f.has_rank(2)) {
    const Dim& boxes = f.in(2).dim(0);
    if (boxes.is_int() && y[0].is_int() && !(boxes == y[0]))
      return invalid_argument("there are {} rois and {} batch indices", y[0].value(), boxes.value());
    if (!y[0].is_int()) y[0] = boxes;
  }
  if (const auto size = f.dims(3)) {
    if (size->size() != 2) return invalid_argument("crop_size has {} elements, needs 2", size->size());
    for (int i : {0, 1}) {
      if ((*size)[i].is_int() && (*size)[i].value() < 1)
        return invalid_argument("crop_size[{}] is {}, expected at least 1", i, (*size)[i].value());
      y[2 + i] = (*size)[i];
    }
  }
  f.set(0, f.dtype(0), std::move(y));
  return {};
}

// Where an output row or column lies in the picture.
double position(double begin, double end, int64_t at, int64_t count, int64_t size) {
  const auto last = static_cast<double>(size - 1);
  if (count <= 1) return 0.5 * (begin + end) * last;
  if (at == count - 1) return end * last;
  return begin * last + static_cast<double>(at) * ((end - begin) * last / static_cast<double>(count - 1));
}

// f32 and f64.
class CropAndResizeCpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    TRN_ASSIGN(const Params p, read(n));
    return std::unique_ptr<Kernel>(new CropAndResizeCpu(p));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView &x = ctx.in(0), &batch = ctx.in(2), &y = ctx.out(0);
    for (int64_t i = 0; i < batch.count; ++i)
      if (batch.as<int32_t>()[i] < 0 || batch.as<int32_t>()[i] >= x.dim(0))
        return invalid_argument("batch_indices[{}] is {}, there are {} pictures", i, batch.as<int32_t>()[i], x.dim(0));
    if (y.count == 0) return {};
    return dispatch<(DType::f32 | DType::f64).bits()>(x.dtype, [&]<class T>() { resample<T>(ctx); });
  }

 private:
  explicit CropAndResizeCpu(Params p) : p_(p) {}

  // One axis: the two elements around the position (nearest: twice the same) and the weight of the second.
  struct Tap {
    int64_t low = 0, high = 0;
    double weight = 0;
    bool outside = false;
  };
  Tap tap(double at, int64_t size) const {
    if (!(at >= 0 && at <= static_cast<double>(size - 1))) return {0, 0, 0, true};
    if (p_.nearest) return {std::llround(at), std::llround(at), 0, false};
    const double low = std::floor(at);
    return {static_cast<int64_t>(low), static_cast<int64_t>(std::ceil(at)), at - low, false};
  }

  template <class T>
  void resample(KernelContext& ctx) const {
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    const int64_t channels = x.dim(1), height = x.dim(2), width = x.dim(3), rows = y.dim(2), cols = y.dim(3);
    ctx.parallel_for(y.dim(0) * rows, std::max<int64_t>(1, 4096 / (channels * cols)), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t box = i / rows, row = i % rows;
        const T* roi = ctx.in(1).as<T>() + box * 4;
        const int64_t image = ctx.in(2).as<int32_t>()[box];
        const Tap v = tap(position(roi[0], roi[2], row, rows, height), height);
        for (int64_t col = 0; col < cols; ++col) {
          const Tap h = tap(position(roi[1], roi[3], col, cols, width), width);
          for (int64_t c = 0; c < channels; ++c) {
            T& out = y.as<T>()[((box * channels + c) * rows + row) * cols + col];
            if (v.outside || h.outside) {
              out = static_cast<T>(p_.outside);
              continue;
            }
            const T* plane = x.as<T>() + (image * channels + c) * height * width;
            const auto blend = [&](int64_t r) {
              const T a = plane[r * width + h.low], b = plane[r * width + h.high];
              return a + (b - a) * static_cast<T>(h.weight);
            };
            const T top = blend(v.low), bottom = blend(v.high);
            out = top + (bottom - top) * static_cast<T>(v.weight);
          }
        }
      }
    });
  }

  Params p_;
};

constexpr OpDef kDefs[] = {
    {"CropAndResize",
     infer,
     cpu_widened<CropAndResizeCpu>(DType::f32 | DType::f64 | DType::f16),
     {.reviewed = 1},
     "com.microsoft",
     "com.microsoft::CropAndResize 1 (X:T1, rois:T1, batch_indices:i32, crop_size:i32) -> (Y:T1) "
     "{extrapolation_value:f=0, mode:s='bilinear'} T1=float"}};

}  // namespace

TRUNNION_OPS(crop_and_resize, kDefs);

}  // namespace trunnion::ops
