// RoiAlign (ai.onnx 10, 16, 22): regions of interest become images of one size, by averages or maxima of interpolated
// samples.
#include <algorithm>
#include <cmath>

#include "ops/dispatch.h"
#include "ops/shape.h"
#include "ops/widen.h"

namespace trunnion::ops {
namespace {

struct Params {
  bool max, half_pixel;
  int64_t height, width, sampling;
  float scale;
};

Result<Params> read(const ir::Node& n) {
  const std::string mode = n.attr("mode", "avg"), coords = n.attr("coordinate_transformation_mode", "half_pixel");
  if (mode != "avg" && mode != "max") return invalid_argument("attribute mode is '{}', expected avg or max", mode);
  if (coords != "half_pixel" && coords != "output_half_pixel")
    return invalid_argument(
        "attribute coordinate_transformation_mode is '{}', expected half_pixel or output_half_pixel", coords);
  Params p{mode == "max",
           n.since() >= 16 && coords == "half_pixel",
           n.attr("output_height", 1),
           n.attr("output_width", 1),
           n.attr("sampling_ratio", 0),
           n.attr("spatial_scale", 1.0f)};
  if (p.height < 1 || p.width < 1)
    return invalid_argument("output_height {} and output_width {} must be positive", p.height, p.width);
  if (p.sampling < 0) return invalid_argument("attribute sampling_ratio is {}, expected at least 0", p.sampling);
  return p;
}

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const Params p, read(n));
  TRN_TRY(expect_rank(f, 0, 4));
  TRN_TRY(expect_rank(f, 1, 2));
  TRN_TRY(expect_rank(f, 2, 1));
  if (f.has_rank(1) && f.in(1).dim(1).is_int() && !f.in(1).dim(1).is_int(4))
    return invalid_argument("rois have shape {}, need 4 columns", shape_text(f.in(1).shape()));
  Dim count = f.has_rank(1) ? f.in(1).dim(0) : Dim();
  if (f.has_rank(2)) {
    const Dim& other = f.in(2).dim(0);
    if (count.is_int() && other.is_int() && !(count == other))
      return invalid_argument("there are {} rois, but {} batch indices", count.value(), other.value());
    if (!count.is_int()) count = other.is_unknown() ? count : other;
  }
  f.set(0, f.dtype(0), SymShape{count, f.has_rank(0) ? f.in(0).dim(1) : Dim(), Dim(p.height), Dim(p.width)});
  return {};
}

// Four pixels and their weights.
template <class T>
struct Sample {
  int64_t at[4] = {0, 0, 0, 0};
  T weight[4] = {0, 0, 0, 0};
};
template <class T>
Sample<T> sample(T y, T x, int64_t height, int64_t width) {
  Sample<T> s;
  if (!(y >= -1 && y <= static_cast<T>(height) && x >= -1 && x <= static_cast<T>(width))) return s;
  y = std::max(y, T(0));
  x = std::max(x, T(0));
  int64_t y0 = static_cast<int64_t>(y), x0 = static_cast<int64_t>(x), y1 = y0 + 1, x1 = x0 + 1;
  if (y0 >= height - 1) {
    y0 = y1 = height - 1;
    y = static_cast<T>(y0);
  }
  if (x0 >= width - 1) {
    x0 = x1 = width - 1;
    x = static_cast<T>(x0);
  }
  const T ly = y - static_cast<T>(y0), lx = x - static_cast<T>(x0), hy = 1 - ly, hx = 1 - lx;
  const int64_t at[] = {y0 * width + x0, y0 * width + x1, y1 * width + x0, y1 * width + x1};
  const T weight[] = {hy * hx, hy * lx, ly * hx, ly * lx};
  std::copy_n(at, 4, s.at);
  std::copy_n(weight, 4, s.weight);
  return s;
}

class RoiKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    TRN_ASSIGN(const Params p, read(node));
    return std::unique_ptr<Kernel>(new RoiKernel(p));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    const int64_t* batch = ctx.in(2).as<int64_t>();
    for (int64_t i = 0; i < ctx.in(2).count; ++i)
      if (batch[i] < 0 || batch[i] >= x.dim(0))
        return invalid_argument("batch_indices[{}] is {}, but there are {} images", i, batch[i], x.dim(0));
    if (y.count == 0) return {};
    if (x.count == 0) return invalid_argument("input of shape {} has no pixel", shape_text(x.shape()));
    return dispatch<(DType::f32 | DType::f64).bits()>(x.dtype, [&]<class T>() {
      ctx.parallel_for(y.dim(0) * p_.height, 256 / (x.dim(1) * p_.width) + 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) row<T>(ctx, i / p_.height, i % p_.height);
      });
    });
  }

 private:
  explicit RoiKernel(Params p) : p_(p) {}

  // Output row `ph` of region r, all channels.
  template <class T>
  void row(KernelContext& ctx, int64_t r, int64_t ph) const {
    const TensorView& xv = ctx.in(0);
    const int64_t channels = xv.dim(1), height = xv.dim(2), width = xv.dim(3), plane = height * width;
    const T *roi = ctx.in(1).as<T>() + r * 4, *image = xv.as<T>() + ctx.in(2).as<int64_t>()[r] * channels * plane;
    const T offset = p_.half_pixel ? T(0.5) : T(0), scale = static_cast<T>(p_.scale);
    const T left = roi[0] * scale - offset, top = roi[1] * scale - offset;
    T w = roi[2] * scale - offset - left, h = roi[3] * scale - offset - top;
    if (!p_.half_pixel) {
      w = std::max(w, T(1));
      h = std::max(h, T(1));
    }
    const T bin_h = h / static_cast<T>(p_.height), bin_w = w / static_cast<T>(p_.width);
    const int64_t grid_h = grid(bin_h, height), grid_w = grid(bin_w, width);
    const T count = static_cast<T>(std::max<int64_t>(grid_h * grid_w, 1));
    T* y = ctx.out(0).as<T>() + r * channels * p_.height * p_.width + ph * p_.width;
    const int64_t step = p_.height * p_.width;
    const int64_t per_bin = grid_h * grid_w;
    const auto sample_of = [&](int64_t pw, int64_t i) {
      const int64_t iy = i / grid_w, ix = i % grid_w;
      const T at_y = top + static_cast<T>(ph) * bin_h + (static_cast<T>(iy) + T(0.5)) * bin_h / static_cast<T>(grid_h);
      const T at_x = left + static_cast<T>(pw) * bin_w + (static_cast<T>(ix) + T(0.5)) * bin_w / static_cast<T>(grid_w);
      return sample(at_y, at_x, height, width);
    };
    // The samples of some bins, or of a part of one, are worked out once for all channels.
    constexpr int64_t kSamples = 128;
    Sample<T> samples[kSamples];
    const int64_t bins = std::clamp<int64_t>(kSamples / std::max<int64_t>(per_bin, 1), 1, p_.width);
    for (int64_t pw = 0; pw < p_.width; pw += bins) {
      const int64_t n = std::min(bins, p_.width - pw);
      int64_t done = 0;
      do {
        const int64_t part = std::min(kSamples / n, per_bin - done);
        for (int64_t k = 0; k < n; ++k)
          for (int64_t i = 0; i < part; ++i) samples[k * part + i] = sample_of(pw + k, done + i);
        for (int64_t c = 0; c < channels; ++c) {
          T* to = y + c * step + pw;
          for (int64_t k = 0; k < n; ++k)
            to[k] = p_.max ? most_of(image + c * plane, samples + k * part, part, done == 0, to[k])
                           : sum_of(image + c * plane, samples + k * part, part, done == 0 ? T(0) : to[k]);
        }
        done += part;
      } while (done < per_bin);
      if (!p_.max)
        for (int64_t c = 0; c < channels; ++c)
          for (int64_t k = 0; k < n; ++k) y[c * step + pw + k] /= count;
    }
  }

  template <class T>
  static T sum_of(const T* x, const Sample<T>* samples, int64_t n, T sum) {
    for (int64_t i = 0; i < n; ++i) {
      const Sample<T>& s = samples[i];
      sum += s.weight[0] * x[s.at[0]] + s.weight[1] * x[s.at[1]] + s.weight[2] * x[s.at[2]] + s.weight[3] * x[s.at[3]];
    }
    return sum;
  }
  // The largest weighted pixel; 0 for no sample.
  template <class T>
  static T most_of(const T* x, const Sample<T>* samples, int64_t n, bool first, T most) {
    if (first) most = 0;
    for (int64_t i = 0; i < n; ++i) {
      const Sample<T>& s = samples[i];
      T v = s.weight[0] * x[s.at[0]];
      for (int k = 1; k < 4; ++k) {
        const T w = s.weight[k] * x[s.at[k]];
        v = v < w ? w : v;
      }
      most = first && i == 0 ? v : most < v ? v : most;
    }
    return most;
  }

  // Samples along one side of a bin. More than a few per pixel of the image bring nothing: a bound for wild regions.
  template <class T>
  int64_t grid(T bin, int64_t size) const {
    if (p_.sampling > 0) return p_.sampling;
    const T n = std::ceil(bin);
    return n > 0 ? static_cast<int64_t>(std::min(n, static_cast<T>(8 * size + 8))) : 0;
  }

  Params p_;
};

constexpr OpDef kDefs[] = {{"RoiAlign", infer, cpu_widened<RoiKernel>(kFloats), {.reviewed = 22}}};

}  // namespace

TRUNNION_OPS(roi_align, kDefs);
}  // namespace trunnion::ops
