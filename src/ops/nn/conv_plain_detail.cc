#include "ops/nn/conv_plain_detail.h"

#include <algorithm>

namespace trunnion::ops {
namespace {

// Which input position a tap reads for an output position; -1: none.
int64_t source(const kernels::ConvShape& s, int d, int64_t out, int64_t tap) {
  if (!s.transposed) {
    const int64_t i = out * s.stride[d] - s.pad_begin[d] + tap * s.dilation[d];
    return i < 0 || i >= s.in[d] ? -1 : i;
  }
  const int64_t i = out + s.pad_begin[d] - tap * s.dilation[d];
  return i < 0 || i % s.stride[d] != 0 || i / s.stride[d] >= s.in[d] ? -1 : i / s.stride[d];
}

class PlainConv final : public Kernel {
 public:
  explicit PlainConv(ConvParams p) : p_(std::move(p)) {}

  Status run(KernelContext& ctx) const override {
    const TensorView &x = ctx.in(0), &w = ctx.in(1), &y = ctx.out(0);
    if (y.count == 0) return {};
    if (x.rank > 5) return not_implemented("a convolution over {} spatial dimensions", x.rank - 2);
    TRN_ASSIGN(const ConvChannels c, conv_channels(p_, w.shape()));
    TRN_ASSIGN(const kernels::ConvShape s, conv_shape(p_, x.shape(), c));
    const int64_t in_size = s.in[0] * s.in[1] * s.in[2], out_size = s.out[0] * s.out[1] * s.out[2];
    const int64_t taps = s.kernel[0] * s.kernel[1] * s.kernel[2];
    const int64_t cin = s.cin / s.groups, cout = s.cout / s.groups;
    const double* bias = ctx.has_in(2) ? ctx.in(2).as<double>() : nullptr;
    ctx.parallel_for(s.batch * s.cout, 1, [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane) {
        const int64_t b = plane / s.cout, co = plane % s.cout, g = co / cout;
        double* to = y.as<double>() + plane * out_size;
        for (int64_t o = 0; o < out_size; ++o) {
          const int64_t at[3] = {o / (s.out[1] * s.out[2]), o / s.out[2] % s.out[1], o % s.out[2]};
          double sum = bias ? bias[co] : 0.0;
          for (int64_t ci = 0; ci < cin; ++ci) {
            const double* from = x.as<double>() + (b * s.cin + g * cin + ci) * in_size;
            const double* weights =
                w.as<double>() + (s.transposed ? (g * cin + ci) * cout + co % cout : co * cin + ci) * taps;
            for (int64_t t = 0; t < taps; ++t) {
              const int64_t tap[3] = {t / (s.kernel[1] * s.kernel[2]), t / s.kernel[2] % s.kernel[1], t % s.kernel[2]};
              int64_t index = 0;
              bool inside = true;
              for (int d = 0; d < 3 && inside; ++d) {
                const int64_t i = source(s, d, at[d], tap[d]);
                inside = i >= 0;
                index = index * s.in[d] + i;
              }
              if (inside) sum += from[index] * weights[t];
            }
          }
          to[o] = sum;
        }
      }
    });
    return {};
  }

 private:
  ConvParams p_;
};

}  // namespace

Result<std::unique_ptr<Kernel>> make_plain_conv(ConvParams params) {
  return std::unique_ptr<Kernel>(new PlainConv(std::move(params)));
}

}  // namespace trunnion::ops
