// DeformConv (ai.onnx 19, 22): a convolution whose taps are read at learnt, fractional positions, and may be weighted
// by a mask. The samples of a block of pixels become the columns of a matrix product.
#include <algorithm>
#include <cmath>

#include "kernels/gemm.h"
#include "kernels/gemm_plain.h"
#include "ops/dispatch.h"
#include "ops/nn/conv_detail.h"
#include "ops/shape.h"
#include "ops/tiles.h"
#include "ops/widen.h"

namespace trunnion::ops {
namespace {

constexpr int kMaxSpatial = 4;

Status expect_dim(const Dim& found, const Dim& wanted, int input, int axis) {
  if (!found.is_int() || !wanted.is_int() || found == wanted) return {};
  return invalid_argument("dimension {} of input {} is {}, needs {}", axis, input, found.value(), wanted.value());
}

// Of the offsets (or the mask): batch, channels, output positions.
Status check_positions(const ir::Facts& f, int input, const SymShape& y, const Dim& channels) {
  if (!f.has_rank(input)) return {};
  TRN_TRY(expect_rank(f, input, static_cast<int>(y.size())));
  for (int d = 0; d < static_cast<int>(y.size()); ++d)
    TRN_TRY(expect_dim(f.in(input).dim(d), d == 1 ? channels : y[static_cast<size_t>(d)], input, d));
  return {};
}

Status infer(const ir::Node& node, ir::Facts& f) {
  const ConvParams p = read_conv(node, false);
  const int64_t offset_groups = node.attr("offset_group", 1);
  if (offset_groups < 1) return invalid_argument("attribute offset_group is {}, needs at least 1", offset_groups);
  const ir::Facts::Input in[] = {{&f.in(0)}, {&f.in(1)}, {f.has(3) ? &f.in(3) : nullptr}};
  ir::Fact out[1];
  ir::Facts conv(in, out);
  TRN_TRY(infer_conv(p, conv, f.dtype(0)));
  f.out(0) = out[0];
  if (!out[0].has_rank()) return {};
  SymShape y = out[0].shape();
  if (f.has_rank(0) && f.in(0).dim(1).is_int() && f.in(0).dim(1).value() % offset_groups)
    return invalid_argument("{} channels cannot be split into offset_group = {}", f.in(0).dim(1).value(),
                            offset_groups);
  Dim taps(offset_groups);
  const int spatial = static_cast<int>(y.size()) - 2;
  for (int d = 0; d < spatial; ++d)
    taps = taps * (f.has_rank(1)      ? f.in(1).dim(d + 2)
                   : p.kernel.empty() ? Dim()
                                      : Dim(p.kernel[static_cast<size_t>(d)]));
  TRN_TRY(check_positions(f, 2, y, taps * Dim(spatial)));
  TRN_TRY(check_positions(f, 4, y, taps));
  for (int i : {2, 4})
    if (f.has_rank(i))
      for (int d = 2; d < spatial + 2; ++d)
        if (!y[static_cast<size_t>(d)].is_int() && f.in(i).dim(d).is_int()) y[static_cast<size_t>(d)] = f.in(i).dim(d);
  f.out(0).type.shape = std::move(y);
  return {};
}

void multiply(const float* w, const float* columns, const float* bias, float* y, int64_t rows, int64_t k,
              int64_t pixels, int64_t block, int64_t ldc, void* scratch) {
  kernels::GemmArgs g;
  g.m = rows;
  g.n = pixels;
  g.k = k;
  g.a = w;
  g.a_row_stride = k;
  g.b = columns;
  g.b_k_stride = block;
  g.c = y;
  g.ldc = ldc;
  g.epilogue.bias_row = bias;
  kernels::gemm_tile(g, 0, rows, 0, pixels, scratch);
}
void multiply(const double* w, const double* columns, const double* bias, double* y, int64_t rows, int64_t k,
              int64_t pixels, int64_t block, int64_t ldc, void*) {
  for (int64_t r = 0; r < rows && bias; ++r) std::fill_n(y + r * ldc, pixels, bias[r]);
  kernels::PlainGemmArgs<double> g;
  g.m = rows;
  g.n = pixels;
  g.k = k;
  g.a = w;
  g.a_row_stride = k;
  g.b = columns;
  g.b_k_stride = block;
  g.c = y;
  g.ldc = ldc;
  g.beta = bias ? 1 : 0;
  kernels::plain_gemm_tile(g, 0, rows, 0, pixels);
}

struct State final : KernelState {
  int spatial = 0;
  int64_t batch = 0, cin = 0, cout = 0, taps = 0, pixels_in = 1, pixels = 1;
  int64_t in[kMaxSpatial] = {}, out[kMaxSpatial] = {}, kernel[kMaxSpatial] = {};
  int64_t stride[kMaxSpatial] = {}, dilation[kMaxSpatial] = {}, pad[kMaxSpatial] = {};
  int64_t block = 0;  // pixels of a tile
  size_t columns_bytes = 0, corners_bytes = 0, tile_bytes = 0;
};

template <class T>
struct Corner {
  int64_t at;  // position in the plane; 0 with weight 0 outside of it
  T weight;
};

template <class T>
class DeformConv final : public Kernel {
 public:
  DeformConv(ConvParams p, int64_t offset_groups) : p_(std::move(p)), offset_groups_(offset_groups) {}

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    auto state = std::make_unique<State>();
    if (y.count == 0) return std::unique_ptr<KernelState>(std::move(state));
    State& s = *state;
    s.spatial = x.rank - 2;
    if (s.spatial > kMaxSpatial) return not_implemented("a convolution over {} spatial dimensions", s.spatial);
    TRN_ASSIGN(const ConvChannels c, conv_channels(p_, ctx.in(1).shape()));
    s.batch = x.dim(0);
    s.cin = c.cin;
    s.cout = c.cout;
    s.taps = 1;
    for (int d = 0; d < s.spatial; ++d) {
      const auto k = static_cast<size_t>(d);
      s.in[d] = x.dim(d + 2);
      s.out[d] = y.dim(d + 2);
      s.kernel[d] = c.kernel[k];
      s.stride[d] = p_.strides.empty() ? 1 : p_.strides[k];
      s.dilation[d] = p_.dilations.empty() ? 1 : p_.dilations[k];
      s.pad[d] = p_.pads.empty() ? 0 : p_.pads[k];
      s.taps *= s.kernel[d];
      s.pixels_in *= s.in[d];
      s.pixels *= s.out[d];
    }
    // Columns of a block stay in the second-level cache.
    const int64_t k = std::max<int64_t>(1, s.cin * s.taps);
    s.block = std::clamp<int64_t>((int64_t{1} << 17) / k / 16 * 16, 16, 256);
    s.block = std::min(s.block, std::max<int64_t>(s.pixels, 1));
    const auto line = [](size_t bytes) { return (bytes + 63) / 64 * 64; };
    s.columns_bytes = line(static_cast<size_t>(k * s.block) * sizeof(T));
    s.corners_bytes = line(static_cast<size_t>(s.block << s.spatial) * sizeof(Corner<T>));
    s.tile_bytes = s.columns_bytes + s.corners_bytes;
    if constexpr (std::is_same_v<T, float>)
      s.tile_bytes += line(kernels::gemm_scratch_size(s.block, s.cin / p_.groups * s.taps));
    ctx.request_scratch(s.tile_bytes * static_cast<size_t>(tile_slots(tiles(s), ctx.threads())));
    return std::unique_ptr<KernelState>(std::move(state));
  }

  Status run(KernelContext& ctx) const override {
    const State& s = *ctx.state<State>();
    if (ctx.out(0).count == 0) return {};
    const int64_t per_image = (s.pixels + s.block - 1) / s.block;
    for_each_tile(ctx, tiles(s), ctx.scratch(), s.tile_bytes, [&](int64_t t, std::byte* own) {
      const int64_t image = t / per_image, first = t % per_image * s.block;
      const int64_t n = std::min(s.block, s.pixels - first);
      T* columns = reinterpret_cast<T*>(own);
      sample(ctx, s, image, first, n, columns, reinterpret_cast<Corner<T>*>(own + s.columns_bytes));
      const int64_t rows = s.cout / p_.groups, k = s.cin / p_.groups * s.taps;
      const T* bias = ctx.has_in(3) ? ctx.in(3).as<T>() : nullptr;
      for (int64_t g = 0; g < p_.groups; ++g)
        multiply(ctx.in(1).as<const T>() + g * rows * k, columns + g * k * s.block, bias ? bias + g * rows : nullptr,
                 ctx.out(0).as<T>() + (image * s.cout + g * rows) * s.pixels + first, rows, k, n, s.block, s.pixels,
                 own + s.columns_bytes + s.corners_bytes);
    });
    return {};
  }

 private:
  static int64_t tiles(const State& s) { return s.batch * ((s.pixels + s.block - 1) / s.block); }

  // Row (channel, tap) of the columns: the samples of the block's pixels.
  void sample(KernelContext& ctx, const State& s, int64_t image, int64_t first, int64_t n, T* columns,
              Corner<T>* corners) const {
    const int64_t channels = s.cin / offset_groups_, per_pixel = int64_t{1} << s.spatial;
    const T* x = ctx.in(0).as<const T>() + image * s.cin * s.pixels_in;
    const T* offsets = ctx.in(2).as<const T>() + image * offset_groups_ * s.taps * s.spatial * s.pixels + first;
    const T* mask =
        ctx.has_in(4) ? ctx.in(4).as<const T>() + image * offset_groups_ * s.taps * s.pixels + first : nullptr;
    for (int64_t og = 0; og < offset_groups_; ++og)
      for (int64_t tap = 0; tap < s.taps; ++tap) {
        const int64_t row = og * s.taps + tap;
        for (int64_t i = 0; i < n; ++i)
          locate(s, tap, first + i, offsets + row * s.spatial * s.pixels + i, mask ? mask[row * s.pixels + i] : T(1),
                 corners + i * per_pixel);
        for (int64_t c = og * channels; c < (og + 1) * channels; ++c) {
          const T* plane = x + c * s.pixels_in;
          T* to = columns + (c * s.taps + tap) * s.block;
          for (int64_t i = 0; i < n; ++i) {
            T sum = 0;
            for (int64_t k = i * per_pixel; k < (i + 1) * per_pixel; ++k)
              if (corners[k].weight != 0) sum += corners[k].weight * plane[corners[k].at];
            to[i] = sum;
          }
        }
      }
  }

  // The corners around the position that a tap reads for an output pixel; what lies outside is zero.
  static void locate(const State& s, int64_t tap, int64_t pixel, const T* offset, T scale, Corner<T>* corners) {
    const int64_t count = int64_t{1} << s.spatial;
    for (int64_t k = 0; k < count; ++k) corners[k] = {0, scale};
    int64_t plane = 1;
    for (int d = s.spatial - 1; d >= 0; --d) {
      const int64_t base = pixel % s.out[d] * s.stride[d] - s.pad[d] + tap % s.kernel[d] * s.dilation[d];
      pixel /= s.out[d];
      tap /= s.kernel[d];
      const T at = static_cast<T>(base) + offset[d * s.pixels];
      // Also false for NaN: nothing is read then.
      const bool near = at > T(-1) && at < static_cast<T>(s.in[d]);
      const T low = near ? std::floor(at) : T(0);
      const auto index = static_cast<int64_t>(low);
      for (int64_t k = 0; k < count; ++k) {
        const int64_t up = k >> d & 1, i = index + up;
        const T weight = up ? at - low : T(1) - (at - low);
        if (near && i >= 0 && i < s.in[d]) {
          corners[k].at += i * plane;
          corners[k].weight *= weight;
        } else {
          corners[k].weight = 0;
        }
      }
      plane *= s.in[d];
    }
    for (int64_t k = 0; k < count; ++k)
      if (corners[k].weight == 0) corners[k].at = 0;
  }

  ConvParams p_;
  int64_t offset_groups_;
};

struct Maker {
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    ConvParams p = read_conv(node, false);
    const int64_t offset_groups = node.attr("offset_group", 1);
    if (node.input(0)->fact.dtype() == DType::f64)
      return std::unique_ptr<Kernel>(new DeformConv<double>(std::move(p), offset_groups));
    return std::unique_ptr<Kernel>(new DeformConv<float>(std::move(p), offset_groups));
  }
};

constexpr OpDef kDefs[] = {{"DeformConv", infer, cpu_widened<Maker>(kFloats), {.reviewed = 22}}};

}  // namespace

TRUNNION_OPS(deform_conv, kDefs);

}  // namespace trunnion::ops
