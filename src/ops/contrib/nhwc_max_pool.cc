// NhwcMaxPool (com.microsoft 1): the largest element of each window, 8-bit elements of [N, D..., C].
#include "kernels/pool_window.h"
#include "ops/contrib/channels_last_detail.h"
#include "ops/contrib/q_linear_detail.h"
#include "ops/nn/window_detail.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const WindowParams p, read_window(n));
  f.set(0, f.dtype(0));
  if (!f.has_rank(0)) return {};
  SymShape x = f.in(0).shape();
  if (x.size() < 3) return invalid_argument("input 0 has shape {}, needs at least 3 dimensions", shape_text(x));
  TRN_ASSIGN(SymShape y, window_shape(p, to_channels_first(std::move(x))));
  f.set(0, f.dtype(0), to_channels_last(std::move(y)));
  return {};
}

struct State final : KernelState {
  kernels::PoolShape shape;
  int64_t positions = 0, grain = 1;  // outputs of an image
};

class NhwcMaxPoolBytes final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    TRN_ASSIGN(WindowParams p, read_window(n));
    return std::unique_ptr<Kernel>(new NhwcMaxPoolBytes(std::move(p)));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto s = std::make_unique<State>();
    TRN_ASSIGN(s->shape, pool_shape(p_, to_channels_first(Shape(ctx.in(0).shape())),
                                    to_channels_first(Shape(ctx.out(0).shape()))));
    s->positions = s->shape.out[0] * s->shape.out[1] * s->shape.out[2];
    // No window holds more elements than the input.
    int64_t work = ctx.in(0).dim(ctx.in(0).rank - 1);
    for (int d = 0; d < 3; ++d) work *= std::min(s->shape.kernel[d], std::max<int64_t>(1, s->shape.in[d]));
    s->grain = std::max<int64_t>(1, (int64_t{1} << 18) / std::max<int64_t>(1, work + 64));
    return std::unique_ptr<KernelState>(std::move(s));
  }

  Status run(KernelContext& ctx) const override {
    const State& s = *ctx.state<State>();
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    if (y.count == 0) return {};
    const int64_t channels = x.dim(x.rank - 1), image = s.shape.in[0] * s.shape.in[1] * s.shape.in[2] * channels;
    const bool is_signed = x.dtype == DType::i8;
    ctx.parallel_for(x.dim(0) * s.positions, s.grain, [&](int64_t begin, int64_t end) {
      auto* to = y.as<uint8_t>() + begin * channels;
      while (begin < end) {
        const int64_t row = begin / s.shape.out[2], first = begin % s.shape.out[2],
                      last = std::min(s.shape.out[2], first + end - begin);
        const int64_t o1 = row % s.shape.out[1], plane = row / s.shape.out[1], o0 = plane % s.shape.out[0];
        const auto* from = x.as<const uint8_t>() + plane / s.shape.out[0] * image;
        const kernels::Window w0 = window(s.shape, 0, o0), w1 = window(s.shape, 1, o1);
        for (int64_t o2 = first; o2 < last; ++o2, to += channels) {
          largest(s.shape, from, is_signed, channels, w0, w1, window(s.shape, 2, o2), to);
        }
        begin += last - first;
      }
    });
    return {};
  }

 private:
  explicit NhwcMaxPoolBytes(WindowParams p) : p_(std::move(p)) {}

  // Of every channel in a window.
  static void largest(const kernels::PoolShape& s, const uint8_t* image, bool is_signed, int64_t channels,
                      const kernels::Window& w0, const kernels::Window& w1, const kernels::Window& w2, uint8_t* to) {
    constexpr int64_t kTogether = 64;
    const void* rows[kTogether];
    int64_t count = 0;
    const auto flush = [&] { kernels::quant_bytes().column_max(rows, count, is_signed, channels, to); };
    const int64_t step = s.dilation[2] * channels;
    for (int64_t k0 = w0.first; k0 < w0.last; ++k0)
      for (int64_t k1 = w1.first; k1 < w1.last; ++k1) {
        const int64_t i0 = w0.start + k0 * s.dilation[0], i1 = w1.start + k1 * s.dilation[1];
        const uint8_t* at = image + ((i0 * s.in[1] + i1) * s.in[2] + w2.start) * channels;
        for (int64_t k2 = w2.first; k2 < w2.last; ++k2) {
          if (count == kTogether) {
            flush();
            rows[0] = to;
            count = 1;
          }
          rows[count++] = at + k2 * step;
        }
      }
    flush();
  }

  WindowParams p_;
};

constexpr OpDef kDefs[] = {
    {"NhwcMaxPool",
     infer,
     cpu<NhwcMaxPoolBytes>(kBytes),
     {.reviewed = 1},
     "com.microsoft",
     "com.microsoft::NhwcMaxPool 1 (x:T) -> (y:T) {auto_pad:s='NOTSET', ceil_mode:i=0, dilations:is, kernel_shape!:is, "
     "pads:is, strides:is} T=u8|i8"},
};

}  // namespace

TRUNNION_OPS(nhwc_max_pool, kDefs);

}  // namespace trunnion::ops
