// Col2Im (ai.onnx 18): adds the columns of overlapping blocks up to images.
#include <algorithm>
#include <complex>

#include "ops/dispatch.h"
#include "ops/shape.h"
#include "ops/widen.h"

namespace trunnion::ops {
namespace {

struct Params {
  std::vector<int64_t> dilations, pads, strides;  // empty: defaults
};

Result<Params> read(const ir::Node& n) {
  Params p{n.ints("dilations"), n.ints("pads"), n.ints("strides")};
  for (int64_t v : p.dilations)
    if (v < 1) return invalid_argument("attribute dilations holds {}, expected at least 1", v);
  for (int64_t v : p.strides)
    if (v < 1) return invalid_argument("attribute strides holds {}, expected at least 1", v);
  for (int64_t v : p.pads)
    if (v < 0) return invalid_argument("attribute pads holds {}, expected at least 0", v);
  return p;
}

// One spatial dimension.
struct Axis {
  int64_t image, block, stride, dilation, pad, blocks;
};

Result<std::vector<Axis>> axes(const Params& p, std::span<const int64_t> image, std::span<const int64_t> block) {
  const size_t n = image.size();
  if (n == 0 || block.size() != n)
    return invalid_argument("image_shape has {} elements, block_shape {}", n, block.size());
  if ((!p.dilations.empty() && p.dilations.size() != n) || (!p.strides.empty() && p.strides.size() != n) ||
      (!p.pads.empty() && p.pads.size() != 2 * n))
    return invalid_argument("dilations, strides and pads have {}, {} and {} values for {} dimensions",
                            p.dilations.size(), p.strides.size(), p.pads.size(), n);
  std::vector<Axis> out;
  constexpr int64_t kMax = int64_t{1} << 31;
  for (size_t i = 0; i < n; ++i) {
    Axis a{image[i],
           block[i],
           p.strides.empty() ? 1 : p.strides[i],
           p.dilations.empty() ? 1 : p.dilations[i],
           p.pads.empty() ? 0 : p.pads[i],
           0};
    const int64_t pads = p.pads.empty() ? 0 : p.pads[i] + p.pads[n + i];
    if (a.image < 1 || a.block < 1 || a.image > kMax || a.block > kMax || a.dilation > kMax || pads > kMax)
      return invalid_argument("image size {} with block {} is out of range", a.image, a.block);
    const int64_t room = a.image + pads - a.dilation * (a.block - 1) - 1;
    if (room < 0) return invalid_argument("a block of {} does not fit into an image of {}", a.block, a.image);
    a.blocks = room / a.stride + 1;
    out.push_back(a);
  }
  return out;
}

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const Params p, read(n));
  TRN_TRY(expect_rank(f, 0, 3));
  f.set(0, f.dtype(0));
  const auto image = f.dims(1);
  const auto image_ints = f.ints(1), block = f.ints(2);
  std::optional<int64_t> taps;
  if (block) {
    taps = element_count(std::span<const int64_t>(*block));
    if (*taps < 1)
      return invalid_argument("block_shape {} must be positive", shape_text(std::span<const int64_t>(*block)));
  }
  Dim channels;
  if (f.has_rank(0) && taps) {
    const Dim& rows = f.in(0).dim(1);
    if (rows.is_int() && rows.value() % *taps)
      return invalid_argument("{} rows do not divide into blocks of {} elements", rows.value(), *taps);
    channels = floor_div(rows, Dim(*taps));
  }
  if (image_ints && block) {
    TRN_ASSIGN(const auto a, axes(p, *image_ints, *block));
    int64_t blocks = 1;
    for (const Axis& axis : a) blocks *= axis.blocks;
    if (f.has_rank(0) && f.in(0).dim(2).is_int() && !f.in(0).dim(2).is_int(blocks))
      return invalid_argument("the input has {} blocks, the image shape gives {}", f.in(0).dim(2).value(), blocks);
  }
  if (!image && !(f.has_rank(1) && f.in(1).rank() == 1 && f.in(1).dim(0).is_int())) return {};
  SymShape out = {f.has_rank(0) ? f.in(0).dim(0) : Dim(), channels};
  const SymShape rest = image ? *image : unknown_shape(static_cast<int>(f.in(1).dim(0).value()));
  out.insert(out.end(), rest.begin(), rest.end());
  f.set(0, f.dtype(0), std::move(out));
  return {};
}

class Col2ImKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    TRN_ASSIGN(Params p, read(node));
    return std::unique_ptr<Kernel>(new Col2ImKernel(std::move(p)));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    const Shape image = read_ints(ctx.in(1)), block = read_ints(ctx.in(2));
    TRN_ASSIGN(const auto a, axes(p_, image, block));
    int64_t blocks = 1, taps = 1, plane = 1;
    for (const Axis& axis : a) {
      blocks *= axis.blocks;
      taps *= axis.block;
      plane *= axis.image;
    }
    if (x.dim(2) != blocks || x.dim(1) % taps || y.count != x.dim(0) * (x.dim(1) / taps) * plane)
      return invalid_argument("an input of shape {} does not go with image shape {} and block shape {}",
                              shape_text(x.shape()), shape_text(std::span<const int64_t>(image)),
                              shape_text(std::span<const int64_t>(block)));
    const int64_t channels = x.dim(1) / taps;
    const auto sum = [&]<class T>() {
      ctx.parallel_for(x.dim(0) * channels, 8192 / (taps * blocks) + 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          T* to = y.as<T>() + i * plane;
          std::fill_n(to, plane, T{});
          add(a, x.as<T>() + i * taps * blocks, to, taps, blocks);
        }
      });
    };
    if (x.dtype == DType::c64 || x.dtype == DType::c128) {
      x.dtype == DType::c64 ? sum.template operator()<std::complex<float>>()
                            : sum.template operator()<std::complex<double>>();
      return {};
    }
    return dispatch<(kNumeric | DType::boolean).bits()>(x.dtype, sum);
  }

 private:
  explicit Col2ImKernel(Params p) : p_(std::move(p)) {}

  template <class T>
  static void add(const std::vector<Axis>& axes, const T* x, T* y, int64_t taps, int64_t blocks) {
    // Rows of blocks along the innermost axis; those whose pixel lies in the picture are neighbours.
    const Axis& last = axes.back();
    for (int64_t t = 0; t < taps; ++t) {
      const int64_t shift = t % last.block * last.dilation - last.pad;
      const int64_t first = shift >= 0 ? 0 : (-shift + last.stride - 1) / last.stride;
      const int64_t end = shift >= last.image ? 0 : std::min(last.blocks, (last.image - 1 - shift) / last.stride + 1);
      for (int64_t b = 0; b < blocks; b += last.blocks, x += last.blocks) {
        int64_t tap = t / last.block, block = b / last.blocks, at = shift, step = last.image;
        bool inside = true;
        for (size_t d = axes.size() - 1; d-- > 0;) {
          const Axis& a = axes[d];
          const int64_t c = block % a.blocks * a.stride - a.pad + tap % a.block * a.dilation;
          inside &= c >= 0 && c < a.image;
          at += c * step;
          step *= a.image;
          tap /= a.block;
          block /= a.blocks;
        }
        if (!inside) continue;
        if (last.stride == 1)
          for (int64_t k = first; k < end; ++k) add_one(y[at + k], x[k]);
        else
          for (int64_t k = first; k < end; ++k) add_one(y[at + k * last.stride], x[k]);
      }
    }
  }

  template <class T>
  static void add_one(T& y, T x) {
    if constexpr (std::is_same_v<T, bool>)
      y |= x;
    else if constexpr (std::is_integral_v<T>)
      y = static_cast<T>(static_cast<uint64_t>(y) + static_cast<uint64_t>(x));
    else
      y = static_cast<T>(static_cast<Compute<T>>(y) + static_cast<Compute<T>>(x));
  }

  Params p_;
};

// The specification lists strings too, but not what their sum is.
constexpr OpDef kDefs[] = {
    {"Col2Im", infer, cpu_widened<Col2ImKernel>(kNumeric | DType::boolean | kComplex), {.reviewed = 18}}};

}  // namespace

TRUNNION_OPS(col2im, kDefs);
}  // namespace trunnion::ops
