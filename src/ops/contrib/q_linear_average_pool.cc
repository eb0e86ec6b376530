// QLinearAveragePool and QLinearGlobalAveragePool (com.microsoft 1): averages of 8-bit quantized elements, quantized
// again, of [N, C, D...] or (channels_last) [N, D..., C].
#include "kernels/pool.h"
#include "kernels/requantize.h"
#include "ops/contrib/channels_last_detail.h"
#include "ops/contrib/q_linear_detail.h"
#include "ops/nn/window_detail.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

enum Input { kX, kXScale, kXZero, kYScale, kYZero };
constexpr int kPoints[] = {kXScale, kXZero, kYScale, kYZero};

bool channels_last(const ir::Node& n) { return n.attr("channels_last", 0) != 0; }

Status infer_global(const ir::Node& n, ir::Facts& f) {
  TRN_TRY(expect_single(f, kPoints));
  f.set(0, f.dtype(kX));
  if (!f.has_rank(kX)) return {};
  SymShape y = f.in(kX).shape();
  if (y.size() < 3) return invalid_argument("input 0 has shape {}, needs at least 3 dimensions", shape_text(y));
  const int64_t first = channels_last(n) ? 1 : 2;
  std::fill_n(y.begin() + first, y.size() - 2, Dim(1));
  f.set(0, f.dtype(kX), std::move(y));
  return {};
}

Status infer_pool(const ir::Node& n, ir::Facts& f) {
  TRN_TRY(expect_single(f, kPoints));
  TRN_ASSIGN(const WindowParams p, read_window(n));
  f.set(0, f.dtype(kX));
  if (!f.has_rank(kX)) return {};
  SymShape x = f.in(kX).shape();
  if (x.size() < 3) return invalid_argument("input 0 has shape {}, needs at least 3 dimensions", shape_text(x));
  if (channels_last(n)) x = to_channels_first(std::move(x));
  TRN_ASSIGN(SymShape y, window_shape(p, x));
  f.set(0, f.dtype(kX), channels_last(n) ? to_channels_last(std::move(y)) : std::move(y));
  return {};
}

constexpr int64_t kMostPixels = INT32_MAX / 255;  // whose sum fits 32 bits

// Averages over everything: exact integer sums, scaled once. x is images x pixels x channels or (planes) images x
// channels x pixels.
struct GlobalShape {
  bool planes = true;
  int64_t images = 0, channels = 0, pixels = 0;
};

GlobalShape global_shape(const TensorView& x, bool last) {
  GlobalShape g;
  g.images = x.dim(0);
  g.channels = x.dim(last ? x.rank - 1 : 1);
  g.pixels = last ? product(x.shape(), 1, x.rank - 1) : product(x.shape(), 2, x.rank);
  g.planes = !last || g.channels == 1;
  return g;
}

size_t global_scratch(const GlobalShape& g) { return static_cast<size_t>(g.images * g.channels) * sizeof(int32_t); }

void run_global(KernelContext& ctx, const GlobalShape& g) {
  const TensorView &x = ctx.in(kX), &y = ctx.out(0);
  if (y.count == 0) return;
  const kernels::BytePoint from = read_point(ctx, kXScale), to = read_point(ctx, kYScale);
  const bool is_signed = x.dtype == DType::i8;
  const float scale = from.scale / (to.scale * static_cast<float>(g.pixels));
  const auto bias = static_cast<int32_t>(-from.zero * g.pixels);
  auto* sums = reinterpret_cast<int32_t*>(ctx.scratch());
  // A unit is a plane, or an image with its channels last.
  const int64_t units = g.planes ? g.images * g.channels : g.images, results = g.planes ? 1 : g.channels;
  const int64_t size = g.pixels * results;
  ctx.parallel_for(
      units, std::max<int64_t>(1, (int64_t{1} << 17) / std::max<int64_t>(1, size)), [&](int64_t begin, int64_t end) {
        const auto* part = x.as<const uint8_t>() + begin * size;
        int32_t* to_sums = sums + begin * results;
        const int64_t n = end - begin;
        if (g.planes)
          kernels::quant_bytes().row_sums(part, is_signed, n, g.pixels, to_sums);
        else
          for (int64_t i = 0; i < n; ++i)
            kernels::quant_bytes().column_sums(part + i * size, is_signed, g.pixels, g.channels, to_sums + i * results);
        for (int64_t i = 0; i < n * results; ++i) to_sums[i] += bias;
        const kernels::RequantizeArgs args{to_sums, 0, 1, n * results, nullptr, &scale, false};
        if (is_signed)
          kernels::requantize().to_i8(args, y.as<int8_t>() + begin * results, 0, to.zero);
        else
          kernels::requantize().to_u8(args, y.as<uint8_t>() + begin * results, 0, to.zero);
      });
}

class QLinearGlobalAveragePool final : public Kernel {
 public:
  struct State final : KernelState {
    GlobalShape shape;
  };
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    return std::unique_ptr<Kernel>(new QLinearGlobalAveragePool(channels_last(n)));
  }
  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto s = std::make_unique<State>();
    s->shape = global_shape(ctx.in(kX), last_);
    if (s->shape.pixels > kMostPixels)
      return not_implemented("an average over {} positions: {} are the limit", s->shape.pixels, kMostPixels);
    ctx.request_scratch(global_scratch(s->shape));
    return std::unique_ptr<KernelState>(std::move(s));
  }
  Status run(KernelContext& ctx) const override {
    run_global(ctx, ctx.state<State>()->shape);
    return {};
  }

 private:
  explicit QLinearGlobalAveragePool(bool last) : last_(last) {}
  bool last_;
};

class QLinearAveragePool final : public Kernel {
 public:
  struct State final : KernelState {
    bool global = false;
    GlobalShape whole;
    kernels::PoolShape shape;
    size_t y_offset = 0;
    int64_t units = 0, in_unit = 0, out_unit = 0;  // planes; channels last: rows of outputs, sizes of an image
    int64_t rows = 0, channels = 0;
  };

  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    TRN_ASSIGN(WindowParams p, read_window(n));
    return std::unique_ptr<Kernel>(
        new QLinearAveragePool(std::move(p), channels_last(n), n.attr("count_include_pad", 0) != 0));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto state = std::make_unique<State>();
    State& s = *state;
    const TensorView &x = ctx.in(kX), &y = ctx.out(0);
    Shape x_dims(x.shape()), y_dims(y.shape());
    if (last_) {
      x_dims = to_channels_first(std::move(x_dims));
      y_dims = to_channels_first(std::move(y_dims));
    }
    TRN_ASSIGN(s.shape, pool_shape(p_, x_dims, y_dims));
    kernels::PoolShape& k = s.shape;
    s.global = global_shape(x, last_).pixels <= kMostPixels;
    for (int d = 0; d < 3; ++d) {
      s.global &= k.in[d] == k.kernel[d] && k.pad_begin[d] == 0 && k.pad_end[d] == 0;
      // With padding counted, every window counts as whole, also where ceil_mode lets it hang over the padding.
      if (count_pad_)
        k.pad_end[d] = std::max(k.pad_end[d], (k.out[d] - 1) * k.stride[d] + k.kernel[d] - k.in[d] - k.pad_begin[d]);
    }
    k.count_include_pad = count_pad_;
    if (s.global) {
      s.whole = global_shape(x, last_);
      ctx.request_scratch(global_scratch(s.whole));
      return std::unique_ptr<KernelState>(std::move(state));
    }
    s.channels = x_dims[1];
    s.rows = k.out[0] * k.out[1];
    s.in_unit = product(x_dims, last_ ? 1 : 2, x.rank);
    s.out_unit = product(y_dims, last_ ? 1 : 2, x.rank);
    s.units = last_ ? x_dims[0] * s.rows : x_dims[0] * s.channels;
    s.y_offset = (static_cast<size_t>(x.count) * sizeof(float) + 63) / 64 * 64;
    ctx.request_scratch(s.y_offset + y.count * sizeof(float));
    return std::unique_ptr<KernelState>(std::move(state));
  }

  Status run(KernelContext& ctx) const override {
    const State& s = *ctx.state<State>();
    if (s.global) {
      run_global(ctx, s.whole);
      return {};
    }
    const TensorView &x = ctx.in(kX), &y = ctx.out(0);
    if (y.count == 0) return {};
    float table[256];
    dequantize_table(read_point(ctx, kXScale), x.dtype, table);
    auto* values = reinterpret_cast<float*>(ctx.scratch());
    auto* means = reinterpret_cast<float*>(ctx.scratch() + s.y_offset);
    ctx.parallel_for(x.count, 16384, [&](int64_t begin, int64_t end) {
      kernels::look_up(table, x.as<const uint8_t>() + begin, values + begin, static_cast<size_t>(end - begin));
    });
    const kernels::BytePoint to = read_point(ctx, kYScale);
    const int64_t row = last_ ? s.shape.out[2] * s.channels : s.out_unit;
    const int64_t work = row * s.shape.kernel[0] * s.shape.kernel[1] * s.shape.kernel[2];
    ctx.parallel_for(
        s.units, std::max<int64_t>(1, 32768 / std::max<int64_t>(1, work)), [&](int64_t begin, int64_t end) {
          average(s, values, means, begin, end);
          kernels::quant_bytes().quantize(means + begin * row, y.as<uint8_t>() + begin * row,
                                          static_cast<size_t>((end - begin) * row), to, y.dtype == DType::i8);
        });
    return {};
  }

 private:
  QLinearAveragePool(WindowParams p, bool last, bool count_pad)
      : p_(std::move(p)), last_(last), count_pad_(count_pad) {}

  void average(const State& s, const float* x, float* y, int64_t begin, int64_t end) const {
    if (!last_) return kernels::pool().average(x + begin * s.in_unit, y + begin * s.out_unit, end - begin, s.shape);
    while (begin < end) {
      const int64_t image = begin / s.rows, row = begin % s.rows, n = std::min(end - begin, s.rows - row);
      kernels::pool().average_nhwc(x + image * s.in_unit, y + image * s.out_unit, s.channels, row, row + n, s.shape);
      begin += n;
    }
  }

  WindowParams p_;
  bool last_, count_pad_;
};

constexpr OpDef kDefs[] = {
    {"QLinearGlobalAveragePool",
     infer_global,
     cpu<QLinearGlobalAveragePool>(kBytes),
     {.reviewed = 1},
     "com.microsoft",
     "com.microsoft::QLinearGlobalAveragePool 1 (X:T, x_scale:f32, x_zero_point:T, y_scale:f32, y_zero_point:T) -> "
     "(Y:T) {channels_last:i=0} T=u8|i8"},
    {"QLinearAveragePool",
     infer_pool,
     cpu<QLinearAveragePool>(kBytes),
     {.reviewed = 1},
     "com.microsoft",
     "com.microsoft::QLinearAveragePool 1 (X:T, x_scale:f32, x_zero_point?:T, y_scale:f32, y_zero_point?:T) -> (Y:T) "
     "{auto_pad:s='NOTSET', ceil_mode:i=0, channels_last:i=0, count_include_pad:i=0, kernel_shape!:is, pads:is, "
     "strides:is} T=u8|i8"},
};

}  // namespace

TRUNNION_OPS(q_linear_average_pool, kDefs);

}  // namespace trunnion::ops
