// trunnion.NhwcMaxPool, NhwcAveragePool, NhwcGlobalAveragePool: pooling of [N, D..., C], channels last (fp32).
// Made by the CPU pipeline only, never found in files.
#include "kernels/pool.h"
#include "kernels/reduce.h"
#include "ops/nn/window_detail.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

template <class S>
S channels_first(const S& x) {
  S out = x;
  for (size_t i = 2; i < x.size(); ++i) out[i] = x[i - 1];
  out[1] = x[x.size() - 1];
  return out;
}
template <class S>
S channels_last(const S& x) {
  S out = x;
  for (size_t i = 2; i < x.size(); ++i) out[i - 1] = x[i];
  out[x.size() - 1] = x[1];
  return out;
}

Status infer_pool(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const WindowParams p, read_window(n));
  std::optional<SymShape> shape;
  if (f.has_rank(0)) {
    if (f.in(0).rank() < 3) return invalid_argument("input 0 has rank {}, pooling needs at least 3", f.in(0).rank());
    TRN_ASSIGN(shape, window_shape(p, channels_first(f.in(0).shape())));
    shape = channels_last(*shape);
  }
  f.set(0, f.dtype(0), std::move(shape));
  return {};
}

class NhwcPoolCpu final : public Kernel {
 public:
  struct State final : KernelState {
    kernels::PoolShape shape;
    int64_t rows = 0, in_image = 0, out_image = 0;  // rows of one image
  };

  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    TRN_ASSIGN(WindowParams p, read_window(n));
    return std::unique_ptr<Kernel>(
        new NhwcPoolCpu(std::move(p), n.op_type() == "NhwcMaxPool", n.attr("count_include_pad", 0) != 0));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto s = std::make_unique<State>();
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    TRN_ASSIGN(s->shape, pool_shape(p_, channels_first(Shape(x.shape())), channels_first(Shape(y.shape()))));
    s->shape.count_include_pad = count_pad_;
    s->rows = s->shape.out[0] * s->shape.out[1];
    s->in_image = product(x.shape(), 1, x.rank);
    s->out_image = product(y.shape(), 1, y.rank);
    return std::unique_ptr<KernelState>(std::move(s));
  }

  Status run(KernelContext& ctx) const override {
    const auto& s = *ctx.state<State>();
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    if (y.count == 0) return {};
    const int64_t channels = x.dim(x.rank - 1);
    const int64_t grain = std::max<int64_t>(
        1, 32768 / std::max<int64_t>(1, s.shape.out[2] * channels * s.shape.kernel[0] * s.shape.kernel[1]));
    const auto run = max_ ? kernels::pool().max_nhwc : kernels::pool().average_nhwc;
    ctx.parallel_for(x.dim(0) * s.rows, grain, [&](int64_t begin, int64_t end) {
      while (begin < end) {
        const int64_t image = begin / s.rows, row = begin % s.rows, n = std::min(end - begin, s.rows - row);
        run(x.as<float>() + image * s.in_image, y.as<float>() + image * s.out_image, channels, row, row + n, s.shape);
        begin += n;
      }
    });
    return {};
  }

 private:
  NhwcPoolCpu(WindowParams p, bool max, bool count_pad) : p_(std::move(p)), max_(max), count_pad_(count_pad) {}
  WindowParams p_;
  bool max_, count_pad_;
};

Status infer_global(const ir::Node&, ir::Facts& f) {
  f.set(0, f.dtype(0));
  if (!f.has_rank(0)) return {};
  SymShape y = f.in(0).shape();
  for (size_t i = 1; i + 1 < y.size(); ++i) y[i] = 1;
  f.set(0, f.dtype(0), std::move(y));
  return {};
}

class NhwcGlobalAverageCpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node&) {
    return std::unique_ptr<Kernel>(new NhwcGlobalAverageCpu());
  }
  Status run(KernelContext& ctx) const override {
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    if (y.count == 0) return {};
    const int64_t channels = x.dim(x.rank - 1), positions = product(x.shape(), 1, x.rank - 1);
    const auto mean = kernels::reduce(kernels::ReduceOp::mean, kernels::Elem::f32);
    ctx.parallel_for(x.dim(0), std::max<int64_t>(1, 65536 / std::max<int64_t>(1, positions * channels)),
                     [&](int64_t b, int64_t e) {
                       mean(x.as<float>() + b * positions * channels, y.as<float>() + b * channels,
                            {e - b, positions, channels, channels});
                     });
    return {};
  }
};

constexpr OpDef kDefs[] = {
    {"NhwcMaxPool",
     infer_pool,
     cpu<NhwcPoolCpu>(kF32),
     {.reviewed = 1},
     "trunnion",
     "trunnion::NhwcMaxPool 1 (X:T) -> (Y:T) {auto_pad:s='NOTSET', ceil_mode:i=0, dilations:is, kernel_shape!:is, "
     "pads:is, storage_order:i=0, strides:is} T=f32"},
    {"NhwcAveragePool",
     infer_pool,
     cpu<NhwcPoolCpu>(kF32),
     {.reviewed = 1},
     "trunnion",
     "trunnion::NhwcAveragePool 1 (X:T) -> (Y:T) {auto_pad:s='NOTSET', ceil_mode:i=0, count_include_pad:i=0, "
     "dilations:is, kernel_shape!:is, pads:is, strides:is} T=f32"},
    {"NhwcGlobalAveragePool",
     infer_global,
     cpu<NhwcGlobalAverageCpu>(kF32),
     {.reviewed = 1},
     "trunnion",
     "trunnion::NhwcGlobalAveragePool 1 (X:T) -> (Y:T) T=f32"},
};

}  // namespace

TRUNNION_OPS(nhwc_pool, kDefs);

}  // namespace trunnion::ops
