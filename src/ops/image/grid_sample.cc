// GridSample (ai.onnx 16, 20, 22; com.microsoft 1): reads the input at the normalized positions that a grid gives, 1 to
// 3 spatial dimensions.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/dispatch.h"
#include "ops/shape.h"
#include "ops/widen.h"

namespace trunnion::ops {
namespace {

struct Params {
  enum class Mode : uint8_t { nearest, linear, cubic } mode;
  enum class Padding : uint8_t { zeros, border, reflection } padding;
  bool align_corners;
  bool clamp_first = true;  // border: the position is moved into the picture, not the pixels around it
};

Result<Params> read(const ir::Node& n) {
  Params p{Params::Mode::linear, Params::Padding::zeros, n.attr("align_corners", 0) != 0};
  const std::string mode = n.attr("mode", "linear"), padding = n.attr("padding_mode", "zeros");
  if (mode == "nearest")
    p.mode = Params::Mode::nearest;
  else if (mode == "cubic" || mode == "bicubic")
    p.mode = Params::Mode::cubic;
  else if (mode != "linear" && mode != "bilinear")
    return invalid_argument("attribute mode is '{}', expected nearest, linear or cubic", mode);
  if (padding == "border")
    p.padding = Params::Padding::border;
  else if (padding == "reflection")
    p.padding = Params::Padding::reflection;
  else if (padding != "zeros")
    return invalid_argument("attribute padding_mode is '{}', expected zeros, border or reflection", padding);
  // com.microsoft's is ONNX Runtime's, which moves pixels where the specification moves positions.
  p.clamp_first = n.domain().empty() || p.mode != Params::Mode::cubic;
  return p;
}

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_TRY(read(n));
  f.set(0, f.dtype(0));
  if (!f.has_rank(0) && !f.has_rank(1)) return {};
  const int rank = f.has_rank(0) ? f.in(0).rank() : f.in(1).rank();
  if (rank < 3 || rank > 5)
    return invalid_argument("rank {} is not supported: expected 3 to 5 (1 to 3 spatial dimensions)", rank);
  TRN_TRY(expect_rank(f, 1, rank));
  SymShape out = unknown_shape(rank);
  if (f.has_rank(0)) {
    out[0] = f.in(0).dim(0);
    out[1] = f.in(0).dim(1);
  }
  if (f.has_rank(1)) {
    const SymShape& g = f.in(1).shape();
    if (g.back().is_int() && !g.back().is_int(rank - 2))
      return invalid_argument("the grid of shape {} has {} coordinates per point, needs {}", shape_text(g),
                              g.back().value(), rank - 2);
    if (f.has_rank(0) && out[0].is_int() && g[0].is_int() && !(out[0] == g[0]))
      return invalid_argument("input has {} images, the grid {}", out[0].value(), g[0].value());
    for (int i = 2; i < rank; ++i) out[i] = g[i - 1];
  }
  f.set(0, f.dtype(0), std::move(out));
  return {};
}

double reflect(double v, double low, double high) {
  const double range = high - low;
  if (range <= 0) return low;
  const bool below = v < low;
  const double distance = below ? low - v : v > high ? v - high : 0;
  if (distance == 0) return v;
  const double turns = std::floor(distance / range), rest = distance - turns * range;
  const bool from_near = std::fmod(turns, 2.0) == 0;
  return below == from_near ? low + rest : high - rest;
}

// The positions that one output point reads along one dimension. index -1: outside, reads 0.
struct Taps {
  int count = 0;
  int64_t index[4];
  double weight[4];
};

class GridKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    TRN_ASSIGN(const Params p, read(node));
    return std::unique_ptr<Kernel>(new GridKernel(p));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    if (y.count == 0) return {};
    return dispatch<(DType::f32 | DType::f64).bits()>(ctx.in(1).dtype, [&]<class G>() -> Status {
      if (x.dtype != DType::f32 && x.dtype != DType::f64) return sample_other<G>(ctx);
      return dispatch<(DType::f32 | DType::f64).bits()>(x.dtype, [&]<class T>() { sample<T, G>(ctx, x, y); });
    });
  }

 private:
  explicit GridKernel(Params p) : p_(p) {}

  template <class T, class G>
  void sample(KernelContext& ctx, const TensorView& xv, const TensorView& yv) const {
    const int dims = xv.rank - 2;
    const int64_t channels = xv.dim(1), in_plane = product(xv.shape(), 2, xv.rank),
                  out_plane = product(yv.shape(), 2, yv.rank);
    const G* grid = ctx.in(1).as<G>();
    const int64_t per_image = (out_plane + kBlock - 1) / kBlock;  // blocks: no division for every element
    const bool plane = dims == 2 && p_.mode == Params::Mode::linear;
    ctx.parallel_for(xv.dim(0) * per_image, 512 / (channels * (1 << dims)) + 1, [&](int64_t begin, int64_t end) {
      Block<T> block;
      for (int64_t b = begin; b < end; ++b) {
        const int64_t image = b / per_image, first = b % per_image * kBlock,
                      count = std::min(kBlock, out_plane - first);
        const G* points = grid + (image * out_plane + first) * dims;
        for (int64_t i = 0; i < count; ++i)
          plane ? find_four(points + i * 2, xv.dim(2), xv.dim(3), block, i)
                : find_taps(points + i * dims, xv.shape().subspan(2), block, i);
        // Channel by channel, so that a plane stays in the cache.
        for (int64_t c = 0; c < channels; ++c) {
          const T* x = xv.as<T>() + (image * channels + c) * in_plane;
          T* y = yv.as<T>() + (image * channels + c) * out_plane + first;
          for (int64_t i = 0; i < count; ++i) {
            const int64_t* offset = block.offset[i];
            const T* weight = block.weight[i];
            T sum = 0;
            if (block.count[i] == 4)
              sum = x[offset[0]] * weight[0] + x[offset[1]] * weight[1] +
                    (x[offset[2]] * weight[2] + x[offset[3]] * weight[3]);
            else
              for (int a = 0; a < block.count[i]; ++a) sum += x[offset[a]] * weight[a];
            y[i] = sum;
          }
        }
      }
    });
  }

  // Integers, booleans and complex numbers are blended in f64, one part after the other; nearest moves elements.
  template <class G>
  Status sample_other(KernelContext& ctx) const {
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    if (p_.mode == Params::Mode::nearest) return dispatch_size(x.dtype, [&]<class T>() { move<T, G>(ctx); });
    if (x.dtype == DType::string) return not_implemented("strings can only be sampled in mode nearest");
    TRN_ASSIGN(const Tensor from, Tensor::allocate(DType::f64, x.shape()));
    TRN_ASSIGN(const Tensor to, Tensor::allocate(DType::f64, y.shape()));
    const double* blended = to.data<double>();
    double* loaded = from.data<double>();
    for (int64_t part = 0; part < (kComplex.has(x.dtype) ? 2 : 1); ++part) {
      for (int64_t i = 0; i < x.count; ++i) {
        if (x.dtype == DType::c64) loaded[i] = static_cast<double>(x.as<const float>()[2 * i + part]);
        if (x.dtype == DType::c128) loaded[i] = x.as<const double>()[2 * i + part];
      }
      if (!kComplex.has(x.dtype))
        TRN_TRY((dispatch<(kIntegers | DType::boolean).bits()>(x.dtype, [&]<class T>() {
          for (int64_t i = 0; i < x.count; ++i) loaded[i] = static_cast<double>(x.as<const T>()[i]);
        })));
      sample<double, G>(ctx, from.view(), to.view());
      for (int64_t i = 0; i < y.count; ++i) {
        if (y.dtype == DType::c64) y.as<float>()[2 * i + part] = static_cast<float>(blended[i]);
        if (y.dtype == DType::c128) y.as<double>()[2 * i + part] = blended[i];
      }
    }
    if (kComplex.has(y.dtype)) return {};
    return dispatch<(kIntegers | DType::boolean).bits()>(y.dtype, [&]<class T>() {
      for (int64_t i = 0; i < y.count; ++i) y.as<T>()[i] = cut<T>(blended[i]);
    });
  }

  // Fractions are cut off, what does not fit gives the nearest number that does.
  template <class T>
  static T cut(double v) {
    if constexpr (std::is_same_v<T, bool>) return v != 0;
    constexpr double kLow = static_cast<double>(std::numeric_limits<T>::lowest()),
                     kHigh = static_cast<double>(std::numeric_limits<T>::max());
    return !(v > kLow)  ? std::numeric_limits<T>::lowest()
           : v >= kHigh ? std::numeric_limits<T>::max()
                        : static_cast<T>(v);
  }

  template <class T, class G>
  void move(KernelContext& ctx) const {
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    const int dims = x.rank - 2;
    const int64_t channels = x.dim(1), in_plane = product(x.shape(), 2, x.rank),
                  out_plane = product(y.shape(), 2, y.rank), points = x.dim(0) * out_plane;
    ctx.parallel_for((points + kBlock - 1) / kBlock, 64, [&](int64_t begin, int64_t end) {
      Block<double> block;
      for (int64_t i = begin * kBlock; i < std::min(points, end * kBlock); ++i) {
        find_taps(ctx.in(1).as<const G>() + i * dims, x.shape().subspan(2), block, 0);
        for (int64_t c = 0; c < channels; ++c) {
          const int64_t plane = i / out_plane * channels + c;
          T& to = y.as<T>()[plane * out_plane + i % out_plane];
          to = block.count[0] ? x.as<const T>()[plane * in_plane + block.offset[0][0]] : T{};
        }
      }
    });
  }

  static constexpr int64_t kBlock = 32;
  // Output points with the offsets and weights of all that they read.
  template <class T>
  struct Block {
    int count[kBlock];
    int64_t offset[kBlock][64];
    T weight[kBlock][64];
  };

  // One dimension after the other is multiplied in. The grid has the innermost coordinate first.
  template <class T, class G>
  void find_taps(const G* point, std::span<const int64_t> sizes, Block<T>& block, int64_t i) const {
    int64_t *offset = block.offset[i], next_offset[64];
    T *weight = block.weight[i], next_weight[64];
    int count = 1;
    offset[0] = 0;
    weight[0] = 1;
    for (size_t d = 0; d < sizes.size(); ++d) {
      const Taps taps = position(static_cast<double>(point[sizes.size() - 1 - d]), sizes[d]);
      int next = 0;
      for (int a = 0; a < count; ++a)
        for (int t = 0; t < taps.count; ++t) {
          if (taps.index[t] < 0) continue;
          next_offset[next] = offset[a] * sizes[d] + taps.index[t];
          next_weight[next++] = weight[a] * static_cast<T>(taps.weight[t]);
        }
      count = next;
      std::copy_n(next_offset, count, offset);
      std::copy_n(next_weight, count, weight);
    }
    block.count[i] = count;
  }

  // The same for two dimensions in mode linear.
  template <class T, class G>
  void find_four(const G* point, int64_t height, int64_t width, Block<T>& block, int64_t i) const {
    const Taps rows = position(static_cast<double>(point[1]), height),
               cols = position(static_cast<double>(point[0]), width);
    int64_t* offset = block.offset[i];
    T* weight = block.weight[i];
    int count = 0;
    for (int a = 0; a < 2; ++a)
      for (int t = 0; t < 2; ++t) {
        if (rows.index[a] < 0 || cols.index[t] < 0) continue;
        offset[count] = rows.index[a] * width + cols.index[t];
        weight[count++] = static_cast<T>(rows.weight[a]) * static_cast<T>(cols.weight[t]);
      }
    block.count[i] = count;
  }

  Taps position(double normal, int64_t size) const {
    const double n = static_cast<double>(size);
    const double low = p_.align_corners ? 0 : -0.5, high = p_.align_corners ? n - 1 : n - 0.5;
    double v = p_.align_corners ? (normal + 1) / 2 * (n - 1) : ((normal + 1) * n - 1) / 2;
    if (!(std::fabs(v) < 1e15)) v = v > 0 ? 1e15 : -1e15;  // infinities, NaN
    if (p_.mode == Params::Mode::nearest) v = std::nearbyint(v);
    if (v < low || v > high) {
      if (p_.padding == Params::Padding::border && p_.clamp_first) v = std::clamp(v, 0.0, std::max(n - 1, 0.0));
      if (p_.padding == Params::Padding::reflection) v = reflect(v, low, high);
    }
    Taps t;
    const double base = std::floor(v), r = v - base;
    const auto add = [&](double at, double w) {
      t.index[t.count] = inside(at, n, low, high);
      t.weight[t.count++] = w;
    };
    if (p_.mode == Params::Mode::nearest) {
      add(std::trunc(v), 1);
    } else if (p_.mode == Params::Mode::linear) {
      add(base, 1 - r);
      add(base + 1, r);
    } else {
      constexpr double a = -0.75;
      const auto outer = [](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
      const auto inner = [](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
      add(base - 1, outer(r + 1));
      add(base, inner(r));
      add(base + 1, inner(1 - r));
      add(base + 2, outer(2 - r));
    }
    return t;
  }

  // The pixel that stands for position v; -1 when it is padding.
  int64_t inside(double v, double n, double low, double high) const {
    if (v >= 0 && v < n) return static_cast<int64_t>(v);
    if (p_.padding == Params::Padding::zeros || n < 1) return -1;
    if (p_.padding == Params::Padding::reflection) v = reflect(v, low, high);
    return static_cast<int64_t>(std::clamp(v, 0.0, n - 1));
  }

  Params p_;
};

constexpr OpDef kDefs[] = {
    {"GridSample",
     infer,
     cpu_widened<GridKernel>(kFloats | kIntegers | DType::boolean | kComplex | DType::string),
     {.reviewed = 22}},
    {"GridSample",
     infer,
     cpu_widened<GridKernel>(kFloats),
     {.reviewed = 1},
     "com.microsoft",
     "com.microsoft::GridSample 1 (X:T, Grid:T) -> (Y:T) {align_corners:i=0, mode:s='bilinear', "
     "padding_mode:s='zeros'} T=float"},
};

}  // namespace

TRUNNION_OPS(grid_sample, kDefs);
}  // namespace trunnion::ops
